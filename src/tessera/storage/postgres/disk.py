"""What is answered would survive a power cut, and the loss of the primary where commits wait for a standby.

Transactions commit without waiting for the disk, so that the log of the store, which one transaction at a time
may append to, is never held for as long as a disk takes. Nobody is answered then, though: whoever has seen
something that may not be on disk yet, be it his own, waits for a transaction that comes after it and is
synchronous. Those that wait at the same time, on whichever node, share a sync.
"""

from __future__ import annotations

from typing import Any

import psycopg

from tessera.storage.postgres.connection import Connection, Prepared, UnknownOutcome

Cursor = psycopg.Cursor[tuple[Any, ...]]
NOT_REPLICATED = "committed, but a standby that commits wait for has not confirmed it: ask again"


class Disk:
    """How much of the database's log is known, in this process, to be where it is safe."""

    def __init__(self, reached: Prepared, reach: Prepared) -> None:
        self._reached = reached
        self._reach = reach
        self._safe = 0

    def look(self, connection: Connection) -> Cursor:
        """Ask how far the log is, along with other things; `is_safe` takes the answer."""
        return connection.execute(self._reached.text)

    def is_safe(self, looked: Cursor) -> bool:
        """Whether all that could be seen when `look` was asked is safe."""
        (reached,) = self._reached.rows_of(looked)
        if reached.flushed >= reached.written:
            self._safe = max(self._safe, reached.flushed)
        return bool(reached.written <= self._safe)

    def reach(self, connection: Connection) -> Cursor:
        """Ask for all that was committed before to be made safe; `is_reached` takes the answer."""
        return connection.execute(self._reach.text)

    def is_reached(self, asked: Cursor, warnings: list[str]) -> None:
        """Note that it is. Raises `UnknownOutcome` if the database has warned meanwhile: it does so when it
        has given up waiting for a standby, and what was committed is on one disk only.
        """
        (found,) = self._reach.rows_of(asked)
        if warnings:
            raise UnknownOutcome(NOT_REPLICATED, definite=False)
        self._safe = max(self._safe, found.value)
