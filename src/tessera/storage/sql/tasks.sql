-- name: task_named
-- row: TaskRow
-- All that a verb needs to decide about one task.
select t.*, l.kind, l.effect, h.worker, h.key_id, h.claim_key, h.claimed_at, h.expires_at, h.hard_expires_at
from tasks t cross join lanes l on l.lane = t.lane left join leases h on h.serial = t.serial
where t.task_id = :task_id;

-- name: task_numbered
-- row: TaskRow
-- The same, by serial.
select t.*, l.kind, l.effect, h.worker, h.key_id, h.claim_key, h.claimed_at, h.expires_at, h.hard_expires_at
from tasks t cross join lanes l on l.lane = t.lane left join leases h on h.serial = t.serial
where t.serial = :serial;

-- name: each_task_named
-- row: TaskRow
-- The same for several: a JSON array of ids in, whatever exists out.
select t.*, l.kind, l.effect, h.worker, h.key_id, h.claim_key, h.claimed_at, h.expires_at, h.hard_expires_at
from json_each(:task_ids) j cross join tasks t on t.task_id = j.value
  cross join lanes l on l.lane = t.lane left join leases h on h.serial = t.serial;

-- name: tasks_named
-- row: NamedTask
-- Several tasks by id: a JSON array in, whatever exists out.
select t.serial, t.task_id, t.queue, t.state, q.name as queue_name, q.workspace_id
from json_each(:task_ids) j cross join tasks t on t.task_id = j.value cross join queues q on q.queue = t.queue;

-- name: tasks_page
-- row: TaskRow
-- A page of tasks, oldest first; a null filter matches all, `queues` is a JSON array of numbers.
select t.*, l.kind, l.effect, h.worker, h.key_id, h.claim_key, h.claimed_at, h.expires_at, h.hard_expires_at
from tasks t cross join lanes l on l.lane = t.lane left join leases h on h.serial = t.serial
where t.serial > :after and (cast(:state as bigint) is null or t.state = :state)
  and (cast(:kind as text) is null or l.kind = :kind)
  and (:queues is null or t.queue in (select value from json_each(:queues)))
order by t.serial limit :limit;

-- name: id_of
-- row: Text
-- A task's public name.
select task_id as value from tasks where serial = :serial;

-- name: brief_of
-- row: BriefRow
-- One task's brief, its hash and the task's trace. As bytes: damaged ones may be no text.
select serial, sha256, cast(brief as blob) as brief, traceparent from briefs where serial = :serial;

-- name: briefs_of
-- row: BriefRow
-- The same for several: a JSON array of serials.
select serial, sha256, cast(brief as blob) as brief, traceparent
from briefs where serial in (select value from json_each(:serials));

-- name: brief_hash_of
-- row: Text
-- The hash of a brief without reading the brief.
select sha256 as value from briefs where serial = :serial;

-- name: insert_task
-- A new task, ready or waiting. Its tokens begin above the store's epoch, where every one before a restore lies.
insert into tasks (task_id, queue, lane, state, priority, created_at, updated_at, due, not_before, parent, depth,
                   dependencies, pending_deps, wait_reason, requeued_from, requirement, fencing_token)
values (:task_id, :queue, (select lane from lanes where queue = :queue and kind = :kind and effect = :effect),
        :state, :priority, :now, :now, :due, :not_before, :parent, :depth, :dependencies, :pending_deps,
        :wait_reason, :requeued_from, :requirement, coalesce((select value from meta where name = 'epoch'), 0));

-- name: insert_brief
-- Its brief, kept apart from the hot row.
insert into briefs (serial, sha256, brief, traceparent)
select serial, :sha256, :brief, :traceparent from tasks where task_id = :task_id;

-- name: traceparent_of
-- row: OptionalText
-- The trace of a task, by its public name.
select b.traceparent as value from tasks t join briefs b on b.serial = t.serial where t.task_id = :task_id;

-- name: insert_dependencies
-- What it depends on: a JSON array of ids.
insert into task_deps (dependency, dependent)
select d.serial, t.serial from json_each(:dependencies) j cross join tasks d on d.task_id = j.value
  cross join tasks t on t.task_id = :task_id;

-- name: mark_dependencies
-- They have one more dependent each: a JSON array of ids.
update tasks set dependents = dependents + 1, revision = revision + 1
where task_id in (select value from json_each(:dependencies));

-- name: next_ready
-- row: TaskRow
-- The ready tasks of a queue that go first: priority, then age, then id.
select t.*, l.kind, l.effect, null as worker, null as key_id, null as claim_key, null as claimed_at,
  null as expires_at, null as hard_expires_at
from tasks t cross join lanes l on l.lane = t.lane
where t.queue = :queue and t.state = 0 and t.due is null
order by t.priority desc, t.created_at, t.task_id limit :limit;

-- name: next_ready_in_lanes
-- row: TaskRow
-- The same among some lanes: the first of each, then the first of those.
select t.*, l.kind, l.effect, null as worker, null as key_id, null as claim_key, null as claimed_at,
  null as expires_at, null as hard_expires_at
from json_each(:lanes) j
  cross join tasks t on t.serial in (
    select serial from tasks where lane = j.value and state = 0 and due is null
    order by priority desc, created_at, task_id limit :limit)
  cross join lanes l on l.lane = t.lane
order by t.priority desc, t.created_at, t.task_id limit :limit;

