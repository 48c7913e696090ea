-- name: add_reflex
-- What a record of `tessera.reflexes` answers, or what a tombstone warns of; nothing if it is no such thing any more.
insert into reflexes (noun, warns, text)
select noun, cast(:warns as smallint), :text from nouns where in_bucket = 0 and place = :store and key = :key
on conflict (noun) do update set text = excluded.text;

-- name: record_slice
-- row: SliceRow
-- Some bytes of a record's value.
select version, octet_length(value)::bigint as size,
  substr(convert_to(value, 'UTF8'), cast(:first as integer) + 1, cast(:length as integer)) as bytes
from records where store = :store and key = :key and version = :version;

-- name: brief_beginning
-- row: ChunkRow
-- The first bytes of a brief, whatever they are; of a workspace's task none, for what it says is its holder's to know.
select substr(convert_to(brief, 'UTF8'), 1, cast(:bytes as integer)) as bytes
from tasks t join briefs b on b.serial = t.serial join queues q on q.queue = t.queue
where t.task_id = :task_id and q.workspace_id is null;

-- name: catch_up_from
-- row: Text
-- Where indexing what was there before an upgrade goes on; nothing once it is done.
select words as value from meta where name = 'catch_up';

-- name: index_noun
-- The words of a noun, in place of those it had.
insert into nouns_words (noun, words)
select noun, vector_of(:title, :text) from nouns where in_bucket = :in_bucket and place = :place and key = :key
on conflict (noun) do update set words = excluded.words;

-- name: index_reflex
-- The words of a reflex or a tombstone, in place of those it had.
insert into reflexes_words (noun, step, dead_end)
select noun, vector_of('', case when cast(:warns as bigint) = 0 then :text else '' end),
  vector_of('', case when cast(:warns as bigint) = 0 then '' else :text end)
from nouns where in_bucket = 0 and place = :store and key = :key
on conflict (noun) do update set step = excluded.step, dead_end = excluded.dead_end;

-- name: index_reflex_parts
-- The same, in runs of three characters.
insert into reflexes_parts (noun, step, dead_end)
select noun, parts_of(case when cast(:warns as bigint) = 0 then :text else '' end),
  parts_of(case when cast(:warns as bigint) = 0 then '' else :text end)
from nouns where in_bucket = 0 and place = :store and key = :key
on conflict (noun) do update set step = excluded.step, dead_end = excluded.dead_end;

-- name: find_nouns
-- row: FoundNoun
-- The nouns that have some phrases. A word of a title counts four times one of a text.
select n.in_bucket, n.place, n.key, n.version, n.size, n.sha256, n.title, n.text, w.rank
from (
  select noun, ts_rank(array[0.25, 0.25, 0.25, 1.0]::real[], words, q.query, 1)::double precision as rank
  from nouns_words, query_of(cast(:phrases as json), cast(:every as bigint) = 1) q (query) where words @@ q.query
) w join nouns n on n.noun = w.noun
where cast(:anywhere as bigint) = 1 or (n.in_bucket = 0 and n.place = :store)
   or (n.in_bucket = 1 and n.place = :bucket)
order by w.rank desc, n.noun limit :limit;

-- name: find_steps
-- row: ReflexRow
-- The reflexes that have any of some phrases.
select n.key, r.text
from reflexes_words w, query_of(cast(:phrases as json), false) q (query), reflexes r, nouns n
where w.step @@ q.query and r.noun = w.noun and n.noun = w.noun
order by ts_rank(w.step, q.query, 1) desc, n.noun limit :limit;

-- name: find_dead_ends
-- row: ReflexRow
-- The tombstones that have any of some phrases.
select n.key, r.text
from reflexes_words w, query_of(cast(:phrases as json), false) q (query), reflexes r, nouns n
where w.dead_end @@ q.query and r.noun = w.noun and n.noun = w.noun
order by ts_rank(w.dead_end, q.query, 1) desc, n.noun limit :limit;

-- name: find_steps_by_parts
-- row: ReflexRow
-- The reflexes that share runs of three characters with misspelt words, the most first.
select n.key, r.text
from (select array(select json_array_elements_text(cast(:parts as json))) collate "C" as parts) q,
  reflexes_parts w, reflexes r, nouns n
where w.step && q.parts and r.noun = w.noun and n.noun = w.noun
order by (select count(*) from unnest(w.step) p (part) where part = any (q.parts))::real
  / sqrt(1 + cardinality(w.step)) desc, n.noun limit :limit;

-- name: find_dead_ends_by_parts
-- row: ReflexRow
-- The tombstones that share runs of three characters with misspelt words, the most first.
select n.key, r.text
from (select array(select json_array_elements_text(cast(:parts as json))) collate "C" as parts) q,
  reflexes_parts w, reflexes r, nouns n
where w.dead_end && q.parts and r.noun = w.noun and n.noun = w.noun
order by (select count(*) from unnest(w.dead_end) p (part) where part = any (q.parts))::real
  / sqrt(1 + cardinality(w.dead_end)) desc, n.noun limit :limit;

-- name: reflex_words_known
-- row: Text
-- Which of some phrases a reflex or a tombstone has.
select j.value ->> 0 as value from json_array_elements(cast(:phrases as json)) j (value)
where exists (select 1 from reflexes_words w where w.step @@ query_of(json_build_array(j.value), true))
   or exists (select 1 from reflexes_words w where w.dead_end @@ query_of(json_build_array(j.value), true));

-- name: record_bytes
-- row: ChunkRow
-- The latest value of a record, whatever bytes it is.
select convert_to(r.value, 'UTF8') as bytes
from record_heads h join records r on r.store = h.store and r.key = h.key and r.version = h.version
where h.store = :store and h.key = :key;
