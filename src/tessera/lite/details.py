"""What a claim that won is told. Called once claim and proof are stored, or by the transaction that stores
them.
"""

from __future__ import annotations

from tessera.models import Claimed, Proof
from tessera.rows import ClaimRow, TaskRow
from tessera.runtime import rfc3339
from tessera.steps import details, leases
from tessera.steps.briefs import Brief
from tessera.storage.port import Transaction


def claimed(tx: Transaction, task: TaskRow, claim: ClaimRow, brief: Brief) -> Claimed:
    """The lease that a claim has won, with the task's details and the proof. Of a brief that was damaged
    since it was first handed out there is nothing to tell.
    """
    told = details.or_nothing(brief.text)
    contents = leases.contents(tx, task, brief)
    proof = proof_of(claim)
    assert task.expires_at is not None
    assert proof is not None
    assert claim.event_id is not None
    return Claimed(
        task_id=task.task_id,
        claim_id=claim.claim_id,
        event_id=claim.event_id,
        title=told.title,
        brief=told.brief,
        input=told.input,
        fencing_token=task.fencing_token,
        lease_expires_at=rfc3339(task.expires_at),
        proof=proof,
        children=contents.children,
        dependencies=contents.dependencies,
        inputs=contents.inputs,
    )


def proof_of(claim: ClaimRow) -> Proof | None:
    """Where a claim's message stands in the log, if it does."""
    if claim.sequence_number is None:
        return None
    assert claim.running_hash is not None
    assert claim.transaction_id is not None
    return Proof(
        status="verified" if claim.proof_status == "verified" else "pending",
        topic_id=claim.topic_id,
        sequence_number=claim.sequence_number,
        consensus_timestamp=claim.consensus_timestamp,
        running_hash=claim.running_hash,
        transaction_id=claim.transaction_id,
    )
