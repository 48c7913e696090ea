-- What a verb locks before it reads a row, other than a task's, that it decides by and another one may change. A lock is
-- a statement of its own: the one that follows sees what was committed while it waited. Of several rows, those of one
-- table are locked in the order of their keys.

-- name: feed_named
-- The feed that the next item moves.
select f.head from feeds f where f.name = :name for no key update;

-- name: record_head
-- The head that the next version moves.
select h.version from record_heads h where h.store = :store and h.key = :key for no key update;

-- name: each_record_head
-- The same for several, in the order of their names.
select h.version from json_array_elements(cast(:records as json)) j (value)
  join record_heads h on h.store = j.value ->> 0 and h.key = j.value ->> 1
order by h.store, h.key for no key update of h;

-- name: object_head
-- The head that the next version moves.
select h.version from object_heads h where h.bucket = :bucket and h.key = :key for no key update;

-- name: upload_named
-- A put under way, which a sweep may end.
select u.chunks from uploads u where u.upload = :upload for no key update;

-- name: blob_named
-- A blob, whose damaged pieces another put may mend.
select b.size from blobs b where b.sha256 = :sha256 for no key update;

-- name: job_named
-- A job, whose status another one may end.
select j.status from jobs j where j.job_id = :job_id for no key update;

-- name: approval_hashed
-- An approval, which serves one key.
select a.expires_at from approvals a where a.approval_sha256 = :approval_sha256 for no key update;

-- name: key_named
-- A key that is about to be revoked.
select k.expires_at from keys k where k.key_id = :key_id for no key update;
