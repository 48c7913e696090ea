-- name: numbers
-- row: Numbers
-- The highest number that a store has handed out, of events, tokens, results and feeds; its last event; its epoch.
select max(coalesce((select max(seq) from events), 0), coalesce((select max(fencing_token) from tasks), 0),
    coalesce((select max(result) from results), 0), coalesce((select max(head) from feeds), 0),
    coalesce((select value from meta where name = 'epoch'), 0)) as highest,
  coalesce((select max(value) from (select value from meta where name = 'last_instant'
    union all select at from (select at from events order by seq desc limit 1))), 0) as last_instant,
  coalesce((select max(seq) from events), 0) as last_seq,
  (select at from events order by seq desc limit 1) as last_event_at;

-- name: epoch
-- row: Scalar
-- The number above all that was handed out before the store was restored; zero if it never was.
select coalesce((select value from meta where name = 'epoch'), 0) as value;

-- name: revoked_keys
-- row: Text
-- The keys that count no more, as a JSON array.
select json_group_array(key_id) as value from keys where revoked_at is not null;

-- name: leased_tasks
-- row: TaskRow
-- Every task that somebody holds.
select t.*, l.kind, l.effect, h.worker, h.key_id, h.claim_key, h.claimed_at, h.expires_at, h.hard_expires_at
from leases h cross join tasks t on t.serial = h.serial cross join lanes l on l.lane = t.lane order by h.serial;

-- name: restore_sizes
-- row: RestoreSizes
-- What a restore is about to change: tasks that have not ended, keys of a list, approvals nobody has used, feeds.
select (select count(*) from tasks where state < 3) as unfinished,
  (select count(*) from keys where revoked_at is null and key_id in (select value from json_each(:revoked))) as keys,
  (select count(*) from approvals where key_id is null and expires_at > :now) as approvals,
  (select count(*) from feeds) as feeds;

-- name: append_event_numbered
-- A line of the log under a number of its own, above every one before.
insert into events (seq, at, type, data) values (:seq, :at, :type, :data);

-- name: raise_tokens
-- No token below the epoch is handed out again, or good for anything.
update tasks set fencing_token = :epoch, revision = revision + 1 where state < 3 and fencing_token < :epoch;

-- name: raise_feeds
-- No cursor below the epoch is handed out again.
update feeds set head = :epoch where head < :epoch;

-- name: revoke_keys
-- Keys that were revoked in the store that a backup replaces: a JSON array.
update keys set revoked_at = :now
where revoked_at is null and key_id in (select value from json_each(:revoked));

-- name: end_approvals
-- What nobody has used in the copy may have been used since.
update approvals set expires_at = :now where key_id is null and expires_at > :now;
