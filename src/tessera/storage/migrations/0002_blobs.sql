-- Blobs in chunks, buckets, objects with every version.
alter table blobs add column upload text;

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

-- They exist from the start, so they have no other time than the store's first.
insert into buckets (name, description) values
  ('nouns', 'What there is: facts, documents, summaries'),
  ('verbs', 'What can be done: scripts, prompts, procedures'),
  ('kits', 'What belongs together: tools and templates'),
  ('cases', 'What happened: examples and their outcomes'),
  ('provisions', 'What work starts from: inputs and settings'),
  ('traces', 'What work leaves behind: logs and transcripts');
