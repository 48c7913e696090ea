"""What a wake becomes: pure functions of the row as it was read and of `now` in milliseconds.

Each returns the new row; `deliveries.py` looks the transition up in `states.py`, stores the row and notes the
event. (Adapter contract, "Message and delivery states".)
"""

from __future__ import annotations

from msgspec.structs import replace

from tessera.wake import states
from tessera.wake.limits import DEFER_MS_MAX, LEASE_MS, RETRY_MS
from tessera.wake.rows import EndpointRow, MessageRow


def retry_delay_ms(attempts: int) -> int:
    """How long after the nth failed attempt the next one waits."""
    return RETRY_MS[min(max(attempts, 1), len(RETRY_MS)) - 1]


def deferred(row: MessageRow, now: int, reason: str) -> MessageRow:
    """Not ready: nothing is counted. Time with a human at the keys does not add up to a failure."""
    since = None if reason in states.HUMAN else row.deferred_since or now
    if (row.deferred_reason, row.deferred_since) == (reason, since):
        return row
    return replace(row, deferred_reason=reason, deferred_since=since, updated_at=now)


def deferred_too_long(row: MessageRow, now: int) -> bool:
    """Whether "not ready" has lasted so long that it counts as a failed attempt."""
    return row.deferred_since is not None and now - row.deferred_since >= DEFER_MS_MAX


def claimed(row: MessageRow, now: int, lease_id: str) -> MessageRow:
    """A writer takes the wake: one attempt more, a lease, before anything is typed."""
    return replace(
        row, attempt_count=row.attempt_count + 1, total_attempts=row.total_attempts + 1, lease_id=lease_id,
        lease_expires_at=now + LEASE_MS, deferred_reason=None, deferred_since=None, updated_at=now,
    )  # fmt: skip


def written(row: MessageRow, now: int) -> MessageRow:
    """The text stands submitted in the terminal."""
    free = replace(row, lease_id=None, lease_expires_at=None, next_attempt_at=None, updated_at=now)
    if row.ack_mode == "injected":
        return replace(free, state=states.INJECTED)
    return replace(free, state=states.AWAITING_ACK, ack_deadline_at=now + row.ack_timeout_ms)


def failed(row: MessageRow, now: int, reason: str) -> MessageRow:
    """An attempt came to nothing: again later, or never again by itself."""
    free = replace(
        row, lease_id=None, lease_expires_at=None, ack_deadline_at=None, deferred_reason=None,
        deferred_since=None, last_failure_reason=reason, updated_at=now,
    )  # fmt: skip
    if row.attempt_count >= row.max_attempts:
        return replace(free, state=states.FAILED, next_attempt_at=None)
    return replace(free, state=states.PENDING, next_attempt_at=now + retry_delay_ms(row.attempt_count))


def unanswered(row: MessageRow, now: int) -> MessageRow:
    """The acknowledgement did not come: the deadline was the wait, so the wake is due again at once."""
    after = failed(row, now, "ack_timeout")
    return replace(after, next_attempt_at=now) if after.state == states.PENDING else after


def acknowledged(row: MessageRow, now: int, source: str, by: str | None, note: str | None) -> MessageRow:
    """The recipient says so: that wins over everything, also late."""
    return replace(
        row, state=states.ACKNOWLEDGED, acknowledged_at=now, ack_source=source, ack_by=by, ack_note=note,
        ack_late=int(row.state == states.FAILED), lease_id=None, lease_expires_at=None, next_attempt_at=None,
        ack_deadline_at=None, deferred_reason=None, deferred_since=None, updated_at=now,
    )  # fmt: skip


def retried(row: MessageRow, now: int) -> MessageRow:
    """An operator starts a failed wake's attempts anew."""
    return replace(
        row, state=states.PENDING, attempt_count=0, retry_count=row.retry_count + 1, next_attempt_at=now,
        updated_at=now,
    )  # fmt: skip


def rebound(row: MessageRow, now: int, endpoint: EndpointRow) -> MessageRow:
    """The same wake, for the endpoint that took the place of one that is no longer live. Its attempts stay
    counted, and a failed one stays failed.
    """
    moved = replace(
        row, endpoint_id=endpoint.endpoint_id, ack_mode=endpoint.ack_mode,
        max_attempts=endpoint.max_attempts, ack_timeout_ms=endpoint.ack_timeout_ms, ack_deadline_at=None,
        deferred_reason=None, deferred_since=None, updated_at=now,
    )  # fmt: skip
    if row.state == states.FAILED:
        return moved
    return replace(moved, state=states.PENDING, next_attempt_at=now)


def may_rebind_from(endpoint: EndpointRow | None, now: int, ttl_ms: int) -> bool:
    """Whether a wake may leave this endpoint: it has ended, or was away for longer than it may."""
    if endpoint is None or endpoint.state in states.ENDED:
        return True
    away = endpoint.away_since
    return endpoint.state == states.STALE and away is not None and now - away > ttl_ms
