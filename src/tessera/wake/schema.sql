-- The wake room's tables. Times are milliseconds since 1970.
create table meta (name text primary key, value text not null) strict, without rowid;

create table endpoints (
  endpoint_id text primary key,
  name text not null,
  kind text not null,
  target text not null,
  harness text not null,
  repos text not null,
  ack_mode text not null check (ack_mode in ('injected', 'acknowledged')),
  max_attempts integer not null check (max_attempts between 1 and 9),
  ack_timeout_ms integer not null,
  state text not null check (state in ('live', 'stale', 'gone', 'detached', 'replaced')),
  reason text,
  activity text not null,
  owner_pid integer,
  owner_start text,
  resume_sha256 text not null,
  registered_at integer not null,
  last_seen integer not null,
  away_since integer
) strict;
create unique index endpoints_open on endpoints (name) where state in ('live', 'stale');

create table messages (
  seq integer primary key autoincrement,
  message_id text not null unique,
  client_id text not null,
  idempotency_key text not null,
  correlation_id text,
  sender_repo text not null,
  target_repo text not null,
  provenance text,
  metadata text not null,
  body text not null,
  endpoint_id text not null references endpoints,
  ack_mode text not null check (ack_mode in ('injected', 'acknowledged')),
  max_attempts integer not null,
  ack_timeout_ms integer not null,
  state text not null check (state in ('pending', 'awaiting_ack', 'injected', 'acknowledged', 'failed')),
  attempt_count integer not null default 0,
  total_attempts integer not null default 0,
  retry_count integer not null default 0,
  next_attempt_at integer,
  ack_deadline_at integer,
  lease_id text,
  lease_expires_at integer,
  deferred_reason text,
  deferred_since integer,
  last_failure_reason text,
  created_at integer not null,
  updated_at integer not null,
  acknowledged_at integer,
  ack_source text,
  ack_by text,
  ack_note text,
  ack_late integer not null default 0,
  unique (client_id, idempotency_key),
  check ((lease_id is null) = (lease_expires_at is null)),
  check (lease_id is null or state = 'pending'),
  check ((state = 'awaiting_ack') = (ack_deadline_at is not null)),
  check ((state = 'pending') = (next_attempt_at is not null))
) strict;
create index messages_pending on messages (endpoint_id, seq) where state = 'pending';
create index messages_awaiting on messages (ack_deadline_at) where state = 'awaiting_ack';
create unique index messages_leased on messages (endpoint_id) where lease_id is not null;
create index messages_to on messages (target_repo, seq);

create table attempts (
  message_id text not null references messages (message_id),
  n integer not null,
  endpoint_id text not null,
  lease_id text not null,
  phase text not null check (phase in ('claimed', 'typing', 'typed')),
  started_at integer not null,
  ended_at integer,
  outcome text,
  reason text,
  primary key (message_id, n)
) strict, without rowid;
create index attempts_ended on attempts (ended_at);

create table events (
  seq integer primary key autoincrement,
  at integer not null,
  type text not null,
  message_id text,
  endpoint_id text,
  data text not null
) strict;
