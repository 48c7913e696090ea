"""The clock of a store on PostgreSQL: the database's, which every node shares. (Contract §2.)"""

from __future__ import annotations

import threading

from tessera.limits import CLOCK_STEP_US
from tessera.runtime import Runtime


class Clock:
    """The instants of one process. They follow the database's clock, never falling behind what this process
    or the store has seen. Where it was put back, or another machine took over whose clock is behind, time
    goes on from there. (Small differences are those of two clocks, and do not add up.) Safe from any thread.
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
            goes_on = self.last + elapsed - self._last_elapsed
            put_back = goes_on - reading >= CLOCK_STEP_US
            self.last = max(reading, seen, goes_on if put_back else self.last)
            self._last_elapsed = elapsed
            return self.last


def _never() -> None:
    """The database's own clock counts."""
