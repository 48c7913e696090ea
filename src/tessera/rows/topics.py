"""What statements about topics answer with."""

from __future__ import annotations

from tessera.rows.base import Row


class TopicRow(Row, frozen=True):
    """How far this store knows a topic (nothing of a new one), and what its next message needs."""

    sequence_number: int | None
    running_hash: bytes | None
    latest_ns: int | None  # the last consensus time of all topics
    store_id: str


class TopicMessageRow(Row, frozen=True):
    """One message of a topic."""

    sequence_number: int
    consensus_ns: int
    payer: str
    message: bytes
    running_hash: bytes


class RoleTopic(Row, frozen=True):
    """A role's topic, and the accounts whose messages count there, as a JSON array."""

    topic_id: str
    workspace_id: str
    role_id: str
    accounts: str


class PlacedClaim(Row, frozen=True):
    """A claim whose message stands in a topic: all that the message is made of, and where it stands."""

    claim_id: str
    state: int
    workspace_id: str
    secret: str
    queue_id: str
    role_id: str
    task_id: str
    agent_id: str
    fencing_token: int
    lease_seconds: int
    idempotency_sha256: str
    reserved_at: int
    sequence_number: int
    consensus_timestamp: str | None
    running_hash: str
    proof_status: str


class PendingProof(Row, frozen=True):
    """A proof that is to be verified."""

    claim_id: str
    message: str
    sequence_number: int
    consensus_timestamp: str | None
    running_hash: str


class VerifiedPlace(Row, frozen=True):
    """A place of a topic that has been verified."""

    sequence_number: int
    consensus_timestamp: str
    running_hash: str
