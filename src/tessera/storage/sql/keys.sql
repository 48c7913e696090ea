-- name: key_hashed
-- row: KeyRow
-- The key behind a bearer secret.
select key_id, name, grant_json, created_at, expires_at, revoked_at from keys where key_sha256 = :key_sha256;

-- name: key_named
-- row: KeyRow
-- One key.
select key_id, name, grant_json, created_at, expires_at, revoked_at from keys where key_id = :key_id;

-- name: keys_page
-- row: KeyRow
-- A page of the keys, oldest first: their ids sort by when they were made.
select key_id, name, grant_json, created_at, expires_at, revoked_at from keys
where key_id > :after order by key_id limit :limit;

-- name: key_standing
-- row: StandingRow
-- remembered until: add_key, revoke_key
-- Whether a key still counts.
select expires_at, revoked_at from keys where key_id = :key_id;

-- name: add_key
-- Store a key's hash and grant.
insert into keys (key_id, key_sha256, name, grant_json, created_at, expires_at)
values (:key_id, :key_sha256, :name, :grant_json, :now, :expires_at);

-- name: revoke_key
-- From this instant a key counts no more.
update keys set revoked_at = :now where key_id = :key_id and revoked_at is null;

-- name: approval_hashed
-- row: ApprovalRow
-- The approval behind a token.
select grant_json, expires_at, key_id from approvals where approval_sha256 = :approval_sha256;

-- name: add_approval
-- Store an approval's hash and the grant it is for.
insert into approvals (approval_sha256, grant_json, created_at, expires_at)
values (:approval_sha256, :grant_json, :now, :expires_at);

-- name: consume_approval
-- An approval serves one key.
update approvals set key_id = :key_id where approval_sha256 = :approval_sha256 and key_id is null;
