-- name: blob_named
-- row: BlobRow
-- What is known of a blob.
select sha256, size, created_at, upload from blobs where sha256 = :sha256;

-- name: chunk
-- row: ChunkRow
-- One piece of an upload.
select bytes from chunks where upload = :upload and chunk = :chunk;

-- name: upload_named
-- row: UploadRow
-- A put under way.
select upload, chunks, size from uploads where upload = :upload;

-- name: upload_left_behind
-- row: UploadRow
-- The upload whose time ran out first.
select upload, chunks, size from uploads where expires_at <= :now order by expires_at limit 1;

-- name: last_chunks
-- row: Scalar
-- The numbers of an upload's last pieces, the last first.
select chunk as value from chunks where upload = :upload order by chunk desc limit :limit;

-- name: begin_upload
-- A put that is about to stage its first piece.
insert into uploads (upload, chunks, size, expires_at) values (:upload, :chunks, :size, :expires_at);

-- name: extend_upload
-- One piece more, if it is the next.
update uploads set chunks = chunks + 1, size = size + :size, expires_at = :expires_at
where upload = :upload and chunks = :chunk;

-- name: add_chunk
-- Keep a piece.
insert into chunks (upload, chunk, bytes) values (:upload, :chunk, :bytes);

-- name: expire_upload
-- Leave an upload to the sweep.
update uploads set expires_at = :now where upload = :upload;

-- name: shrink_upload
-- Note that the pieces from a number on are gone, so that nobody can publish the rest.
update uploads set chunks = :chunks where upload = :upload;

-- name: drop_chunks
-- Delete an upload's pieces from a number on.
delete from chunks where upload = :upload and chunk >= :chunk;

-- name: end_upload
-- The upload is published, or nothing is left of it.
delete from uploads where upload = :upload;

-- name: add_blob
-- From this instant the bytes can be read.
insert into blobs (sha256, size, created_at, upload) values (:sha256, :size, :now, :upload);

-- name: mend_blob
-- Let whole pieces take the place of damaged ones, unless somebody was quicker.
update blobs set upload = :upload where sha256 = :sha256 and upload is not distinct from :damaged;
