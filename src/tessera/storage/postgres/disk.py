"""What is answered would survive a power cut, and the loss of the primary where commits wait for a standby.

Transactions commit without waiting for the disk, so that the log of the store, which one transaction at a
time may append to, is never held for as long as a disk takes. Nobody is answered then, though: whoever has
seen something that may not be on disk yet, be it his own, waits for a transaction that comes after it and is
synchronous. Those that wait at the same time, on whichever node, share a sync.
"""

from __future__ import annotations

from tessera.storage.postgres.connection import Prepared, UnknownOutcome
from tessera.storage.postgres.link import Asked, Link

NOT_REPLICATED = "committed, but a standby that commits wait for has not confirmed it: ask again"


class Disk:
    """How much of the database's log is known, in this process, to be where it is safe."""

    def __init__(self, reached: Prepared, reach: Prepared) -> None:
        self._reached = reached
        self._reach = reach
        self._safe = 0

    def look(self, link: Link) -> Asked:
        """Ask how far the log is, along with other things; `is_safe` takes the answer."""
        return link.ask(self._reached)

    def is_safe(self, looked: Asked) -> bool:
        """Whether all that could be seen when `look` was asked is safe."""
        reached = looked.only()
        if reached.flushed >= reached.written:
            self._safe = max(self._safe, reached.flushed)
        return bool(reached.written <= self._safe)

    def secure(self, link: Link) -> None:
        """Ask for all that was committed before to be made safe, and wait for that along with other things.
        Raises `UnknownOutcome` if the database has warned meanwhile: it does so when it has given up waiting
        for a standby, and what was committed is on one disk only.
        """
        link.connection.warnings.clear()
        reached = link.run(self._reach).only()
        if link.connection.warnings:
            raise UnknownOutcome(NOT_REPLICATED, definite=False)
        self._safe = max(self._safe, reached.value)
