-- name: message
-- row: MessageRow
-- One wake.
select seq, message_id, client_id, idempotency_key, correlation_id, sender_repo, target_repo, provenance, metadata,
  body, endpoint_id, ack_mode, max_attempts, ack_timeout_ms, state, attempt_count, total_attempts, retry_count,
  next_attempt_at, ack_deadline_at, lease_id, lease_expires_at, deferred_reason, deferred_since,
  last_failure_reason, created_at, updated_at, acknowledged_at, ack_source, ack_by, ack_note, ack_late
from messages where message_id = :message_id;

-- name: message_of_key
-- row: MessageRow
-- The wake that a client's idempotency key belongs to.
select seq, message_id, client_id, idempotency_key, correlation_id, sender_repo, target_repo, provenance, metadata,
  body, endpoint_id, ack_mode, max_attempts, ack_timeout_ms, state, attempt_count, total_attempts, retry_count,
  next_attempt_at, ack_deadline_at, lease_id, lease_expires_at, deferred_reason, deferred_since,
  last_failure_reason, created_at, updated_at, acknowledged_at, ack_source, ack_by, ack_note, ack_late
from messages where client_id = :client_id and idempotency_key = :idempotency_key;

-- name: head
-- row: MessageRow
-- The wake of an endpoint that goes next: the first admitted of those that are due.
select seq, message_id, client_id, idempotency_key, correlation_id, sender_repo, target_repo, provenance, metadata,
  body, endpoint_id, ack_mode, max_attempts, ack_timeout_ms, state, attempt_count, total_attempts, retry_count,
  next_attempt_at, ack_deadline_at, lease_id, lease_expires_at, deferred_reason, deferred_since,
  last_failure_reason, created_at, updated_at, acknowledged_at, ack_source, ack_by, ack_note, ack_late
from messages
where endpoint_id = :endpoint_id and state = 'pending' and lease_id is null and next_attempt_at <= :now
order by seq limit 1;

-- name: leased_on
-- row: MessageRow
-- The wake that is being written to an endpoint.
select seq, message_id, client_id, idempotency_key, correlation_id, sender_repo, target_repo, provenance, metadata,
  body, endpoint_id, ack_mode, max_attempts, ack_timeout_ms, state, attempt_count, total_attempts, retry_count,
  next_attempt_at, ack_deadline_at, lease_id, lease_expires_at, deferred_reason, deferred_since,
  last_failure_reason, created_at, updated_at, acknowledged_at, ack_source, ack_by, ack_note, ack_late
from messages where endpoint_id = :endpoint_id and lease_id is not null;

-- name: leases_over
-- row: MessageRow
-- Wakes whose writer went silent.
select seq, message_id, client_id, idempotency_key, correlation_id, sender_repo, target_repo, provenance, metadata,
  body, endpoint_id, ack_mode, max_attempts, ack_timeout_ms, state, attempt_count, total_attempts, retry_count,
  next_attempt_at, ack_deadline_at, lease_id, lease_expires_at, deferred_reason, deferred_since,
  last_failure_reason, created_at, updated_at, acknowledged_at, ack_source, ack_by, ack_note, ack_late
from messages where lease_id is not null and lease_expires_at <= :now order by seq limit :limit;

-- name: unanswered
-- row: MessageRow
-- Wakes whose acknowledgement did not come in time.
select seq, message_id, client_id, idempotency_key, correlation_id, sender_repo, target_repo, provenance, metadata,
  body, endpoint_id, ack_mode, max_attempts, ack_timeout_ms, state, attempt_count, total_attempts, retry_count,
  next_attempt_at, ack_deadline_at, lease_id, lease_expires_at, deferred_reason, deferred_since,
  last_failure_reason, created_at, updated_at, acknowledged_at, ack_source, ack_by, ack_note, ack_late
from messages where state = 'awaiting_ack' and ack_deadline_at <= :now order by ack_deadline_at, seq limit :limit;

-- name: history_up
-- row: MessageRow
-- A page of wakes, oldest first.
select seq, message_id, client_id, idempotency_key, correlation_id, sender_repo, target_repo, provenance, metadata,
  body, endpoint_id, ack_mode, max_attempts, ack_timeout_ms, state, attempt_count, total_attempts, retry_count,
  next_attempt_at, ack_deadline_at, lease_id, lease_expires_at, deferred_reason, deferred_since,
  last_failure_reason, created_at, updated_at, acknowledged_at, ack_source, ack_by, ack_note, ack_late
