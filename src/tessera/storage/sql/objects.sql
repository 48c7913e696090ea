-- name: bucket_named
-- row: BucketRow
-- One bucket; those of the start are as old as the store.
select bucket, name, description, objects, bytes,
  coalesce(created_at, (select min(applied_at) from migrations)) as created_at
from buckets where name = :name;

-- name: buckets_page
-- row: BucketRow
-- A page of the buckets, by name.
select bucket, name, description, objects, bytes,
  coalesce(created_at, (select min(applied_at) from migrations)) as created_at
from buckets where name > :after order by name limit :limit;

-- name: add_bucket
-- A new bucket.
insert into buckets (name, description, created_at) values (:name, :description, :now);

-- name: describe_bucket
-- Another description for a bucket.
update buckets set description = :description where bucket = :bucket;

-- name: change_bucket
-- What a new version of an object adds to its bucket's totals.
update buckets set objects = objects + :objects, bytes = bytes + :bytes where bucket = :bucket;

-- name: object_head
-- row: ObjectRow
-- The latest version of an object.
select o.key, o.version, o.sha256, o.size, o.content_type, o.created_at
from object_heads h cross join objects o on o.bucket = h.bucket and o.key = h.key and o.version = h.version
where h.bucket = :bucket and h.key = :key;

-- name: object_version
-- row: ObjectRow
-- A given version of an object.
select key, version, sha256, size, content_type, created_at from objects
where bucket = :bucket and key = :key and version = :version;

-- name: object_versions
-- row: ObjectRow
-- A page of an object's versions, oldest first.
select key, version, sha256, size, content_type, created_at from objects
where bucket = :bucket and key = :key and version > :after order by version limit :limit;

-- name: objects_page
-- row: ObjectRow
-- A page of a bucket's objects from a key on and before another, in byte order, each in its latest version.
select o.key, o.version, o.sha256, o.size, o.content_type, o.created_at
from object_heads h cross join objects o on o.bucket = h.bucket and o.key = h.key and o.version = h.version
where h.bucket = :bucket and h.key >= :first and h.key < :beyond and h.key > :after order by h.key limit :limit;

-- name: add_object
-- A new version of an object.
insert into objects (bucket, key, version, sha256, size, content_type, created_at)
values (:bucket, :key, :version, :sha256, :size, :content_type, :now);

-- name: add_object_head
-- The first version of an object.
insert into object_heads (bucket, key, version) values (:bucket, :key, 1);

-- name: move_object_head
-- The next version of an object, if nobody was quicker.
update object_heads set version = :version where bucket = :bucket and key = :key and version = :version - 1;
