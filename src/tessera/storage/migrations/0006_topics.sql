-- The ordered log of lite claims: topics, and their messages.
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
