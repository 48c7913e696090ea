-- The index of nouns: what search_nouns and match_reflex ask, and what a write tells it.
--
-- `nouns`, `reflexes` and the heads are plain tables. Only the blocks under "full text" below touch FTS5, and a dialect
-- without it overrides those by name:
--   a statement that finds (find_*) takes `:phrases`, a JSON array of [phrase, begins]: a phrase is words that stand
--     next to each other in that order, and with begins = "*" its last word need only begin so. `:every` is 1 when all
--     phrases must be there, 0 when any will do. It answers the best first, with a rank that is higher the better;
--     a title counts four times a line. `:anywhere` is 1 for all places, else a place is `:store` or `:bucket`.
--     The text that was indexed has scripts without spaces cut into words already: the simplest parser will do, without
--     stop words or stems, folding case and accents.
--   find_*_by_parts takes `:parts`, a JSON array of folded runs of three characters, any of which will do.
--   What is cast to a blob here (record_bytes, record_slice, brief_beginning) is UTF-8; damaged, it must not fail to be read.
--   nouns_unindexed, in verify_blobs.sql, tells which nouns those words are missing of.
--   index_* and index_*_parts are run after the row of `nouns` was written and must change one row: with a generated
--     column over `nouns.title` and `nouns.text` they may touch the row instead. :title and :text there are cut as told
--     above, which the columns of `nouns` are not.

-- name: add_noun
-- A noun's first or next version.
insert into nouns (in_bucket, place, key, version, size, sha256, title, text)
values (:in_bucket, :place, :key, :version, :size, :sha256, :title, :text)
on conflict (in_bucket, place, key) do update set version = excluded.version, size = excluded.size,
  sha256 = excluded.sha256, title = excluded.title, text = excluded.text;

-- name: add_reflex
-- What a record of `tessera.reflexes` answers, or what a tombstone warns of; nothing if it is no such thing any more.
insert into reflexes (noun, warns, text)
select noun, :warns, :text from nouns where in_bucket = 0 and place = :store and key = :key
on conflict (noun) do update set text = excluded.text;

-- name: step_for
-- row: ReflexRow
-- Reflexes for just that.
select n.key, r.text from reflexes r cross join nouns n on n.noun = r.noun
where r.warns = 0 and r.text = :text order by n.key limit :limit;

-- name: noun_title
-- row: Text
-- The title that the index has.
select title as value from nouns where in_bucket = :in_bucket and place = :place and key = :key;

-- name: record_lasts
-- row: VersionRow
-- A record's last versions, newest first.
select version, octet_length(value) as size, created_at from records
where store = :store and key = :key order by version desc limit :limit;

-- name: object_lasts
-- row: VersionRow
-- An object's last versions, newest first.
select version, size, created_at from objects
where bucket = :bucket and key = :key order by version desc limit :limit;

-- name: record_slice
-- row: SliceRow
-- Some bytes of a record's value.
select version, octet_length(value) as size, substr(cast(value as blob), :first + 1, :length) as bytes
from records where store = :store and key = :key and version = :version;

-- name: record_bytes
-- row: ChunkRow
-- The latest value of a record, whatever bytes it is.
select cast(r.value as blob) as bytes
from record_heads h cross join records r on r.store = h.store and r.key = h.key and r.version = h.version
where h.store = :store and h.key = :key;

-- name: chunk_beginning
-- row: ChunkRow
-- The first bytes of an upload.
select substr(bytes, 1, :bytes) as bytes from chunks where upload = :upload and chunk = 0;

-- name: brief_beginning
-- row: ChunkRow
-- The first bytes of a brief, whatever they are; of a workspace's task none, for what it says is its holder's to know.
select substr(cast(brief as blob), 1, :bytes) as bytes
from tasks t cross join briefs b on b.serial = t.serial cross join queues q on q.queue = t.queue
where t.task_id = :task_id and q.workspace_id is null;

-- name: catch_up_from
-- row: Text
-- Where indexing what was there before an upgrade goes on; nothing once it is done.
select value from meta where name = 'catch_up';

-- name: records_left
-- row: Left
-- The next heads of records after a place and key that the index does not have yet.
select h.store as place, h.key, h.version, octet_length(r.value) as size
from record_heads h cross join records r on r.store = h.store and r.key = h.key and r.version = h.version
where (h.store, h.key) > (:place, :key)
  and not exists (select 1 from nouns n where n.in_bucket = 0 and n.place = h.store and n.key = h.key)
