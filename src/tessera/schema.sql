-- The store on SQLite and D1, whole: what a new store is made of. An older store reaches the same schema through
-- `storage/migrations/`. Times are integer microseconds since 1970; states, effects, wait reasons and event types are
-- positions in the tuples of states.py and names.py. A task's integer `serial` never leaves the database; `task_id` is
-- its public name.

create table migrations (
  version integer primary key,
  name text not null,
  applied_at integer not null
) strict;

-- Housekeeping: the store's id, the last instant it wrote, the reaper's last run.
create table meta (
  name text primary key,
  value any
) strict, without rowid;

-- Queues that only one tenant's keys, and admin keys, know of. Its claims are decided by an ordered log, where ids
-- stand as commitments under the secret.
create table workspaces (
  workspace_id text primary key,
  name text not null,
  secret text not null,
  created_at integer not null
) strict;

create table queues (
  queue integer primary key,
  name text not null unique,
  heartbeat_seconds integer not null,
  miss_limit integer not null,
  lease_seconds integer not null,
  max_attempts integer not null,
  backoff_base_seconds integer not null,
  backoff_cap_seconds integer not null,
  weight integer not null,
  paused integer not null,
  workspace_id text references workspaces
) strict;

-- One row per queue, changed in the transaction that changes a state.
create table counts (
  queue integer primary key references queues,
  ready integer not null default 0,
  leased integer not null default 0,
  waiting integer not null default 0,
  done integer not null default 0,
  dead integer not null default 0,
  cancelled integer not null default 0
) strict;

-- A lane is one (queue, kind, effect class): a filtered claim looks at the head of each lane it may draw from.
create table lanes (
  lane integer primary key,
  queue integer not null references queues,
  kind text not null,
  effect integer not null,
  unique (queue, kind, effect)
) strict;

-- `due` is when time moves the task: a delayed task's start, a parked task's wake-up. Null: time does not.
-- (What time does to a lease stands in `leases`.)
create table tasks (
  serial integer primary key,
  revision integer not null default 0, -- rises with every change: what a writer compares
  task_id text not null unique,
  queue integer not null references queues,
  lane integer not null references lanes,
  state integer not null,
  priority integer not null,
  created_at integer not null,
  updated_at integer not null,
  due integer,
  not_before integer,
  fencing_token integer not null default 0,
  attempts integer not null default 0,
  failures integer not null default 0,
  parks integer not null default 0,
  parent integer references tasks,
  depth integer not null default 0,
  children integer not null default 0,
  pending_children integer not null default 0,
  dependents integer not null default 0,
  dependencies integer not null default 0,
  pending_deps integer not null default 0,
  wait_reason integer,
  park_reason text,
  parked_by text,
  last_error text,
  cancel_reason text,
  requeued_from integer references tasks,
  requirement integer references requirements
) strict;

-- Only tasks that could be claimed this instant are in the two ready indexes, so a claim costs the same at any depth.
create index tasks_ready_in_lane on tasks (lane, priority desc, created_at, task_id)
  where state = 0 and due is null;
create index tasks_ready_in_queue on tasks (queue, priority desc, created_at, task_id)
  where state = 0 and due is null;
create index tasks_due on tasks (queue, due) where due is not null;
create index tasks_of_parent on tasks (parent, state) where parent is not null;
create index tasks_requeued_from on tasks (requeued_from) where requeued_from is not null;
create index tasks_parked on tasks (queue, updated_at) where state = 2 and wait_reason = 2;
create index tasks_ready_to_win on tasks (requirement, priority desc, created_at, task_id)
  where state = 0 and due is null and requirement is not null;

-- A task's live lease: there is a row here exactly while its state is `leased`.
create table leases (
  serial integer primary key references tasks,
  queue integer not null references queues,
  fencing_token integer not null,
  worker text not null,
  key_id text,
  claim_key text,
  claimed_at integer not null,
  expires_at integer not null,
  hard_expires_at integer not null
) strict;
create index leases_expiring on leases (queue, expires_at);
create index leases_claimed_under on leases (claim_key) where claim_key is not null;