from messages
where seq > :after and seq < :before
  and (:target_repo is null or target_repo = :target_repo) and (:endpoint_id is null or endpoint_id = :endpoint_id)
  and (:client_id is null or client_id = :client_id)
  and (:correlation_id is null or correlation_id = :correlation_id)
  and (:updated_after is null or updated_at > :updated_after)
  and (:states is null or instr(:states, ',' || state || ',') > 0)
order by seq limit :limit;

-- name: history_down
-- row: MessageRow
-- A page of wakes, newest first.
select seq, message_id, client_id, idempotency_key, correlation_id, sender_repo, target_repo, provenance, metadata,
  body, endpoint_id, ack_mode, max_attempts, ack_timeout_ms, state, attempt_count, total_attempts, retry_count,
  next_attempt_at, ack_deadline_at, lease_id, lease_expires_at, deferred_reason, deferred_since,
  last_failure_reason, created_at, updated_at, acknowledged_at, ack_source, ack_by, ack_note, ack_late
from messages
where seq > :after and seq < :before
  and (:target_repo is null or target_repo = :target_repo) and (:endpoint_id is null or endpoint_id = :endpoint_id)
  and (:client_id is null or client_id = :client_id)
  and (:correlation_id is null or correlation_id = :correlation_id)
  and (:updated_after is null or updated_at > :updated_after)
  and (:states is null or instr(:states, ',' || state || ',') > 0)
order by seq desc limit :limit;

-- name: due_endpoints
-- row: Due
-- The endpoints that have a wake due and none in writing.
select endpoint_id, state from endpoints
where exists (
    select 1 from messages where messages.endpoint_id = endpoints.endpoint_id and messages.state = 'pending'
      and lease_id is null and next_attempt_at <= :now)
  and not exists (
    select 1 from messages where messages.endpoint_id = endpoints.endpoint_id and lease_id is not null)
order by endpoint_id;

-- name: next_due
-- row: Scalar
-- When the next thing happens by itself.
select min(at) as value from (
  select min(next_attempt_at) as at from messages where state = 'pending' and lease_id is null
  union all select min(ack_deadline_at) from messages where state = 'awaiting_ack'
  union all select min(lease_expires_at) from messages where lease_id is not null);

-- name: pending_on
-- row: Scalar
-- How many wakes of an endpoint wait.
select count(*) as value from messages where endpoint_id = :endpoint_id and state = 'pending';

-- name: by_state
-- row: Count
-- How many wakes are in each state.
select state as name, count(*) as number from messages group by state;

-- name: deferred
-- row: Count
-- How many wakes wait for what.
select deferred_reason as name, count(*) as number from messages
where state = 'pending' and deferred_reason is not null group by deferred_reason;

-- name: oldest_pending
-- row: Scalar
-- When the oldest waiting wake was admitted.
select min(created_at) as value from messages where state = 'pending';

-- name: last_message
-- row: Scalar
-- The number of the newest wake.
select coalesce(max(seq), 0) as value from messages;

-- name: add_message
-- Admit a wake.
insert into messages (message_id, client_id, idempotency_key, correlation_id, sender_repo, target_repo,
  provenance, metadata, body, endpoint_id, ack_mode, max_attempts, ack_timeout_ms, state, next_attempt_at,
  created_at, updated_at)
values (:message_id, :client_id, :idempotency_key, :correlation_id, :sender_repo, :target_repo, :provenance,
  :metadata, :body, :endpoint_id, :ack_mode, :max_attempts, :ack_timeout_ms, 'pending', :now, :now, :now);

-- name: save_message
-- Store what became of a wake.
update messages set endpoint_id = :endpoint_id, ack_mode = :ack_mode, max_attempts = :max_attempts,
  ack_timeout_ms = :ack_timeout_ms, state = :state, attempt_count = :attempt_count,
  total_attempts = :total_attempts, retry_count = :retry_count, next_attempt_at = :next_attempt_at,
  ack_deadline_at = :ack_deadline_at, lease_id = :lease_id, lease_expires_at = :lease_expires_at,
  deferred_reason = :deferred_reason, deferred_since = :deferred_since,
  last_failure_reason = :last_failure_reason, updated_at = :updated_at, acknowledged_at = :acknowledged_at,
  ack_source = :ack_source, ack_by = :ack_by, ack_note = :ack_note, ack_late = :ack_late
where seq = :seq;

-- name: shift_messages
-- Move every open deadline by as much as the clock was moved.
update messages set next_attempt_at = next_attempt_at + :by, ack_deadline_at = ack_deadline_at + :by,
  lease_expires_at = lease_expires_at + :by, deferred_since = deferred_since + :by
where state in ('pending', 'awaiting_ack');
