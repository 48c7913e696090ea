-- name: instance
-- row: Text
-- The id of this message store.
select value from meta where name = 'instance';

-- name: events_after
-- row: EventRow
-- What has happened since.
select seq, at, type, message_id, endpoint_id, data from events where seq > :after order by seq limit :limit;

-- name: last_event
-- row: Scalar
-- The number of the newest event.
select coalesce(max(seq), 0) as value from events;

-- name: add_event
-- Note what has happened.
insert into events (at, type, message_id, endpoint_id, data)
values (:at, :type, :message_id, :endpoint_id, :data);

-- name: drop_events
-- The log keeps its newest lines.
delete from events where seq <= :upto;
