-- name: topics_of_roles
-- row: RoleTopic
-- The topics that roles' claims go to, or one of them, and the accounts whose messages count there.
select topic_id, workspace_id, role_id, accounts from roles
where cast(:topic_id as text) is null or topic_id = :topic_id order by topic_id;

-- name: topics_of_role_id
-- row: RoleTopic
-- The topics of roles of this id, in one workspace or in any; two are enough to say that it is ambiguous.
select topic_id, workspace_id, role_id, accounts from roles
where role_id = :role_id and (cast(:workspace_id as text) is null or workspace_id = :workspace_id) order by workspace_id limit 2;

-- name: last_place
-- row: Scalar
-- The last row of a topic that a claim names.
select coalesce(max(sequence_number), 0) as value from claims
where topic_id = :topic_id and sequence_number is not null;

-- name: claims_placed
-- row: PlacedClaim
-- The claims whose messages stand in a topic after one number and up to another, with all that a message is made of.
select c.claim_id, c.state, c.workspace_id, w.secret, q.name as queue_id, c.role_id, t.task_id, c.agent_id,
  c.fencing_token, c.lease_seconds, c.idempotency_sha256, c.reserved_at, c.sequence_number, c.consensus_timestamp,
  c.running_hash, c.proof_status
from claims c cross join tasks t on t.serial = c.serial cross join queues q on q.queue = t.queue
  cross join workspaces w on w.workspace_id = c.workspace_id
where c.topic_id = :topic_id and c.sequence_number > :after and c.sequence_number <= :through
order by c.sequence_number limit :limit;

-- name: claims_known
-- row: Text
-- Those of some claim ids (a JSON array) that the store has.
select c.claim_id as value from json_each(:claim_ids) j cross join claims c on c.claim_id = j.value;

-- name: topics_pending
-- row: Text
-- The topics that have proofs to verify.
select distinct topic_id as value from claims where proof_status = 'pending' order by topic_id;

-- name: proofs_pending
-- row: PendingProof
-- The first proofs of a topic that are to be verified, by their place.
select claim_id, message, sequence_number, consensus_timestamp, running_hash from claims
where proof_status = 'pending' and topic_id = :topic_id and sequence_number > :after
order by sequence_number limit :limit;

-- name: verified_before
-- row: VerifiedPlace
-- The last place of a topic before a number that has been verified.
select sequence_number, consensus_timestamp, running_hash from claims
where topic_id = :topic_id and sequence_number < :before and proof_status = 'verified'
order by sequence_number desc limit 1;

-- name: verify_proof
-- A proof that has been verified, with its consensus time.
update claims set proof_status = 'verified', consensus_timestamp = :consensus_timestamp
where claim_id = :claim_id and proof_status = 'pending';