order by h.store, h.key limit :limit;

-- name: objects_left
-- row: Left
-- The next heads of objects after a place and key that the index does not have yet.
select b.name as place, h.key, h.version, o.size
from buckets b cross join object_heads h on h.bucket = b.bucket
  cross join objects o on o.bucket = h.bucket and o.key = h.key and o.version = h.version
where (b.name, h.key) > (:place, :key) and b.name >= :place
  and not exists (select 1 from nouns n where n.in_bucket = 1 and n.place = b.name and n.key = h.key)
order by b.name, h.key limit :limit;

-- name: end_catch_up
-- All that was there before the upgrade is indexed.
delete from meta where name = 'catch_up';

-- Full text: what a dialect overrides.

-- name: index_noun
-- The words of a noun, in place of those it had.
insert or replace into nouns_words (rowid, title, text)
select noun, :title, :text from nouns where in_bucket = :in_bucket and place = :place and key = :key;

-- name: index_reflex
-- The words of a reflex or a tombstone, in place of those it had.
insert or replace into reflexes_words (rowid, step, dead_end)
select noun, case :warns when 0 then :text else '' end, case :warns when 0 then '' else :text end
from nouns where in_bucket = 0 and place = :store and key = :key;

-- name: index_reflex_parts
-- The same, in runs of three characters.
insert or replace into reflexes_parts (rowid, step, dead_end)
select noun, case :warns when 0 then :text else '' end, case :warns when 0 then '' else :text end
from nouns where in_bucket = 0 and place = :store and key = :key;

-- name: find_nouns
-- row: FoundNoun
-- The nouns that have some phrases.
select n.in_bucket, n.place, n.key, n.version, n.size, n.sha256, n.title, n.text, -w.rank as rank
from nouns_words w cross join nouns n on n.noun = w.rowid
where nouns_words match (select group_concat('"' || replace(value ->> 0, '"', '""') || '"' || (value ->> 1),
    case :every when 1 then ' ' else ' OR ' end) from json_each(:phrases))
  and (:anywhere or (n.in_bucket = 0 and n.place = :store) or (n.in_bucket = 1 and n.place = :bucket))
order by w.rank limit :limit;

-- name: find_steps
-- row: ReflexRow
-- The reflexes that have any of some phrases.
select n.key, r.text
from reflexes_words w cross join reflexes r on r.noun = w.rowid cross join nouns n on n.noun = r.noun
where reflexes_words match 'step : (' || (select group_concat('"' || replace(value ->> 0, '"', '""') || '"'
    || (value ->> 1), ' OR ') from json_each(:phrases)) || ')'
order by w.rank limit :limit;

-- name: find_dead_ends
-- row: ReflexRow
-- The tombstones that have any of some phrases.
select n.key, r.text
from reflexes_words w cross join reflexes r on r.noun = w.rowid cross join nouns n on n.noun = r.noun
where reflexes_words match 'dead_end : (' || (select group_concat('"' || replace(value ->> 0, '"', '""') || '"'
    || (value ->> 1), ' OR ') from json_each(:phrases)) || ')'
order by w.rank limit :limit;

-- name: find_steps_by_parts
-- row: ReflexRow
-- The reflexes that share runs of three characters with misspelt words.
select n.key, r.text
from reflexes_parts w cross join reflexes r on r.noun = w.rowid cross join nouns n on n.noun = r.noun
where reflexes_parts match 'step : (' || (select group_concat('"' || replace(value, '"', '""') || '"', ' OR ')
    from json_each(:parts)) || ')'
order by w.rank limit :limit;

-- name: find_dead_ends_by_parts
-- row: ReflexRow
-- The tombstones that share runs of three characters with misspelt words.
select n.key, r.text
from reflexes_parts w cross join reflexes r on r.noun = w.rowid cross join nouns n on n.noun = r.noun
where reflexes_parts match 'dead_end : (' || (select group_concat('"' || replace(value, '"', '""') || '"', ' OR ')
    from json_each(:parts)) || ')'
order by w.rank limit :limit;

-- name: reflex_words_known
-- row: Text
-- Which of some phrases a reflex or a tombstone has.
select j.value ->> 0 as value from json_each(:phrases) j where exists (
  select 1 from reflexes_words where reflexes_words match '"' || replace(j.value ->> 0, '"', '""') || '"' || (j.value ->> 1));
