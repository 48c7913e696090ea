"""What the room's statements answer with: one struct per kind of row, fields in the columns' order.

Times are milliseconds since 1970, as the wire has them. States are words of `states.py`.
"""

from __future__ import annotations

from tessera.rows import Row, Scalar, Text

__all__ = ["AttemptRow", "Count", "Due", "EndpointRow", "EventRow", "MessageRow", "Scalar", "Text"]


class EndpointRow(Row, frozen=True):
    """A place that wakes can be written to; one row for each registration."""

    endpoint_id: str
    name: str
    kind: str
    target: str
    harness: str
    repos: str
    ack_mode: str
    max_attempts: int
    ack_timeout_ms: int
    state: str
    reason: str | None
    activity: str
    owner_pid: int | None
    owner_start: str | None
    resume_sha256: str
    registered_at: int
    last_seen: int
    away_since: int | None


class MessageRow(Row, frozen=True):
    """One wake and how its delivery stands."""

    seq: int
    message_id: str
    client_id: str
    idempotency_key: str
    correlation_id: str | None
    sender_repo: str
    target_repo: str
    provenance: str | None
    metadata: str
    body: str
    endpoint_id: str
    ack_mode: str
    max_attempts: int
    ack_timeout_ms: int
    state: str
    attempt_count: int
    total_attempts: int
    retry_count: int
    next_attempt_at: int | None
    ack_deadline_at: int | None
    lease_id: str | None
    lease_expires_at: int | None
    deferred_reason: str | None
    deferred_since: int | None
    last_failure_reason: str | None
    created_at: int
    updated_at: int
    acknowledged_at: int | None
    ack_source: str | None
    ack_by: str | None
    ack_note: str | None
    ack_late: int


class AttemptRow(Row, frozen=True):
    """One delivery lease: how far it came and how it ended."""

    message_id: str
    n: int
    endpoint_id: str
    lease_id: str
    phase: str
    started_at: int
    ended_at: int | None
    outcome: str | None
    reason: str | None


class EventRow(Row, frozen=True):
    """One line of the room's log."""

    seq: int
    at: int
    type: str
    message_id: str | None
    endpoint_id: str | None
    data: str


class Due(Row, frozen=True):
    """An endpoint with a wake that is due."""

    endpoint_id: str
    state: str


class Count(Row, frozen=True):
    """How many there are of something."""

    name: str
    number: int