-- Who may claim in a workspace: its agents hold roles, and each role has a topic of the ordered log.
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

-- What a task of a queue asks of whoever claims it: one (role, set of capabilities). A claim looks at the head of each
-- that its agent meets.
create table requirements (
  requirement integer primary key,
  queue integer not null references queues,
  role_id text not null,
  capabilities text not null,
  unique (queue, role_id, capabilities)
) strict;

-- One attempt to win a task: reserved before its message goes to the log, settled after. `fencing_token` is the one
-- that the lease would carry: with the task it names the contest. `after_sequence` is where the topic ended when it
-- was reserved.
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

-- What a claim-next was answered, while asking again under its key shall give the same.
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

-- What a workspace has used of the log.
create table usage_events (
  event_id text primary key,
  workspace_id text not null references workspaces,
  claim_id text not null references claims,
  agent_id text not null,
  type text not null,
  at integer not null
) strict;
create index usage_events_of_workspace on usage_events (workspace_id, at);

-- Apart from the hot row. The hash is checked before a brief is handed out. `traceparent` is the W3C trace context that
-- the task was enqueued in.
create table briefs (
  serial integer primary key references tasks,
  sha256 text not null,
  brief text not null,
  traceparent text
) strict;

create table task_deps (
  dependency integer not null references tasks,
  dependent integer not null references tasks,
  primary key (dependency, dependent)
) strict, without rowid;
create index task_deps_of on task_deps (dependent);

-- What answered each park, or its timing out.
create table task_inputs (
  serial integer not null references tasks,
  park integer not null,
  input text not null,
  key_id text,
  resumed_at integer not null,
  primary key (serial, park)
) strict, without rowid;

-- What a park said its input must look like.
create table park_schemas (
  serial integer not null references tasks,
  park integer not null,
  input_schema text not null,
  primary key (serial, park)
) strict, without rowid;

create table results (
  result integer primary key,
  idempotency_key text not null unique,
  serial integer not null references tasks,
  fencing_token integer not null,
  worker text not null,
  ok integer not null,
  output text not null,
  error text,
  sha256 text not null,
  submitted_at integer not null,
  state integer not null
) strict;
create index results_of_task on results (serial);

-- A key is kept as its hash; its grant as canonical JSON.
create table keys (
  key_id text primary key,
  key_sha256 text not null unique,
  name text,
  grant_json text not null,
  created_at integer not null,
  expires_at integer not null,
  revoked_at integer
) strict;

-- The owner's word that one key of this grant may be `public`, usable once.
create table approvals (
  approval_sha256 text primary key,
  grant_json text not null,
  created_at integer not null,
  expires_at integer not null,
  key_id text
) strict;

-- Work that a lease's holder has given to a model.
create table jobs (
  job integer primary key,
  job_id text not null unique,
  serial integer not null references tasks,
  fencing_token integer not null,
  key_id text,
  model text not null,
  status text not null,
  usage text not null,
  cost_usd real,
  created_at integer not null,
  updated_at integer not null
) strict;
create index jobs_of_task on jobs (serial);

create table events (
  seq integer primary key,
  at integer not null,
  type integer not null,
  queue integer,
  task_id text,
  worker text,
  fencing_token integer,
  key_id text,
  data text
) strict;

-- Every version of every record; the head names the latest.
create table records (
  store text not null,
  key text not null,
  version integer not null,
  value text not null,
  created_at integer not null,
  primary key (store, key, version)
) strict, without rowid;

create table record_heads (
  store text not null,
  key text not null,
  version integer not null,
  primary key (store, key)
) strict, without rowid;

-- The bytes of a blob are the chunks of an upload; a blob of no bytes has none.
create table blobs (
  sha256 text primary key,
  size integer not null,
  created_at integer not null,
  upload text
) strict;

