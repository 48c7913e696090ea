-- name: end_leases
-- The leases of several tasks: a JSON array of serials.
delete from leases where serial = any (array(select json_array_elements_text(cast(:serials as json))::bigint));

-- name: lapsed_in_queue
-- row: TaskRow
-- Tasks of a queue whose lease has lapsed, longest ago first; but for those that somebody else is about to change.
select t.*, l.kind, l.effect, h.worker, h.key_id, h.claim_key, h.claimed_at, h.expires_at, h.hard_expires_at
from leases h join tasks t on t.serial = h.serial join lanes l on l.lane = t.lane
where h.queue = :queue and h.expires_at <= :now order by h.expires_at limit :limit
for no key update of t skip locked;

-- name: tasks_claimed_under
-- row: TaskRow
-- Tasks leased by a claim of this key (a grant's id, or null) with this idempotency key; `queues` is a JSON array.
select t.*, l.kind, l.effect, h.worker, h.key_id, h.claim_key, h.claimed_at, h.expires_at, h.hard_expires_at
from leases h join tasks t on t.serial = h.serial join lanes l on l.lane = t.lane
where h.claim_key = :claim_key and h.key_id is not distinct from :key_id
  and h.queue in (select json_array_elements_text(cast(:queues as json))::bigint) order by h.serial;

-- name: results_keyed
-- row: ResultRow
-- The same for several: a JSON array of keys in, whatever exists out.
select result, idempotency_key, serial, fencing_token, worker, ok, output, error, sha256, submitted_at, state
from results where idempotency_key = any (array(select json_array_elements_text(cast(:keys as json))));
