-- name: topic_head
-- row: TopicRow
-- How far the store knows a topic, the last consensus time of all topics, and the store's own id.
select t.sequence_number, t.running_hash, (select max(consensus_ns) from topics) as latest_ns,
  (select words from meta where name = 'store_id') as store_id
from (select 1 as one) o left join topics t on t.topic_id = :topic_id;

-- name: own_id
-- row: Text
-- The store's own id.
select words as value from meta where name = 'store_id';
