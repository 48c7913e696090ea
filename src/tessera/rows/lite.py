"""What statements about workspaces and their claims answer with. Lists are JSON arrays."""

from __future__ import annotations

from tessera.rows.base import Row


class WorkspaceRow(Row, frozen=True):
    """A workspace, and the secret that its commitments are made under, in hex."""

    workspace_id: str
    name: str
    secret: str
    created_at: int


class RoleRow(Row, frozen=True):
    """A role of a workspace."""

    workspace_id: str
    role_id: str
    name: str
    topic_id: str
    lease_seconds: int | None
    accounts: str


class AgentRow(Row, frozen=True):
    """An agent of a workspace."""

    workspace_id: str
    agent_id: str
    role_ids: str
    capabilities: str
    active: int


class RequirementRow(Row, frozen=True):
    """What a task of a queue asks of whoever claims it."""

    requirement: int
    queue: int
    role_id: str
    capabilities: str


class ClaimRow(Row, frozen=True):
    """An attempt to win a task; its proof once the log has its message."""

    claim_id: str
    workspace_id: str
    serial: int
    fencing_token: int
    role_id: str
    agent_id: str
    key_id: str | None
    target: str
    lease_seconds: int
    idempotency_sha256: str
    state: int
    reserved_at: int
    settled_at: int | None
    event_id: str | None
    message: str
    topic_id: str
    after_sequence: int
    sequence_number: int | None
    consensus_timestamp: str | None
    running_hash: str | None
    transaction_id: str | None
    proof_status: str | None


class ClaimShown(ClaimRow, frozen=True):
    """The same with the public names of its task and queue."""

    task_id: str
    queue_id: str


class RequestRow(Row, frozen=True):
    """What a claim-next was asked, and answered, under its key."""

    workspace_id: str
    agent_id: str
    target: str
    idempotency_sha256: str
    body_sha256: str
    claim_id: str | None
    answer: str | None
    until: int
