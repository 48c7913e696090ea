"""The clock of a SQLite store: wall time that never runs backwards. (Contract §2.)"""

from __future__ import annotations

import threading

from tessera.runtime import Runtime


class Clock:
    """`max(wall clock, last instant + elapsed)`: a wall clock that steps back is outlived by the monotonic
    one, so a lapsed lease never revives. Safe from any thread.
    """

    def __init__(self, runtime: Runtime) -> None:
        self._now_us = runtime.now_us
        self._elapsed_us = runtime.elapsed_us
        self._lock = threading.Lock()
        self._last = 0
        self._last_elapsed = runtime.elapsed_us()

    def instant(self) -> int:
        """Now, in microseconds since 1970."""
        with self._lock:
            elapsed, now = self._elapsed_us(), self._now_us()
            least = self._last + elapsed - self._last_elapsed
            self._last = now = least if now < least else now
            self._last_elapsed = elapsed
            return now

    def outlive(self, instant: int) -> None:
        """Never be before this instant: the store has seen it, in an earlier run or another process."""
        with self._lock:
            elapsed = self._elapsed_us()
            self._last = max(instant, self._last + elapsed - self._last_elapsed)
            self._last_elapsed = elapsed