-- A put under way: what it has staged, and when that may be swept.
create table uploads (
  upload text primary key,
  chunks integer not null,
  size integer not null,
  expires_at integer not null
) strict;
create index uploads_expiring on uploads (expires_at);

-- The bytes of uploads, published or not, in pieces.
create table chunks (
  upload text not null,
  chunk integer not null,
  bytes blob not null,
  primary key (upload, chunk)
) strict;

-- Objects and bytes are those of the heads, changed in the transaction that changes a head.
create table buckets (
  bucket integer primary key,
  name text not null unique,
  description text,
  objects integer not null default 0,
  bytes integer not null default 0,
  created_at integer
) strict;

-- Every version of every object; the head names the latest.
create table objects (
  bucket integer not null references buckets,
  key text not null,
  version integer not null,
  sha256 text not null references blobs,
  size integer not null,
  content_type text not null,
  created_at integer not null,
  primary key (bucket, key, version)
) strict, without rowid;

create table object_heads (
  bucket integer not null references buckets,
  key text not null,
  version integer not null,
  primary key (bucket, key)
) strict, without rowid;

-- A feed, and the cursor of its last item.
create table feeds (
  feed integer primary key,
  name text not null unique,
  head integer not null,
  updated_at integer not null
) strict;

create table feed_items (
  feed integer not null references feeds,
  cursor integer not null,
  payload text not null,
  published_at integer not null,
  primary key (feed, cursor)
) strict, without rowid;

-- The ordered log of lite claims: how far the store knows each topic, and the messages of those that it keeps itself.
-- Consensus times are nanoseconds since 1970; none is given twice, whatever the topic.
create table topics (
  topic integer primary key,
  topic_id text not null unique,
  sequence_number integer not null,
  consensus_ns integer not null,
  running_hash blob not null
) strict;

create index topics_latest on topics (consensus_ns);

create index claims_pending on claims (topic_id, sequence_number) where proof_status = 'pending';

create table topic_messages (
  topic integer not null references topics,
  sequence_number integer not null,
  consensus_ns integer not null,
  payer text not null,
  message blob not null,
  running_hash blob not null,
  primary key (topic, sequence_number)
) strict, without rowid;

-- What search_nouns finds: the latest version of every record (in_bucket 0) and object (1), with its title and as much
-- of its text as can be found, in lines.
create table nouns (
  noun integer primary key,
  in_bucket integer not null,
  place text not null,
  key text not null,
  version integer not null,
  size integer not null,
  sha256 text not null,
  title text not null,
  text text not null,
  unique (in_bucket, place, key)
) strict;

-- What match_reflex compares with: the trigger of a reflex (warns 0), or kind, error and brief of a tombstone (1).
create table reflexes (
  noun integer primary key references nouns,
  warns integer not null,
  text text not null
) strict;
create index reflexes_by_text on reflexes (text) where warns = 0;

-- The words of both, without their texts; marks are letters, for many scripts write vowels with them.
create virtual table nouns_words using fts5 (title, text, content = '', contentless_delete = 1,
  tokenize = "unicode61 remove_diacritics 2 categories 'L* N* Co Mn Mc'");
insert into nouns_words (nouns_words, rank) values ('rank', 'bm25(4.0, 1.0)');
create virtual table reflexes_words using fts5 (step, dead_end, content = '', contentless_delete = 1,
  tokenize = "unicode61 remove_diacritics 2 categories 'L* N* Co Mn Mc'");
create virtual table reflexes_parts using fts5 (step, dead_end, content = '', contentless_delete = 1,
  tokenize = 'trigram');

-- They exist from the start, so they have no other time than the store's first.
insert into buckets (name, description) values
  ('nouns', 'What there is: facts, documents, summaries'),
  ('verbs', 'What can be done: scripts, prompts, procedures'),
  ('kits', 'What belongs together: tools and templates'),
  ('cases', 'What happened: examples and their outcomes'),
  ('provisions', 'What work starts from: inputs and settings'),
  ('traces', 'What work leaves behind: logs and transcripts');
