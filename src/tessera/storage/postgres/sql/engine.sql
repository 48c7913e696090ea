-- name: session
-- row: Session
-- Who this connection is for the server, and what a store must know of it.
select pg_backend_pid() || ':' || (extract(epoch from backend_start) * 1000000)::bigint as name,
  current_setting('server_version_num')::bigint as version, current_setting('synchronous_commit') as commits,
  current_setting('server_encoding') as encoding
from pg_stat_activity where pid = pg_backend_pid();

-- name: opening
-- row: Opening
-- What a transaction begins with: the database's clock (or a scripted one), the store's last instant, and the number
-- that rises whenever something remembered has changed.
select coalesce(:scripted::bigint, (extract(epoch from clock_timestamp()) * 1000000)::bigint) as now,
  greatest((select at from events order by seq desc limit 1),
           (select value from meta where name = 'last_instant'), 0) as last,
  (select generation from generation) as generation;

-- name: lock_tasks
-- row: Scalar
-- Lock tasks, the oldest first: some by id, some by serial, and of those that may end (1 beside their id) also what
-- waits for them.
with named as materialized (
  select n.serial, n.parent, n.dependents, j.ends
  from unnest(:task_ids::text[], :ending::smallint[]) j (task_id, ends) join tasks n on n.task_id = j.task_id collate "C"
)
select t.serial as value from tasks t where t.serial = any (array(
  select serial from named
  union
  select j.value::bigint from json_array_elements_text(:serials::json) j (value)
  union
  select parent from named where ends = 1 and parent is not null
  union
  select d.dependent from named n join task_deps d on d.dependency = n.serial where n.ends = 1 and n.dependents > 0
)) order by t.serial for no key update of t;

-- name: lock_families
-- row: Scalar
-- The same for tasks that end with everything below them.
with recursive family (serial) as (
  select n.serial from json_array_elements_text(:task_ids::json) j (value) join tasks n on n.task_id = j.value
  union
  select t.serial from family f join tasks t on t.parent = f.serial and t.state < 3
)
select t.serial as value from tasks t where t.serial = any (array(
  select serial from family
  union
  select n.parent from json_array_elements_text(:task_ids::json) j (value) join tasks n on n.task_id = j.value
  where n.parent is not null
  union
  select d.dependent from family f join task_deps d on d.dependency = f.serial
)) order by t.serial for no key update of t;

-- name: lock_claim_keys
-- row: Scalar
-- One claim at a time under an idempotency key: a second one, at whichever node, waits for the first one's lease.
select count(pg_advisory_xact_lock(hashtextextended(k.key, 6072341834281181))) as value
from (select value as key from json_array_elements_text(:keys::json) order by value) k;

-- name: keep_instant
-- The instant of a transaction that leaves no line in the log.
insert into meta (name, value) values ('last_instant', :at)
on conflict (name) do update set value = greatest(meta.value, excluded.value);

-- name: bump_generation
-- From this commit on nobody's memory of settings, lanes and keys counts.
update generation set generation = generation + 1;

-- name: leave_mark
-- row: Text
-- Proof that the transaction was committed, if its answer gets lost, in place of the one before. A commit, unlike a
-- statement, has no time limit, and it does not wait for the disk: what follows it does (see `reach_disk`), when
-- nobody's turn is held up by that.
with gone as (delete from marks where writer = :writer and number = :number - 1)
insert into marks (writer, number, at) values (:writer, :number, :at)
returning set_config('statement_timeout', '0', true) || set_config('synchronous_commit', 'off', true) as value;

-- name: reach_disk
-- row: Scalar
-- A transaction of its own that is nothing but synchronous: once it is committed, so is everything before it, on disk
-- and on every standby that commits wait for. Answers how far the log of the database has been written by then.
select (pg_logical_emit_message(true, 'tessera', '') - '0/0')::bigint as value;

-- name: reached
-- row: Reached
-- How far that log is written, and how far it is on disk; not on disk alone, if commits wait for a standby.
select (pg_current_wal_insert_lsn() - '0/0')::bigint as written,
  case when current_setting('synchronous_standby_names') = ''
  then (pg_current_wal_flush_lsn() - '0/0')::bigint else 0 end as flushed;

-- name: find_mark
-- row: Scalar
-- When a writer has left its mark; less than zero if it has not. It never will then, for a mark now stands in its place.
-- Waits for a transaction of the writer that has not ended.
insert into marks (writer, number, at) values (:writer, :number, - :at) on conflict (writer, number) do update set at = marks.at
returning at as value;

-- name: remove_marks
-- A writer that is closed in order leaves nothing behind.
delete from marks where writer = :writer;

-- name: sweep_marks
-- Nor, after a day, does one that was not.
delete from marks where abs(at) < (extract(epoch from clock_timestamp()) * 1000000)::bigint - 86400000000;

-- name: lock_log
-- row: Text
-- Until this transaction ends nobody else appends to the log: its lines become visible in the order of their numbers.
select pg_advisory_xact_lock(1413829459, 2)::text as value;

-- name: others_here
-- row: Scalar
-- Connections of other processes that use the store.
select count(*) as value from pg_stat_activity
where datname = current_database() and pid <> pg_backend_pid() and application_name like 'tessera%';

-- name: end_silent
-- row: Scalar
-- End the transactions of nodes that have been silent in the middle of one: stopped, or cut off. In a pipeline no time
-- limit of the server's does that before its version 17, and what they have locked would stay locked.
select count(pg_terminate_backend(a.pid)) as value from pg_stat_activity a
where a.datname = current_database() and a.usename = current_user
  and a.application_name = current_setting('application_name') and a.pid <> pg_backend_pid()
  and a.state = 'active' and a.wait_event = 'ClientRead' and a.xact_start is not null
  and clock_timestamp() - a.state_change > make_interval(secs => :seconds::bigint);

-- name: tell
-- row: Text
-- Tell whoever listens on this database, once the transaction is committed.
select pg_notify('tessera', :news)::text as value;

-- name: configure
-- row: Text
-- Settings of this connection: a JSON object.
select string_agg(set_config(key, value, false), ' ') as value from json_each_text(:settings::json);

-- name: begin
-- A transaction of verbs: each statement sees what is committed by then.
begin;

-- name: commit
-- All of it.
commit;

-- name: rollback
-- Or nothing.
rollback;

-- name: begin_snapshot
-- From here on one state of the store, and nothing to write.
begin isolation level repeatable read, read only;

-- name: server
-- row: Server
-- What a diagnosis wants to know of a server, and of who else is on it.
select current_setting('server_version') as version, (current_setting('fsync') = 'on')::int::bigint as syncs,
  current_setting('max_connections')::bigint as connections_max,
  (select count(*) from pg_stat_activity where backend_type = 'client backend') as connections,
  (select coalesce(max(extract(epoch from clock_timestamp() - xact_start)), 0)::bigint from pg_stat_activity
   where datname = current_database() and pid <> pg_backend_pid()) as oldest_seconds;
