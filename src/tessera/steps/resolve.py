"""A task has ended: what waited for it counts one less, and starts when nothing is left to wait for.

Two halves, because a verb reads before it writes: `awaiting` first, `release` after.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from tessera.canonical import json_text
from tessera.rows import TaskRow
from tessera.rules import moves
from tessera.states import CHILDREN, WAITING
from tessera.steps import tasks
from tessera.storage.port import Transaction


class Waiter(Struct, frozen=True):
    """A waiting task, and how much of its wait is about to be over."""

    task: TaskRow
    children: int
    dependencies: int


def awaiting(tx: Transaction, ended: Iterable[TaskRow]) -> list[Waiter]:
    """The waiting tasks that some tasks, about to end, hold back. Most tasks hold back none, and know it."""
    return awaiting_any(tx, [task.serial for task in ended if task.parent is not None or task.dependents])


def awaiting_any(tx: Transaction, serials: list[int]) -> list[Waiter]:
    """The same for tasks known by their serials only."""
    if not serials:
        return []
    return [
        Waiter(tx.one("task_numbered", serial=held.serial), held.children, held.dependencies)
        for held in tx.all("awaiting", serials=json_text(serials))
    ]


def release(tx: Transaction, waiters: list[Waiter]) -> None:
    """Count what has ended for each of them; make ready those that nothing holds back any more."""
    for waiter in waiters:
        task = waiter.task
        after = moves.resolved(task, tx.now, waiter.children, waiter.dependencies)
        if after.state == WAITING:
            tasks.save(tx, after)
        else:
            event = "parent_ready" if task.wait_reason == CHILDREN else "dependencies_met"
            tasks.move(tx, task, after, event, None)
