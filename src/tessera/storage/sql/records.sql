-- name: record_head
-- row: RecordHeadRow
-- The number of a record's latest version.
select store, key, version from record_heads where store = :store and key = :key;

-- name: each_record_head
-- row: RecordHeadRow
-- The same for several: a JSON array of pairs of store and key in, whatever exists out.
select h.store, h.key, h.version from json_each(:records) j cross join record_heads h
  on h.store = j.value ->> 0 and h.key = j.value ->> 1;

-- name: record_latest
-- row: RecordRow
-- The latest version of a record.
select r.store, r.key, r.version, r.value, r.created_at
from record_heads h cross join records r on r.store = h.store and r.key = h.key and r.version = h.version
where h.store = :store and h.key = :key;

-- name: record_version
-- row: RecordRow
-- A given version of a record.
select store, key, version, value, created_at from records
where store = :store and key = :key and version = :version;

-- name: record_versions
-- row: RecordRow
-- A page of a record's versions, oldest first.
select store, key, version, value, created_at from records
where store = :store and key = :key and version > :after order by version limit :limit;

-- name: record_versions_sizes
-- row: Scalar
-- How many bytes each value of such a page has, without reading it.
select octet_length(value) as value from records
where store = :store and key = :key and version > :after order by version limit :limit;

-- name: records_page
-- row: RecordRow
-- A page of a store's records from a key on and before another, in byte order, each in its latest version.
select r.store, r.key, r.version, r.value, r.created_at
from record_heads h cross join records r on r.store = h.store and r.key = h.key and r.version = h.version
where h.store = :store and h.key >= :first and h.key < :beyond and h.key > :after order by h.key limit :limit;

-- name: records_page_sizes
-- row: Scalar
-- How many bytes each value of such a page has, without reading it.
select octet_length(r.value) as value
from record_heads h cross join records r on r.store = h.store and r.key = h.key and r.version = h.version
where h.store = :store and h.key >= :first and h.key < :beyond and h.key > :after order by h.key limit :limit;

-- name: stores_page
-- row: Text
-- A page of the stores that hold a record, by name: one seek for each, however many records it holds.
with recursive s (value) as (
  select min(store) from record_heads where store > :after
  union all
  select (select min(store) from record_heads where store > s.value) from s where s.value is not null)
select value from s where value is not null limit :limit;

-- name: insert_record
-- A new version of a record.
insert into records (store, key, version, value, created_at) values (:store, :key, :version, :value, :created_at);

-- name: insert_record_head
-- A record's first head.
insert into record_heads (store, key, version) values (:store, :key, :version);

-- name: move_record_head
-- A record's next head, if nobody was quicker.
update record_heads set version = :version where store = :store and key = :key and version = :read_version;
