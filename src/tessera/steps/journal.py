"""Lines of the event log. `data` names things; it never holds a brief, an input, an output, an error or a
reason. (Specification §5.5.)
"""

from __future__ import annotations

from tessera.rows import TaskRow
from tessera.storage.port import Transaction


def note(tx: Transaction, event: str, task: TaskRow, key_id: str | None, data: str | None = None) -> None:
    """One line about a task, under the worker and token of its row and the key of whoever acted; `data` is a
    JSON text.
    """
    tx.event(event, task.queue, task.task_id, task.worker, task.fencing_token or None, key_id, data)
