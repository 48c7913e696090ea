"""When to come back to a queue that has nothing."""

from __future__ import annotations

from tessera.limits import RETRY_AFTER_SECONDS_MAX, SECOND_US
from tessera.rows import QueueRow
from tessera.storage.port import Transaction


def seconds_until_due(tx: Transaction, queue: QueueRow) -> int:
    """Whole seconds until time next moves something in a queue: at least one, at most half a minute."""
    return seconds_until(tx.one("earliest_due", queue=queue.queue).value, tx.now)


def seconds_until(instant: int | None, now: int) -> int:
    """The same until an instant; None: none is known."""
    if instant is None:
        return RETRY_AFTER_SECONDS_MAX
    return max(1, min(RETRY_AFTER_SECONDS_MAX, -((now - instant) // SECOND_US)))
