-- The index of nouns and reflexes. What was there before is indexed by the reaper, a page at a time.
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

insert into meta (name, value) values ('catch_up', '[0,"",""]');
