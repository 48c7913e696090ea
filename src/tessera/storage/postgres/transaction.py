"""One verb's view of an open transaction on PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tessera.names import EVENT_NUMBER
from tessera.states import READY

if TYPE_CHECKING:
    from collections.abc import Callable

    from tessera.storage.postgres.writer import Writer


class PostgresTransaction:
    """Reads are answered at once; writes travel with what comes after them, and are looked at before the
    commit.
    """

    __slots__ = ("_writer", "now", "passed_over", "settled", "wrote")

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self.passed_over: set[int] = set()  # queues
        self.renew(0)

    def renew(self, settled: int) -> None:
        """Stand for the next verb, or for the same one again: at the instant of now, nothing written yet."""
        self.now = self._writer.now
        self.settled = settled
        self.wrote = False

    def one(self, name: str, /, **params: object) -> Any:
        assert not self.wrote, f"read {name} after the first write"
        return self._writer.one(name, params)

    def all(self, name: str, /, **params: object) -> list[Any]:
        assert not self.wrote, f"read {name} after the first write"
        return self._writer.all(name, params)

    def write(self, name: str, /, **params: object) -> None:
        self.wrote = True
        self._writer.write(name, params)

    def save(self, name: str, row: Any) -> None:
        self.save_all(name, [row])

    def save_all(self, name: str, rows: Sequence[Any]) -> None:
        self.wrote = True
        self._writer.save_all(name, rows)

    def count(self, queue: int, came_from: int | None, goes_to: int, tasks: int = 1) -> None:
        counts = self._writer.counts[queue]
        if came_from is not None:
            counts[came_from] -= tasks
        counts[goes_to] += tasks
        if goes_to == READY:
            self._writer.ready.add(queue)

    def event(
        self, type_name: str, queue: int | None = None, task_id: str | None = None, worker: str | None = None,
        fencing_token: int | None = None, key_id: str | None = None, data: str | None = None,
    ) -> None:  # fmt: skip
        self._writer.events.append(
            (self.now, EVENT_NUMBER[type_name], queue, task_id, worker, fencing_token, key_id, data)
        )

    def alarm(self, queue: int, at: int) -> None:
        """Another node may make something fall due, so nobody here keeps a timer."""

    def quiet(self, queue: int) -> bool:
        """Nobody here keeps a timer; but what others are about to settle need not be waited for."""
        return queue in self.passed_over

    def pass_over(self, queue: int) -> None:
        self.passed_over.add(queue)

    def quiet_until(self, queue: int, at: int) -> None:
        """Nobody here keeps a timer."""

    def ready(self, queue: int) -> None:
        self._writer.ready.add(queue)

    def after_commit(self, tell: Callable[[], None]) -> None:
        self._writer.after.append(tell)
