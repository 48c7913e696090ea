-- name: blobs_to_check
-- row: BlobRow
-- A page of blobs, by hash.
select sha256, size, created_at, upload from blobs where sha256 > :after order by sha256 limit :limit;

-- name: chunks_wrong
-- row: Wrong
-- Pieces that belong to no blob and no put under way, and blobs whose pieces a sweep could reach.
select 'upload ' || c.upload as thing, 'has pieces, but belongs to no blob and no put' as says
from (select distinct upload from chunks) c
where not exists (select 1 from uploads u where u.upload = c.upload)
  and not exists (select 1 from blobs b where b.upload = c.upload)
union all
select 'blob ' || b.sha256, 'is published, but its upload ' || b.upload || ' waits to be swept'
from blobs b join uploads u on u.upload = b.upload;

-- name: object_chains_wrong
-- row: Wrong
-- Objects whose versions are not 1, 2, 3 and so on, whose head is not the last, or whose blob is another.
select 'object ' || q.name || '/' || v.key as thing,
  case when v.first <> 1 or v.last <> v.versions
  then 'has ' || v.versions || ' versions from ' || v.first || ' to ' || v.last
  when h.version is null then 'has no head'
  else 'has its head at version ' || h.version || ', its last is ' || v.last end as says
from (select bucket, key, count(*) as versions, min(version) as first, max(version) as last
      from objects group by bucket, key) v
  join buckets q on q.bucket = v.bucket
  left join object_heads h on h.bucket = v.bucket and h.key = v.key
where v.first <> 1 or v.last <> v.versions or h.version is null or h.version <> v.last
union all
select 'object ' || q.name || '/' || h.key, 'has a head and no versions'
from object_heads h join buckets q on q.bucket = h.bucket
where not exists (select 1 from objects o where o.bucket = h.bucket and o.key = h.key)
union all
select 'object ' || q.name || '/' || o.key || ' version ' || o.version,
  case when b.sha256 is null then 'names a blob that is not there'
  else 'has ' || o.size || ' bytes, its blob has ' || b.size end
from objects o join buckets q on q.bucket = o.bucket left join blobs b on b.sha256 = o.sha256
where b.sha256 is null or b.size <> o.size;

-- name: buckets_wrong
-- row: Wrong
-- Buckets whose totals are not those of their heads.
select 'bucket ' || name as thing, 'keeps ' || kept || ', counted ' || counted as says
from (
  select q.name, q.objects || ' objects of ' || q.bytes || ' bytes' as kept,
    count(h.key) || ' objects of ' || coalesce(sum(o.size), 0) || ' bytes' as counted
  from buckets q
    left join object_heads h on h.bucket = q.bucket
    left join objects o on o.bucket = h.bucket and o.key = h.key and o.version = h.version
  group by q.bucket
) b where kept <> counted;

-- name: blob_sizes_to_check
-- row: BlobSizes
-- How many rows there are to look at, for whoever watches.
select (select count(*) from blobs) as blobs, (select count(*) from object_heads) as objects,
  (select count(*) from buckets) as buckets, (select count(*) from feeds) as feeds,
  (select count(*) from topics) as topics;

-- name: topics_wrong
-- row: Wrong
-- Topics of the store's own log whose last row is not the one that they are known to end with. Whether each row
-- follows from the one before it, `lite verify` computes.
select 'topic ' || t.topic_id as thing, 'ends with row ' || t.sequence_number || ' of that hash, and has not' as says
from topics t left join topic_messages m on m.topic = t.topic and m.sequence_number = t.sequence_number
where m.running_hash is null or m.running_hash <> t.running_hash
  or exists (select 1 from topic_messages o where o.topic = t.topic and o.sequence_number > t.sequence_number);

-- name: feeds_wrong
-- row: Wrong
-- Feeds whose cursors leave one out where no restore let them jump, or whose head is not the last; items that are
-- no JSON, or of no feed.
with item (feed, cursor, before, payload) as (
  select feed, cursor, lag(cursor, 1, 0) over (partition by feed order by cursor), payload from feed_items
), jump (epoch) as (select seq from events where type = :restored)
select 'feed ' || coalesce(f.name, cast(i.feed as text)) || ' item ' || i.cursor as thing,
  case when f.name is null then 'is of no feed'
  when not json_valid(i.payload) then 'is not JSON'
  else 'follows item ' || i.before || ': those between are missing' end as says
from item i left join feeds f on f.feed = i.feed
where f.name is null or not json_valid(i.payload)
   or (i.cursor <> i.before + 1 and i.cursor - 1 not in (select epoch from jump))
union all
select 'feed ' || name, 'has its head at ' || head || ', its last item is ' || last
from (select f.name, f.head, coalesce((select max(cursor) from feed_items i where i.feed = f.feed), 0) as last
      from feeds f) h
where head <> last and not (head > last and head in (select epoch from jump));

-- name: nouns_wrong
-- row: Wrong
-- Heads that the index lacks or has in another version, and nouns that nothing is the head of.
select 'record ' || h.store || '/' || h.key as thing, 'is not in the index in its latest version' as says
from record_heads h left join nouns n on n.in_bucket = 0 and n.place = h.store and n.key = h.key
where n.version is distinct from h.version and (n.noun is not null or :all_indexed = 1)
union all
select 'object ' || b.name || '/' || h.key, 'is not in the index in its latest version'
from object_heads h join buckets b on b.bucket = h.bucket
  left join nouns n on n.in_bucket = 1 and n.place = b.name and n.key = h.key
where n.version is distinct from h.version and (n.noun is not null or :all_indexed = 1)
union all
select 'noun ' || n.place || '/' || n.key, 'is in the index and nowhere else' from nouns n
where case n.in_bucket
  when 0 then not exists (select 1 from record_heads h where h.store = n.place and h.key = n.key)
  else not exists (select 1 from object_heads h join buckets b on b.bucket = h.bucket
                   where b.name = n.place and h.key = n.key) end;

-- name: nouns_unindexed
-- row: Wrong
-- Nouns whose words the index does not have.
select 'noun ' || n.place || '/' || n.key as thing, 'has no words in the index' as says
from nouns n where n.noun not in (select rowid from nouns_words);
