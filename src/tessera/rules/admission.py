"""How many claims may be in the engine at once: enough to keep it busy, too few to make others wait for them.
Pure: instants and latencies are told.

The measure is how long claims take in the engine, against how long the disk takes for one sync. A claim waits
for the sync under way, then for its own: where it takes hardly more, the disk is what everybody waits for,
and one sync carries more claims as well, so more are let in. Where it takes longer, claims wait for each
other, and whoever else comes waits for them: fewer are. So the limit is large on a slow disk and small on a
quick one, and either way a heartbeat waits for little but the disk. Where the disk is so quick that nobody
waits for it, claims wait for the core, and as many are let in as keep commits large.
"""

from __future__ import annotations

from math import ceil
from typing import Final

from tessera.limits import (
    CLAIMS_AT_ONCE,
    CLAIMS_AT_ONCE_MAX,
    CLAIMS_AT_ONCE_MIN,
    RETRY_AFTER_SECONDS_MAX,
    SECOND_US,
)

SYNCS: Final = 2.8  # that a claim may take: the one under way, its own, and some time for the core
SLACK_US: Final = 1_500  # beyond them
SHORT_US: Final = 8_000  # what a claim may always take
GROW_FIRST: Final = 2.0  # what one judgement makes of the limit at most, until one has lowered it
GROW_MAX: Final = 1.125  # and from then on
SHRINK_MAX: Final = 0.5  # and at least
SAMPLES_MIN: Final = 8  # claims that a judgement is made of,
ROUNDS_MIN: Final = 3  # over so many times what one of them takes
FORGET_US: Final = SECOND_US  # without a claim that got something, what was learned is of another time


class Admission:
    """The limit, and what it was learned from."""

    def __init__(self) -> None:
        self._last_us = 0  # the last claim that was noted
        self._limit = float(CLAIMS_AT_ONCE)
        self._crowded = False
        self._forget()

    @property
    def took_us(self) -> float:
        """Microseconds that a claim took in the engine lately; 0 when unknown."""
        return self._took_us

    def limit(self, now_us: int) -> int:
        """How many claims may be in the engine now."""
        if self._has_learned and now_us - self._last_us > FORGET_US:
            self._forget()
        return int(self._limit)

    def note(self, now_us: int, took_us: int, sync_us: float, crowded: bool) -> None:
        """A claim that got something has been answered. It took so long in the engine, where a sync of the
        disk takes so long these days (0: unknown); `crowded` says whether more wanted to go in than were let
        in.
        """
        self.limit(now_us)
        self._last_us, self._has_learned = now_us, True
        if now_us - took_us < self._since_us:
            return  # it went in under another limit
        self._count += 1
        self._sum_us += took_us
        self._crowded = self._crowded or crowded
        took = self._sum_us / self._count
        if self._count >= max(SAMPLES_MIN, int(self._limit)) and now_us - self._since_us >= ROUNDS_MIN * took:
            self._took_us = took
            if sync_us and self._crowded:  # else the limit held nobody back: nothing was learned of it
                self._steer(max(SHORT_US, SYNCS * sync_us + SLACK_US) / took)
            self._begin_window(now_us)

    def wait_seconds(self, claims: int) -> int:
        """In how many whole seconds so many claims will have had their turn, by what was learned; from 1 to
        30.
        """
        rate = self._limit / self._took_us if self._took_us else 0.0  # by Little's law
        seconds = claims / rate / SECOND_US if rate else 1.0
        return min(RETRY_AFTER_SECONDS_MAX, max(1, ceil(seconds)))

    def _steer(self, room: float) -> None:
        """Move the limit towards where claims take as long as they may."""
        if room < 1:
            self._grow = GROW_MAX
            wanted = self._limit * max(SHRINK_MAX, room)
        else:
            wanted = max(self._limit + 1, self._limit * min(self._grow, room))
        self._limit = min(float(CLAIMS_AT_ONCE_MAX), max(float(CLAIMS_AT_ONCE_MIN), wanted))

    def _begin_window(self, now_us: int) -> None:
        self._since_us = now_us
        self._count = 0
        self._sum_us = 0.0
        self._crowded = False

    def _forget(self) -> None:
        self._limit = float(CLAIMS_AT_ONCE)
        self._grow = GROW_FIRST
        self._took_us = 0.0
        self._has_learned = False
        self._begin_window(0)
