-- name: topic_head
-- row: TopicRow
-- How far the store knows a topic, the last consensus time of all topics, and the store's own id.
select t.sequence_number, t.running_hash, (select max(consensus_ns) from topics) as latest_ns,
  (select value from meta where name = 'store_id') as store_id
from (select 1 as one) o left join topics t on t.topic_id = :topic_id;

-- name: own_id
-- row: Text
-- The store's own id.
select value from meta where name = 'store_id';

-- name: add_topic
-- A topic with its first message, if nobody was quicker.
insert into topics (topic_id, sequence_number, consensus_ns, running_hash)
values (:topic_id, :sequence_number, :consensus_ns, :running_hash) on conflict (topic_id) do nothing;

-- name: move_topic
-- A topic's last message, if it follows the one that was read.
update topics
set sequence_number = :sequence_number, consensus_ns = :consensus_ns, running_hash = :running_hash
where topic_id = :topic_id and sequence_number = :before;

-- name: add_topic_message
-- One message of a topic, under its sequence number.
insert into topic_messages (topic, sequence_number, consensus_ns, payer, message, running_hash)
values ((select topic from topics where topic_id = :topic_id), :sequence_number, :consensus_ns, :payer, :message,
  :running_hash);

-- name: topic_messages
-- row: TopicMessageRow
-- The messages of a topic after a sequence number, in order.
select sequence_number, consensus_ns, payer, message, running_hash from topic_messages
where topic = (select topic from topics where topic_id = :topic_id) and sequence_number > :after
order by sequence_number limit :limit;
