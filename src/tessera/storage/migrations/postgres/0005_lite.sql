-- Workspaces: queues that only one tenant's keys know of, and whose claims are decided by an ordered log.
create table workspaces (
  workspace_id text collate "C" primary key,
  name text not null,
  secret text not null,
  created_at bigint not null
);
alter table queues add column workspace_id text collate "C";
alter table tasks add column requirement bigint;
create index tasks_ready_to_win on tasks (requirement, priority desc, created_at, task_id)
  where state = 0 and due is null and requirement is not null;

create table roles (
  workspace_id text collate "C" not null,
  role_id text collate "C" not null,
  name text not null,
  topic_id text collate "C" not null unique,
  lease_seconds bigint,
  accounts text not null,
  primary key (workspace_id, role_id)
);

create table agents (
  workspace_id text collate "C" not null,
  agent_id text collate "C" not null,
  role_ids text not null,
  capabilities text not null,
  active bigint not null,
  primary key (workspace_id, agent_id)
);

create table requirements (
  requirement bigint primary key,
  queue bigint not null,
  role_id text collate "C" not null,
  capabilities text collate "C" not null,
  unique (queue, role_id, capabilities)
);

create table claims (
  claim_id text collate "C" primary key,
  workspace_id text collate "C" not null,
  serial bigint not null,
  fencing_token bigint not null,
  role_id text collate "C" not null,
  agent_id text collate "C" not null,
  key_id text collate "C",
  target text collate "C" not null,
  lease_seconds bigint not null,
  idempotency_sha256 text collate "C" not null,
  state bigint not null,
  reserved_at bigint not null,
  settled_at bigint,
  event_id text collate "C",
  message text not null,
  topic_id text collate "C" not null,
  after_sequence bigint not null,
  sequence_number bigint,
  consensus_timestamp text,
  running_hash text,
  transaction_id text,
  proof_status text collate "C"
);
create index claims_reserved on claims (reserved_at) where state = 0;
create index claims_contesting on claims (serial, fencing_token);
create index claims_in_topic on claims (topic_id, sequence_number) where sequence_number is not null;

create table claim_requests (
  workspace_id text collate "C" not null,
  agent_id text collate "C" not null,
  target text collate "C" not null,
  idempotency_sha256 text collate "C" not null,
  body_sha256 text not null,
  claim_id text collate "C",
  answer text,
  until bigint not null,
  primary key (workspace_id, agent_id, target, idempotency_sha256)
);
create index claim_requests_until on claim_requests (until);

create table usage_events (
  event_id text collate "C" primary key,
  workspace_id text collate "C" not null,
  claim_id text collate "C" not null,
  agent_id text collate "C" not null,
  type text not null,
  at bigint not null
);
create index usage_events_of_workspace on usage_events (workspace_id, at);
