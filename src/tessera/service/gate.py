"""The gate of new claims. So many are in the engine at once; the others stand in line, in order, for a
bounded time and in bounded number. Heartbeats, submits and key checks do not pass here, so they never queue
behind claims.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tessera.errors import RateLimited, TesseraError, Unavailable
from tessera.rules.buckets import Buckets
from tessera.runtime import Runtime

_MINUTE = 60


class Gate:
    """Who may claim now, and how many claims wait, here or for work."""

    def __init__(
        self, runtime: Runtime, at_once: int, pending_max: int, seconds_max: float, per_minute: int | None
    ) -> None:
        self._now_us = runtime.elapsed_us
        self._at_once = at_once
        self._pending_max = pending_max
        self._seconds_max = seconds_max
        self._quota = None if per_minute is None else Buckets(per_minute, _MINUTE / per_minute)
        self._running = 0
        self._line: deque[tuple[asyncio.Future[None], int]] = deque()
        self._parked = 0
        self._stopping = False

    def stop(self) -> None:
        """Let nobody in any more, and send away who stands in line."""
        self._stopping = True
        while self._line:
            self._refuse(self._line.popleft()[0], _stopping())

    def count(self, key_id: str | None) -> None:
        """Refuse a claim beyond the operator's quota for one key, if there is one."""
        if self._quota is None:
            return
        seconds = self._quota.take(key_id or "", self._now_us())
        if seconds is not None:
            raise RateLimited("the key has used up its claims for now", retry_after_seconds=seconds)

    async def enter(self, claims: int) -> None:
        """Take places in the engine for so many claims: at once, after a wait, or never; `leave` gives them
        back. A batch that is larger than the engine's share goes in once anything is free. Refuses with
        `rate_limited` when the line is full or the wait was too long, with `unavailable` when the service
        stops.
        """
        if self._stopping:
            raise _stopping()
        if self._running >= self._at_once or self._line:
            await self._stand_in_line(claims)
        else:
            self._running += claims

    def leave(self, claims: int) -> None:
        """Give the places to the next in line."""
        self._running -= claims
        self._let_in()

    @asynccontextmanager
    async def parked(self) -> AsyncIterator[None]:
        """One of the places for claims that wait for work."""
        if self._stopping:
            raise _stopping()
        self._refuse_beyond()
        self._parked += 1
        try:
            yield
        finally:
            self._parked -= 1

    async def _stand_in_line(self, claims: int) -> None:
        self._refuse_beyond()
        loop = asyncio.get_running_loop()
        place: asyncio.Future[None] = loop.create_future()
        self._line.append((place, claims))
        deadline = loop.call_later(
            self._seconds_max, self._refuse, place, RateLimited("the claim waited too long for its turn")
        )
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled() and place.exception() is None:
                self.leave(claims)  # it was let in, and is not there any more
            raise
        finally:
            deadline.cancel()

    def _let_in(self) -> None:
        while self._line and self._running < self._at_once:
            place, claims = self._line.popleft()
            if not place.done():
                self._running += claims
                place.set_result(None)

    def _refuse_beyond(self) -> None:
        if len(self._line) + self._parked >= self._pending_max:
            raise RateLimited("too many claims are waiting")

    @staticmethod
    def _refuse(place: asyncio.Future[None], refusal: TesseraError) -> None:
        if not place.done():
            place.set_exception(refusal)


def _stopping() -> TesseraError:
    return Unavailable("the service is stopping", definite=True)
