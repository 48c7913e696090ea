-- name: insert_lease
-- A task's lease, from its row.
insert into leases (serial, queue, fencing_token, worker, key_id, claim_key, claimed_at, expires_at, hard_expires_at)
values (:serial, :queue, :fencing_token, :worker, :key_id, :claim_key, :claimed_at, :expires_at, :hard_expires_at);

-- name: extend_lease
-- A later deadline for a lease that is still the task's own.
update leases set expires_at = :expires_at where serial = :serial and fencing_token = :fencing_token;

-- name: end_lease
-- A lease that is over, if nobody has extended it since it was read.
delete from leases where serial = :serial and fencing_token = :fencing_token and expires_at = :expires_at;

-- name: end_leases
-- The leases of several tasks: a JSON array of serials.
delete from leases where serial in (select value from json_each(:serials));

-- name: lapsed_in_queue
-- row: TaskRow
-- Tasks of a queue whose lease has lapsed, longest ago first.
select t.*, l.kind, l.effect, h.worker, h.key_id, h.claim_key, h.claimed_at, h.expires_at, h.hard_expires_at
from leases h cross join tasks t on t.serial = h.serial cross join lanes l on l.lane = t.lane
where h.queue = :queue and h.expires_at <= :now order by h.expires_at limit :limit;

-- name: tasks_claimed_under
-- row: TaskRow
-- Tasks leased by a claim of this key (a grant's id, or null) with this idempotency key; `queues` is a JSON array.
select t.*, l.kind, l.effect, h.worker, h.key_id, h.claim_key, h.claimed_at, h.expires_at, h.hard_expires_at
from leases h cross join tasks t on t.serial = h.serial cross join lanes l on l.lane = t.lane
where h.claim_key = :claim_key and h.key_id is not distinct from :key_id
  and h.queue in (select value from json_each(:queues)) order by h.serial;

-- name: inputs_of
-- row: InputRow
-- Every input a task has received, in order.
select park, input, resumed_at from task_inputs where serial = :serial order by park;

-- name: insert_input
-- What answers a park.
insert into task_inputs (serial, park, input, key_id, resumed_at) values (:serial, :park, :input, :key_id, :now);

-- name: schema_of_park
-- row: Text
-- What a park said its input must look like.
select input_schema as value from park_schemas where serial = :serial and park = :park;

-- name: insert_park_schema
-- What the input of a park must look like.
insert into park_schemas (serial, park, input_schema) values (:serial, :park, :input_schema);

-- name: result_keyed
-- row: ResultRow
-- The result stored under an idempotency key.
select result, idempotency_key, serial, fencing_token, worker, ok, output, error, sha256, submitted_at, state
from results where idempotency_key = :idempotency_key;

-- name: results_keyed
-- row: ResultRow
-- The same for several: a JSON array of keys in, whatever exists out.
select result, idempotency_key, serial, fencing_token, worker, ok, output, error, sha256, submitted_at, state
from results where idempotency_key in (select value from json_each(:keys));

-- name: insert_result
-- One submit's outcome. Its number lies above the store's epoch, where every one before a restore lies.
insert into results (result, idempotency_key, serial, fencing_token, worker, ok, output, error, sha256, submitted_at,
                     state)
values (1 + max(coalesce((select max(result) from results), 0),
                coalesce((select value from meta where name = 'epoch'), 0)),
        :idempotency_key, :serial, :fencing_token, :worker, :ok, :output, :error, :sha256, :submitted_at, :state);

-- name: results_of
-- row: ResultRow
-- Every outcome of a task, oldest first.
select result, idempotency_key, serial, fencing_token, worker, ok, output, error, sha256, submitted_at, state
from results where serial = :serial order by result;
