-- Feeds and their items.
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