-- name: passed_over
-- row: Scalar
-- Whether some ready task of a queue is held by others (1), so that claims pass over it. Here nobody holds any.
select 0 as value;

-- name: passed_over_in_lanes
-- row: Scalar
-- The same among some lanes.
select 0 as value;

-- name: save_task
-- A task's row as it shall be, if nobody has changed it since it was read. Every single change of a task is this.
update tasks set state = :state, due = :due, not_before = :not_before, fencing_token = :fencing_token,
  attempts = :attempts, failures = :failures, parks = :parks, children = :children,
  pending_children = :pending_children, pending_deps = :pending_deps, wait_reason = :wait_reason,
  park_reason = :park_reason, parked_by = :parked_by, last_error = :last_error, cancel_reason = :cancel_reason,
  updated_at = :updated_at, revision = :revision
where serial = :serial and revision = :revision - 1;

-- name: promote_tasks
-- Ready tasks whose start has come: a JSON array of serials.
update tasks set due = null, revision = revision + 1
where serial in (select value from json_each(:serials)) and state = 0;

-- name: due_in_queue
-- row: TaskRow
-- Ready and parked tasks of a queue that time has come for, soonest due first.
select t.*, l.kind, l.effect, null as worker, null as key_id, null as claim_key, null as claimed_at,
  null as expires_at, null as hard_expires_at
from tasks t cross join lanes l on l.lane = t.lane
where t.queue = :queue and t.due is not null and t.due <= :now order by t.due limit :limit;

-- name: earliest_due
-- row: Scalar
-- When time next moves something in a queue: a lease, a delay, a park. Null: nothing waits for time.
select min(value) as value from (
  select (select expires_at from leases where queue = :queue order by expires_at limit 1) as value
  union all
  select (select due from tasks where queue = :queue and due is not null order by due limit 1)
) d;

-- name: overdue_queues
-- row: Scalar
-- The queues in which something has fallen due.
select q.queue as value from queues q
where exists (select 1 from leases h where h.queue = q.queue and h.expires_at <= :now)
   or exists (select 1 from tasks t where t.queue = q.queue and t.due is not null and t.due <= :now)
order by q.queue;

-- name: awaiting
-- row: HeldBack
-- Tasks that wait for any of some others (a JSON array of serials), with how much of each wait these resolve. (The plus
-- keeps the planner from walking the index of all children.)
select w.serial, sum(w.children) as children, sum(w.dependencies) as dependencies
from (
  select t.parent as serial, 1 as children, 0 as dependencies
  from json_each(:serials) j cross join tasks t on t.serial = j.value where +t.parent is not null
  union all
  select d.dependent, 0, 1 from json_each(:serials) j cross join task_deps d on d.dependency = j.value
) w cross join tasks t on t.serial = w.serial and t.state = 2
group by w.serial order by w.serial;

-- name: unfinished_under_root
-- row: Scalar
-- How many tasks of a family have not ended, from its root down. Whatever has ended has nothing unfinished under it.
with recursive ancestor (serial, parent) as (
  select serial, parent from tasks where serial = :serial
  union all select t.serial, t.parent from ancestor a cross join tasks t on t.serial = a.parent
), family (serial) as (
  select serial from ancestor where parent is null
  union all select t.serial from family f cross join tasks t on t.parent = f.serial and t.state < 3
)
select count(*) - 1 as value from family;

-- name: unfinished_under
-- row: Descendant
-- A task's descendants that have not ended, whole generations at a time.
with recursive family (serial, generation) as (
  select serial, 1 from tasks where parent = :serial and state < 3
  union all select t.serial, f.generation + 1
  from family f cross join tasks t on t.parent = f.serial and t.state < 3
)
select t.serial, t.task_id, t.queue, t.state, t.fencing_token, h.worker
from family f cross join tasks t on t.serial = f.serial left join leases h on h.serial = t.serial
order by f.generation, t.serial;

-- name: cancel_tasks
-- Several tasks that are to be done no more: a JSON array of serials.
update tasks set state = 5, due = null, wait_reason = null, park_reason = null, parked_by = null,
  cancel_reason = :reason, updated_at = :now, revision = revision + 1
where serial in (select value from json_each(:serials)) and state < 3;

-- name: children_of
-- row: OutcomeRow
-- A parent's children with their latest successful output, oldest first.
select t.task_id, l.kind, t.state, r.output, r.sha256, r.result
from tasks t cross join lanes l on l.lane = t.lane
  left join results r on r.result = (select max(result) from results where serial = t.serial and ok = 1)
where t.parent = :serial order by t.serial;

-- name: dependencies_of
-- row: OutcomeRow
-- A dependent's dependencies with their latest successful output.
select t.task_id, l.kind, t.state, r.output, r.sha256, r.result
from task_deps d cross join tasks t on t.serial = d.dependency cross join lanes l on l.lane = t.lane
  left join results r on r.result = (select max(result) from results where serial = t.serial and ok = 1)
where d.dependent = :serial order by t.serial;

-- name: child_ids
-- row: Text
-- A parent's children, oldest first.
select task_id as value from tasks where parent = :serial order by serial;

-- name: dependency_ids
-- row: Text
-- What a task depends on, oldest first.
select t.task_id as value from task_deps d cross join tasks t on t.serial = d.dependency
where d.dependent = :serial order by t.serial;

-- name: requeued_as
-- row: Text
-- The task that a dead one's work goes on as, if that has not ended.
select task_id as value from tasks where requeued_from = :serial and state < 3 order by serial limit 1;
