-- Workspaces: queues that only one tenant's keys know of, and whose claims are decided by an ordered log.
create table workspaces (
  workspace_id text primary key,
  name text not null,
  secret text not null,
  created_at integer not null
) strict;
alter table queues add column workspace_id text references workspaces;
alter table tasks add column requirement integer references requirements;
create index tasks_ready_to_win on tasks (requirement, priority desc, created_at, task_id)
  where state = 0 and due is null and requirement is not null;

create table roles (
  workspace_id text not null references workspaces,
  role_id text not null,
  name text not null,
  topic_id text not null unique,
  lease_seconds integer,
  accounts text not null,
  primary key (workspace_id, role_id)
) strict;

create table agents (
  workspace_id text not null references workspaces,
  agent_id text not null,
  role_ids text not null,
  capabilities text not null,
  active integer not null,
  primary key (workspace_id, agent_id)
) strict;

create table requirements (
  requirement integer primary key,
  queue integer not null references queues,
  role_id text not null,
  capabilities text not null,
  unique (queue, role_id, capabilities)
) strict;

create table claims (
  claim_id text primary key,
  workspace_id text not null references workspaces,
  serial integer not null references tasks,
  fencing_token integer not null,
  role_id text not null,
  agent_id text not null,
  key_id text,
  target text not null,
  lease_seconds integer not null,
  idempotency_sha256 text not null,
  state integer not null,
  reserved_at integer not null,
  settled_at integer,
  event_id text,
  message text not null,
  topic_id text not null,
  after_sequence integer not null,
  sequence_number integer,
  consensus_timestamp text,
  running_hash text,
  transaction_id text,
  proof_status text
) strict;
create index claims_reserved on claims (reserved_at) where state = 0;
create index claims_contesting on claims (serial, fencing_token);
create index claims_in_topic on claims (topic_id, sequence_number) where sequence_number is not null;

create table claim_requests (
  workspace_id text not null references workspaces,
  agent_id text not null,
  target text not null,
  idempotency_sha256 text not null,
  body_sha256 text not null,
  claim_id text,
  answer text,
  until integer not null,
  primary key (workspace_id, agent_id, target, idempotency_sha256)
) strict;
create index claim_requests_until on claim_requests (until);

create table usage_events (
  event_id text primary key,
  workspace_id text not null references workspaces,
  claim_id text not null,
  agent_id text not null,
  type text not null,
  at integer not null
) strict;
create index usage_events_of_workspace on usage_events (workspace_id, at);
