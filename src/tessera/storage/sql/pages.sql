-- name: parked_for
-- row: ParkedRow
-- Parked tasks of some queues (a JSON array of numbers) that a key may answer, the longest parked first; null kinds or
-- effects match all. Of a reason there is the beginning.
select t.task_id, q.name as queue, l.kind, l.effect, t.parks, substr(t.park_reason, 1, 600) as reason,
  t.updated_at as parked_at, t.due
from json_each(:queues) j cross join tasks t on t.queue = j.value and t.state = 2 and t.wait_reason = 2
  cross join lanes l on l.lane = t.lane cross join queues q on q.queue = t.queue
where (:kinds is null or l.kind in (select value from json_each(:kinds)))
  and (:effects is null or l.effect in (select value from json_each(:effects)))
  and (:not_by is null or t.parked_by is not :not_by) and (t.due is null or t.due > :now)
order by t.updated_at, t.serial limit :limit;

-- name: relatives_under
-- row: Relative
-- A task's descendants, whole generations at a time, up to a number.
with recursive family (serial, generation) as (
  select serial, 1 from tasks where parent = :serial
  union all select t.serial, f.generation + 1 from family f cross join tasks t on t.parent = f.serial
)
select t.serial, t.task_id, q.name as queue, l.kind, t.state, t.parent, f.generation as place
from family f cross join tasks t on t.serial = f.serial
  cross join lanes l on l.lane = t.lane cross join queues q on q.queue = t.queue
limit :limit;

-- name: relatives_beside
-- row: Relative
-- A task's parent, what it depends on and what depends on it, up to a number of each.
select t.serial, t.task_id, q.name as queue, l.kind, t.state, t.parent, n.place
from (
  select cast(:parent as bigint) as serial, -2 as place
  union all select * from (select dependency, -1 from task_deps where dependent = :serial limit :limit) above
  union all select * from (select dependent, 9 from task_deps where dependency = :serial limit :limit) below
) n cross join tasks t on t.serial = n.serial
  cross join lanes l on l.lane = t.lane cross join queues q on q.queue = t.queue;

-- name: dependencies_among
-- row: EdgeRow
-- Which of some tasks depend on which others of them: a JSON array of serials.
select d.dependency, d.dependent
from json_each(:serials) j cross join task_deps d on d.dependency = j.value
where d.dependent in (select value from json_each(:serials));

-- name: event_from
-- row: EventMark
-- The first line of the log from a number on.
select seq, at from events where seq >= :seq order by seq limit 1;

-- name: last_seq
-- row: Scalar
-- The number of the log's last line.
select max(seq) as value from events;

-- name: events_of_task
-- row: EventRow
-- What a stretch of the log tells of one task.
select e.seq, e.at, e.type, q.name as queue, e.task_id, e.worker, e.fencing_token, e.key_id, e.data
from events e left join queues q on q.queue = e.queue
where e.seq >= :first and e.seq < :until and e.task_id = :task_id order by e.seq limit :limit;
