-- name: numbers
-- row: Numbers
-- The highest number that a store has handed out, of events, tokens, results and feeds; its last event; its epoch.
select greatest(coalesce((select max(seq) from events), 0), coalesce((select max(fencing_token) from tasks), 0),
    coalesce((select max(result) from results), 0), coalesce((select max(head) from feeds), 0),
    coalesce((select value from meta where name = 'epoch'), 0)) as highest,
  coalesce((select max(value) from (select value from meta where name = 'last_instant'
    union all select at from (select at from events order by seq desc limit 1) e) i), 0) as last_instant,
  coalesce((select max(seq) from events), 0) as last_seq,
  (select at from events order by seq desc limit 1) as last_event_at;

-- name: revoked_keys
-- row: Text
-- The keys that count no more, as a JSON array.
select coalesce(json_agg(key_id), '[]')::text as value from keys where revoked_at is not null;

-- name: restore_sizes
-- row: RestoreSizes
-- What a restore is about to change: tasks that have not ended, keys of a list, approvals nobody has used, feeds.
select (select count(*) from tasks where state < 3) as unfinished,
  (select count(*) from keys where revoked_at is null
   and key_id in (select json_array_elements_text(cast(:revoked as json)))) as keys,
  (select count(*) from approvals where key_id is null and expires_at > :now) as approvals,
  (select count(*) from feeds) as feeds;

-- name: append_event_numbered
-- A line of the log, under the lock that all lines are written under, with a number of its own above every one before.
-- Results go on from it too.
with alone as materialized (select pg_advisory_xact_lock(1413829459, 2))
insert into events (seq, at, type, data)
select setval(pg_get_serial_sequence('results', 'result'), cast(:seq as bigint)), cast(:at as bigint),
  cast(:type as smallint), :data
from alone;

-- name: revoke_keys
-- Keys that were revoked in the store that a backup replaces: a JSON array.
update keys set revoked_at = :now
where revoked_at is null and key_id in (select json_array_elements_text(cast(:revoked as json)));
