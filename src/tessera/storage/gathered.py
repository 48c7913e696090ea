"""What the verbs of one transaction note besides what they write: counts and lines of the log, which the
engine writes once before the commit, and who is to be told after it. The same on every engine.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any

from tessera.names import EVENT_NUMBER, EVENT_TYPES
from tessera.states import READY, STATES
from tessera.storage.port import News

EVENT_FIELDS = ("at", "type", "queue", "task_id", "worker", "fencing_token", "key_id", "data")


class Gathered:
    """The notes of one writer, for one open transaction at a time."""

    __slots__ = ("_due", "after", "counts", "events", "ready")

    def __init__(self) -> None:
        self.counts: dict[int, list[int]] = defaultdict(lambda: [0] * len(STATES))  # queue -> change by state
        self.events: list[tuple[Any, ...]] = []  # by EVENT_FIELDS
        self.ready: set[int] = set()  # queues that gained a task to claim
        self.after: list[Callable[[], None]] = []  # to be called once it is committed
        self._due: list[Callable[[], None]] = []  # those of transactions that are

    def clear(self) -> None:
        """Forget what was noted: the transaction is over."""
        self.counts.clear()
        self.events.clear()
        self.ready.clear()
        self.after.clear()

    def committed(self) -> None:
        """Forget it but for whom to call, who will be called whatever becomes of the next transaction."""
        self._due += self.after
        self.clear()

    def to_call(self) -> list[Callable[[], None]]:
        """Whom to call now, each once. A call may run the next verb, which notes calls of its own."""
        due, self._due = self._due, []
        return due

    def news(self, name_of: Callable[[int], str], *, foreign: bool = False) -> News:
        """The news of the transaction; `name_of` tells a queue's name by its number."""
        return News(
            ready=frozenset(name_of(queue) for queue in self.ready),
            events=[(EVENT_TYPES[event[1]], event[3]) for event in self.events],
            foreign=foreign,
        )


class GatheringTransaction:
    """The part of a verb's transaction that only takes notes."""

    __slots__ = ("_after", "_counts", "_events", "_ready", "now", "passed_over", "settled", "wrote")

    now: int
    settled: int
    wrote: bool

    def __init__(self, gathered: Gathered) -> None:
        self._counts = gathered.counts
        self._events = gathered.events
        self._ready = gathered.ready
        self._after = gathered.after
        self.passed_over: set[int] = set()  # queues, by this verb

    def count(self, queue: int, came_from: int | None, goes_to: int, tasks: int = 1) -> None:
        counts = self._counts[queue]
        if came_from is not None:
            counts[came_from] -= tasks
        counts[goes_to] += tasks
        if goes_to == READY:
            self._ready.add(queue)

    def event(
        self, type_name: str, queue: int | None = None, task_id: str | None = None, worker: str | None = None,
        fencing_token: int | None = None, key_id: str | None = None, data: str | None = None,
    ) -> None:  # fmt: skip
        self._events.append(
            (self.now, EVENT_NUMBER[type_name], queue, task_id, worker, fencing_token, key_id, data)
        )

    def ready(self, queue: int) -> None:
        self._ready.add(queue)

    def pass_over(self, queue: int) -> None:
        self.passed_over.add(queue)

    def after_commit(self, tell: Callable[[], None]) -> None:
        self._after.append(tell)
