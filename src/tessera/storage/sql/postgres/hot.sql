-- What verbs write all the time: any number of rows at once. A statement that has not changed each of them fails, by
-- dividing by zero, so that the commit, which travels with it, is not even tried.

-- name: save_task
-- rows: as arrays
-- Tasks' rows as they shall be, each if nobody has changed it since it was read.
with changed as (
  update tasks t set state = v.state, due = v.due, not_before = v.not_before, fencing_token = v.fencing_token,
    attempts = v.attempts, failures = v.failures, parks = v.parks, children = v.children,
    pending_children = v.pending_children, pending_deps = v.pending_deps, wait_reason = v.wait_reason,
    park_reason = v.park_reason, parked_by = v.parked_by, last_error = v.last_error, cancel_reason = v.cancel_reason,
    updated_at = v.updated_at, revision = v.revision
  from unnest(:state::smallint[], :due::bigint[], :not_before::bigint[], :fencing_token::bigint[],
    :attempts::bigint[], :failures::bigint[], :parks::bigint[], :children::bigint[], :pending_children::bigint[],
    :pending_deps::bigint[], :wait_reason::smallint[], :park_reason::text[], :parked_by::text[], :last_error::text[],
    :cancel_reason::text[], :updated_at::bigint[], :revision::bigint[], :serial::bigint[])
    v (state, due, not_before, fencing_token, attempts, failures, parks, children, pending_children, pending_deps,
    wait_reason, park_reason, parked_by, last_error, cancel_reason, updated_at, revision, serial)
  where t.serial = v.serial and t.revision = v.revision - 1
  returning 1)
select 1 / (count(*) = cardinality(:serial::bigint[]))::int as all_of_them from changed;

-- name: insert_task
-- rows: as arrays
-- New tasks, ready or waiting, numbered in the order given. Their tokens begin above the store's epoch.
with changed as (
  insert into tasks (task_id, queue, lane, state, priority, created_at, updated_at, due, not_before, parent, depth,
                     dependencies, pending_deps, wait_reason, requeued_from, requirement, fencing_token)
  select v.task_id, v.queue, l.lane, v.state, v.priority, v.now, v.now, v.due, v.not_before, v.parent, v.depth,
    v.dependencies, v.pending_deps, v.wait_reason, v.requeued_from, v.requirement,
    coalesce((select value from meta where name = 'epoch'), 0)
  from unnest(:task_id::text[], :queue::bigint[], :kind::text[], :effect::smallint[], :state::smallint[],
    :priority::integer[], :now::bigint[], :due::bigint[], :not_before::bigint[], :parent::bigint[], :depth::bigint[],
    :dependencies::bigint[], :pending_deps::bigint[], :wait_reason::smallint[], :requeued_from::bigint[],
    :requirement::bigint[])
    with ordinality v (task_id, queue, kind, effect, state, priority, now, due, not_before, parent, depth,
    dependencies, pending_deps, wait_reason, requeued_from, requirement, place)
    join lanes l on l.queue = v.queue and l.kind = v.kind collate "C" and l.effect = v.effect
  order by v.place
  returning 1)
select 1 / (count(*) = cardinality(:task_id::text[]))::int as all_of_them from changed;

-- name: insert_brief
-- rows: as arrays
-- Their briefs, kept apart from the hot rows.
with changed as (
  insert into briefs (serial, sha256, brief, traceparent)
  select t.serial, v.sha256, v.brief, v.traceparent
  from unnest(:sha256::text[], :brief::text[], :task_id::text[], :traceparent::text[])
    v (sha256, brief, task_id, traceparent)
    join tasks t on t.task_id = v.task_id collate "C"
  returning 1)
select 1 / (count(*) = cardinality(:task_id::text[]))::int as all_of_them from changed;

-- name: insert_lease
-- rows: as arrays
-- Tasks' leases, from their rows.
with changed as (
  insert into leases (serial, queue, fencing_token, worker, key_id, claim_key, claimed_at, expires_at, hard_expires_at)
  select serial, queue, fencing_token, worker, key_id, claim_key, claimed_at, expires_at, hard_expires_at
  from unnest(:serial::bigint[], :queue::bigint[], :fencing_token::bigint[], :worker::text[], :key_id::text[],
    :claim_key::text[], :claimed_at::bigint[], :expires_at::bigint[], :hard_expires_at::bigint[])
    v (serial, queue, fencing_token, worker, key_id, claim_key, claimed_at, expires_at, hard_expires_at)
  returning 1)
select 1 / (count(*) = cardinality(:serial::bigint[]))::int as all_of_them from changed;

-- name: end_lease
-- rows: as arrays
-- Leases that are over, each if nobody has extended it since it was read.
with changed as (
  delete from leases h
  using unnest(:serial::bigint[], :fencing_token::bigint[], :expires_at::bigint[])
    v (serial, fencing_token, expires_at)
  where h.serial = v.serial and h.fencing_token = v.fencing_token and h.expires_at = v.expires_at
  returning 1)
select 1 / (count(*) = cardinality(:serial::bigint[]))::int as all_of_them from changed;

-- name: insert_result
-- rows: as arrays
-- Outcomes of submits, numbered in the order given, above the store's epoch.
with changed as (
  insert into results (idempotency_key, serial, fencing_token, worker, ok, output, error, sha256, submitted_at, state)
  select idempotency_key, serial, fencing_token, worker, ok, output, error, sha256, submitted_at, state
  from unnest(:idempotency_key::text[], :serial::bigint[], :fencing_token::bigint[], :worker::text[], :ok::smallint[],
    :output::text[], :error::text[], :sha256::text[], :submitted_at::bigint[], :state::smallint[])
    v (idempotency_key, serial, fencing_token, worker, ok, output, error, sha256, submitted_at, state)
  returning 1)
select 1 / (count(*) = cardinality(:serial::bigint[]))::int as all_of_them from changed;

-- name: append_event
-- rows: as arrays
-- Lines of the log, under the numbers that follow its last, at no earlier instant. (The log is locked.)
insert into events (seq, at, type, queue, task_id, worker, fencing_token, key_id, data)
select coalesce(last.seq, 0) + v.place, greatest(v.at, last.at), v.type, v.queue, v.task_id, v.worker,
  v.fencing_token, v.key_id, v.data
from unnest(:at::bigint[], :type::smallint[], :queue::bigint[], :task_id::text[], :worker::text[],
  :fencing_token::bigint[], :key_id::text[], :data::text[])
  with ordinality v (at, type, queue, task_id, worker, fencing_token, key_id, data, place)
  left join (select seq, at from events order by seq desc limit 1) last on true
order by v.place;

-- name: extend_lease
-- rows: as arrays
-- Later deadlines for leases that are still the tasks' own.
with changed as (
  update leases h set expires_at = v.expires_at
  from unnest(:expires_at::bigint[], :serial::bigint[], :fencing_token::bigint[]) v (expires_at, serial, fencing_token)
  where h.serial = v.serial and h.fencing_token = v.fencing_token
  returning 1)
select 1 / (count(*) = cardinality(:serial::bigint[]))::int as all_of_them from changed;
