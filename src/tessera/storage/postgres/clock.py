"""The clock of a store on PostgreSQL: the database's, which every node shares. (Contract §2.)"""

from __future__ import annotations

import threading

from tessera.runtime import Runtime


class Clock:
    """The instants of one process. They follow the database's clock as long as that goes forward; where it
    was put back, or another machine took over whose clock is behind, time goes on from the last instant of
    the log or of this process. Safe from any thread.
    """

    def __init__(self, runtime: Runtime) -> None:
        self._elapsed_us = runtime.elapsed_us
        self._lock = threading.Lock()
        self.last = 0  # the latest instant that this process has given
        self._last_elapsed = runtime.elapsed_us()
        self.scripted = runtime.now_us if runtime.scripted else _never

    def instant(self, reading: int, seen: int) -> int:
        """The instant of a transaction that has read the clock, and in the log a last instant."""
        with self._lock:
            elapsed = self._elapsed_us()
            if reading < max(seen, self.last):
                reading = max(seen, self.last + elapsed - self._last_elapsed)
            self.last, self._last_elapsed = reading, elapsed
            return reading


def _never() -> None:
    """The database's own clock counts."""
