-- name: last_instant
-- row: Scalar
-- The latest instant this store has written: its last event's, or one that was kept apart since.
select max(value) as value from (
  select value from meta where name = 'last_instant'
  union all select at from (select at from events order by seq desc limit 1) e
) i;

-- name: reaper_last_run
-- row: Scalar
-- When the reaper last ran to its end.
select value from meta where name = 'reaper_last_run';

-- name: set_meta
-- Keep a housekeeping value.
insert into meta (name, value) values (:name, :value) on conflict (name) do update set value = excluded.value;

-- name: append_event
-- One line of the log.
insert into events (at, type, queue, task_id, worker, fencing_token, key_id, data)
values (:at, :type, :queue, :task_id, :worker, :fencing_token, :key_id, :data);

-- name: events_after
-- row: EventRow
-- A page of the log.
select e.seq, e.at, e.type, q.name as queue, e.task_id, e.worker, e.fencing_token, e.key_id, e.data
from events e left join queues q on q.queue = e.queue
where e.seq > :after order by e.seq limit :limit;
