"""One verb's view of an open transaction on PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tessera.storage.gathered import GatheringTransaction

if TYPE_CHECKING:
    from tessera.storage.postgres.writer import Writer


class PostgresTransaction(GatheringTransaction):
    """Reads are answered at once; writes travel with what comes after them, and are looked at before the
    commit.
    """

    __slots__ = ("_writer",)

    def __init__(self, writer: Writer) -> None:
        super().__init__(writer.gathered)
        self._writer = writer
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

    def alarm(self, queue: int, at: int) -> None:
        """Another node may make something fall due, so nobody here keeps a timer."""

    def quiet(self, queue: int) -> bool:
        """Nobody here keeps a timer; but what others are about to settle need not be waited for."""
        return queue in self.passed_over

    def quiet_until(self, queue: int, at: int) -> None:
        """Nobody here keeps a timer."""
