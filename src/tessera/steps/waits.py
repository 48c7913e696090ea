"""When to come back to a queue that has nothing."""

from __future__ import annotations

from tessera.limits import RETRY_AFTER_SECONDS_MAX, SECOND_US
from tessera.rows import QueueRow
from tessera.storage.port import Transaction


def seconds_until_due(tx: Transaction, queue: QueueRow) -> int:
    """Whole seconds until time next moves something in a queue: at least one, at most half a minute."""
    due = tx.one("earliest_due", queue=queue.queue).value
    if due is None:
        return RETRY_AFTER_SECONDS_MAX
    return max(1, min(RETRY_AFTER_SECONDS_MAX, -((tx.now - due) // SECOND_US)))
