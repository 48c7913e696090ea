-- name: each_task_named
-- row: TaskRow
-- The same for several: a JSON array of ids in, whatever exists out.
select t.*, l.kind, l.effect, h.worker, h.key_id, h.claim_key, h.claimed_at, h.expires_at, h.hard_expires_at
from json_array_elements_text(cast(:task_ids as json)) j (value) join tasks t on t.task_id = j.value
  join lanes l on l.lane = t.lane left join leases h on h.serial = t.serial;

-- name: tasks_named
-- row: NamedTask
-- Several tasks by id: a JSON array in, whatever exists out.
select t.serial, t.task_id, t.queue, t.state, q.name as queue_name, q.workspace_id
from json_array_elements_text(cast(:task_ids as json)) j (value) join tasks t on t.task_id = j.value
  join queues q on q.queue = t.queue;

-- name: tasks_page
-- row: TaskRow
-- A page of tasks, oldest first; a null filter matches all, `queues` is a JSON array of numbers.
select t.*, l.kind, l.effect, h.worker, h.key_id, h.claim_key, h.claimed_at, h.expires_at, h.hard_expires_at
from tasks t join lanes l on l.lane = t.lane left join leases h on h.serial = t.serial
where t.serial > :after and (cast(:state as bigint) is null or t.state = :state)
  and (cast(:kind as text) is null or l.kind = :kind)
  and (cast(:queues as text) is null
       or t.queue in (select json_array_elements_text(cast(:queues as json))::bigint))
order by t.serial limit :limit;

-- name: brief_of
-- row: BriefRow
-- One task's brief, its hash and the task's trace. As bytes: damaged ones may be no text.
select serial, sha256, convert_to(brief, 'UTF8') as brief, traceparent from briefs where serial = :serial;

-- name: briefs_of
-- row: BriefRow
-- The same for several: a JSON array of serials.
select b.serial, b.sha256, convert_to(b.brief, 'UTF8') as brief, b.traceparent
from json_array_elements_text(cast(:serials as json)) j (value) join briefs b on b.serial = j.value::bigint;

-- name: insert_dependencies
-- What it depends on: a JSON array of ids.
insert into task_deps (dependency, dependent)
select d.serial, t.serial from json_array_elements_text(cast(:dependencies as json)) j (value)
  join tasks d on d.task_id = j.value join tasks t on t.task_id = :task_id;

-- name: mark_dependencies
-- They have one more dependent each: a JSON array of ids.
update tasks set dependents = dependents + 1, revision = revision + 1
where task_id = any (array(select json_array_elements_text(cast(:dependencies as json))));

-- name: next_ready
-- row: ReadyRow
-- The ready tasks of a queue that go first: priority, then age, then id; but for those that another claim is about to
-- take. Their briefs come with them, and save a round trip.
select r.*, b.sha256, convert_to(b.brief, 'UTF8') as brief, b.traceparent
from (
  select t.*, l.kind, l.effect, null as worker, null as key_id, null as claim_key, null::bigint as claimed_at,
    null::bigint as expires_at, null::bigint as hard_expires_at
  from tasks t join lanes l on l.lane = t.lane
  where t.queue = :queue and t.state = 0 and t.due is null
  order by t.priority desc, t.created_at, t.task_id limit :limit
  for no key update of t skip locked
) r left join briefs b on b.serial = r.serial
order by r.priority desc, r.created_at, r.task_id;

-- name: next_ready_in_lanes
-- row: ReadyRow
-- The same among some lanes: the first of each, then the first of those. A hundred more of each lane are looked at, in
-- case that other claims are about to take those before them; one after the other is locked until there are enough.
select r.*, b.sha256, convert_to(b.brief, 'UTF8') as brief, b.traceparent
from (
  select t.*, l.kind, l.effect, null as worker, null as key_id, null as claim_key, null::bigint as claimed_at,
    null::bigint as expires_at, null::bigint as hard_expires_at
  from (
    select first.serial, first.priority, first.created_at, first.task_id
    from json_array_elements_text(cast(:lanes as json)) j (value)
      join lateral (
        select serial, priority, created_at, task_id from tasks
        where lane = j.value::bigint and state = 0 and due is null
        order by priority desc, created_at, task_id limit cast(:limit as bigint) + 100) first on true
    order by first.priority desc, first.created_at, first.task_id
  ) c join lateral (
    select * from tasks where serial = c.serial offset 0 for no key update skip locked
  ) t on t.state = 0 and t.due is null
    join lanes l on l.lane = t.lane
  order by c.priority desc, c.created_at, c.task_id limit :limit
) r left join briefs b on b.serial = r.serial
order by r.priority desc, r.created_at, r.task_id;

-- name: passed_over
-- row: Scalar
-- Whether some ready task of a queue is held by others (1), so that a claim which found none has passed over it;
-- `taken` is a JSON array of the serials of those that the same transaction is about to lease.
select count(*) as value from (
  select from (
    select serial from tasks where queue = :queue and state = 0 and due is null
    order by priority desc, created_at, task_id limit json_array_length(cast(:taken as json)) + 1) r
  where serial not in (select json_array_elements_text(cast(:taken as json))::bigint) limit 1) p;

-- name: passed_over_in_lanes
-- row: Scalar
-- The same among some lanes (a JSON array).
select count(*) as value from (
  select from json_array_elements_text(cast(:lanes as json)) j (value)
    join lateral (
      select serial from tasks where lane = j.value::bigint and state = 0 and due is null
      order by priority desc, created_at, task_id limit json_array_length(cast(:taken as json)) + 1) r
    on r.serial not in (select json_array_elements_text(cast(:taken as json))::bigint) limit 1) p;

-- name: promote_tasks
-- Ready tasks whose start has come: a JSON array of serials.
update tasks set due = null, revision = revision + 1
where serial = any (array(select json_array_elements_text(cast(:serials as json))::bigint)) and state = 0;

-- name: due_in_queue
-- row: TaskRow
-- Ready and parked tasks of a queue that time has come for, soonest due first; but for those that somebody else is
-- about to change.
select t.*, l.kind, l.effect, null as worker, null as key_id, null as claim_key, null::bigint as claimed_at,
  null::bigint as expires_at, null::bigint as hard_expires_at
from tasks t join lanes l on l.lane = t.lane
where t.queue = :queue and t.due is not null and t.due <= :now order by t.due limit :limit
for no key update of t skip locked;

-- name: awaiting
-- row: HeldBack
-- Tasks that wait for any of some others (a JSON array of serials), with how much of each wait these resolve.
-- (The offset keeps the planner from walking the waiting tasks instead.)
select w.serial, sum(w.children)::bigint as children, sum(w.dependencies)::bigint as dependencies
from (
  select t.parent as serial, 1 as children, 0 as dependencies
  from json_array_elements_text(cast(:serials as json)) j (value) join tasks t on t.serial = j.value::bigint
  where t.parent is not null
  union all
  select d.dependent, 0, 1
  from json_array_elements_text(cast(:serials as json)) j (value) join task_deps d on d.dependency = j.value::bigint
) w join lateral (select from tasks t where t.serial = w.serial and t.state = 2 offset 0) t on true
group by w.serial order by w.serial;

-- name: cancel_tasks
-- Several tasks that are to be done no more: a JSON array of serials.
update tasks set state = 5, due = null, wait_reason = null, park_reason = null, parked_by = null,
  cancel_reason = :reason, updated_at = :now, revision = revision + 1
where serial = any (array(select json_array_elements_text(cast(:serials as json))::bigint)) and state < 3;
