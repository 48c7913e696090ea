-- name: session
-- row: Session
-- Who this connection is for the server, and what a store must know of it.
select pg_backend_pid() || ':' || (extract(epoch from backend_start) * 1000000)::bigint as lane,
  current_setting('server_version_num')::bigint as version, current_setting('synchronous_commit') as commits,
  pg_is_in_recovery()::int::bigint as standby
from pg_stat_activity where pid = pg_backend_pid();

-- name: opening
-- row: Opening
-- What a transaction begins with: the database's clock (or a scripted one), the log's last instant, and the number
-- that rises whenever something remembered has changed.
select coalesce(:scripted::bigint, (extract(epoch from clock_timestamp()) * 1000000)::bigint) as now,
  coalesce((select at from events order by seq desc limit 1), 0) as last,
  (select generation from generation) as generation;

-- name: lock_tasks
-- row: Scalar
-- Lock tasks, the oldest first: some by id, some by serial, and of those that may end also what waits for them.
-- (Whatever waits for a task was read with it, so nothing is locked twice.)
select t.serial as value from tasks t where t.serial in (
  select serial from tasks where task_id in (select json_array_elements_text(:task_ids::json))
  union
  select json_array_elements_text(:serials::json)::bigint
  union
  select parent from tasks where task_id in (select json_array_elements_text(:ending::json)) and parent is not null
  union
  select d.dependent from tasks e join task_deps d on d.dependency = e.serial
  where e.task_id in (select json_array_elements_text(:ending::json)) and e.dependents > 0
) order by t.serial for no key update of t;

-- name: lock_families
-- row: Scalar
-- The same for tasks that end with everything below them.
with recursive family (serial) as (
  select serial from tasks where task_id in (select json_array_elements_text(:task_ids::json))
  union
  select t.serial from family f join tasks t on t.parent = f.serial where t.state < 3
)
select t.serial as value from tasks t where t.serial in (
  select serial from family
  union
  select c.parent from tasks c where c.task_id in (select json_array_elements_text(:task_ids::json))
    and c.parent is not null
  union
  select d.dependent from family f join task_deps d on d.dependency = f.serial
) order by t.serial for no key update of t;

-- name: lock_claim_keys
-- row: Scalar
-- One claim at a time under an idempotency key: a second one, at whichever node, waits for the first one's lease.
select count(pg_advisory_xact_lock(hashtextextended(k.key, 6072341834281181))) as value
from (select value as key from json_array_elements_text(:keys::json) order by value) k;

-- name: bump_generation
-- From this commit on nobody's memory of settings, lanes and keys counts.
update generation set generation = generation + 1;

-- name: leave_mark
-- row: Text
-- Proof that the transaction was committed, if its answer gets lost; a commit, unlike a statement, has no time limit.
insert into marks (lane, number, at) values (:lane, :number, :at)
on conflict (lane) do update set number = excluded.number, at = excluded.at
returning set_config('statement_timeout', '0', true) as value;

-- name: find_mark
-- row: Scalar
-- The last number that a lane has committed. Waits for a transaction of the lane that has not ended.
insert into marks (lane, number, at) values (:lane, 0, :at)
on conflict (lane) do update set at = excluded.at returning number as value;

-- name: remove_mark
-- A lane that is closed in order leaves nothing behind.
delete from marks where lane = :lane;

-- name: sweep_marks
-- Nor, after a day, does one that was not.
delete from marks where at < :before;

-- name: lock_log
-- row: Text
-- Until this transaction ends nobody else appends to the log: its lines become visible in the order of their numbers.
select pg_advisory_xact_lock(1413829459, 2)::text as value;

-- name: tell
-- row: Text
-- Tell whoever listens on this database, once the transaction is committed.
select pg_notify('tessera', :news)::text as value;

-- name: configure
-- row: Text
-- Settings of this connection: a JSON object.
select string_agg(set_config(key, value, false), ' ') as value from json_each_text(:settings::json);

-- name: begin_snapshot
-- From here on one state of the store, and nothing to write.
begin isolation level repeatable read, read only;
