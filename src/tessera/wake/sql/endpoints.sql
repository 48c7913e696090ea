-- name: endpoint
-- row: EndpointRow
-- One endpoint.
select endpoint_id, name, kind, target, harness, repos, ack_mode, max_attempts, ack_timeout_ms, state, reason,
  activity, owner_pid, owner_start, resume_sha256, registered_at, last_seen, away_since
from endpoints where endpoint_id = :endpoint_id;

-- name: endpoint_named
-- row: EndpointRow
-- The endpoint that holds a name now.
select endpoint_id, name, kind, target, harness, repos, ack_mode, max_attempts, ack_timeout_ms, state, reason,
  activity, owner_pid, owner_start, resume_sha256, registered_at, last_seen, away_since
from endpoints where name = :name and state in ('live', 'stale');

-- name: open_endpoints
-- row: EndpointRow
-- Every endpoint that has not ended, oldest first.
select endpoint_id, name, kind, target, harness, repos, ack_mode, max_attempts, ack_timeout_ms, state, reason,
  activity, owner_pid, owner_start, resume_sha256, registered_at, last_seen, away_since
from endpoints where state in ('live', 'stale') order by registered_at, endpoint_id;

-- name: all_endpoints
-- row: EndpointRow
-- Every endpoint, oldest first.
select endpoint_id, name, kind, target, harness, repos, ack_mode, max_attempts, ack_timeout_ms, state, reason,
  activity, owner_pid, owner_start, resume_sha256, registered_at, last_seen, away_since
from endpoints order by registered_at, endpoint_id limit 10000;

-- name: add_endpoint
-- Register an endpoint.
insert into endpoints (endpoint_id, name, kind, target, harness, repos, ack_mode, max_attempts, ack_timeout_ms,
  state, activity, owner_pid, owner_start, resume_sha256, registered_at, last_seen)
values (:endpoint_id, :name, :kind, :target, :harness, :repos, :ack_mode, :max_attempts, :ack_timeout_ms, 'live',
  'unknown', :owner_pid, :owner_start, :resume_sha256, :now, :now);

-- name: save_endpoint
-- Store how an endpoint stands.
update endpoints set state = :state, reason = :reason, activity = :activity, last_seen = :last_seen,
  away_since = :away_since where endpoint_id = :endpoint_id;

-- name: shift_endpoints
-- Move what is measured against the clock by as much as the clock was moved.
update endpoints set away_since = away_since + :by, last_seen = last_seen + :by where state in ('live', 'stale');
