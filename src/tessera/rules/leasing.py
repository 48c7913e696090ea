"""How long a lease lives. Pure: settings and an instant in, instants out. (Specification §5.2.)"""

from __future__ import annotations

from tessera.limits import SECOND_US
from tessera.rows import QueueRow


def deadlines(queue: QueueRow, now: int) -> tuple[int, int]:
    """(expires_at, hard_expires_at) of a lease granted now."""
    hard = now + queue.lease_seconds * SECOND_US
    return extended(queue, now, hard), hard


def extended(queue: QueueRow, now: int, hard_expires_at: int) -> int:
    """The next deadline after a sign of life: never past the hard one."""
    return min(now + queue.heartbeat_seconds * queue.miss_limit * SECOND_US, hard_expires_at)
