-- What a step of a claim locks before it decides: the claim, and what its key was answered.

-- name: claim_named
-- A claim that is about to be settled, or to be told of.
select c.state from claims c where c.claim_id = :claim_id for no key update;

-- name: request_keyed
-- A call that may be under way elsewhere.
select r.until from claim_requests r
where r.workspace_id = :workspace_id and r.agent_id = :agent_id and r.target = :target
  and r.idempotency_sha256 = :idempotency_sha256
for no key update;
