"""The gate of claims. As many are in the engine at once as `rules.admission` finds good; the others stand in
line, for a bounded time and in bounded number, and every key's claims move on at the same speed. Heartbeats,
submits, cancels and key checks do not pass here, so they never queue behind claims.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

from msgspec import Struct

from tessera.errors import RateLimited, TesseraError, Unavailable
from tessera.rules.admission import Admission
from tessera.rules.buckets import Buckets
from tessera.rules.turns import Turns
from tessera.runtime import Runtime
from tessera.storage.meter import Meter

_MINUTE = 60
QUOTA, FULL, LATE = "quota", "full", "late"  # why a claim was refused


class Turn(Struct):
    """A claim, or a batch of them, in the engine."""

    claims: int
    since_us: int  # when it went in


class Gate:
    """Who may claim now, and how many claims wait, here or for work."""

    def __init__(
        self, runtime: Runtime, meter: Meter, pending_max: int, seconds_max: float, per_minute: int | None
    ) -> None:
        self._now_us = runtime.elapsed_us
        self._meter = meter
        self._pending_max = pending_max
        self._seconds_max = seconds_max
        self._quota = None if per_minute is None else Buckets(per_minute, _MINUTE / per_minute)
        self._admission = Admission()
        self._line: Turns[tuple[asyncio.Future[Turn], int]] = Turns()
        self._stopping = False
        self.running = 0  # claims in the engine
        self.standing = 0  # claims and batches that wait for their turn
        self.parked = 0  # claims and looks that wait for something to come
        self.refused: Counter[str] = Counter()  # claims, by why

    @property
    def limit(self) -> int:
        """How many claims may be in the engine now."""
        return self._admission.limit(self._now_us())

    def stop(self) -> None:
        """Let nobody in any more, and send away who stands in line."""
        self._stopping = True
        while (one := self._line.next()) is not None:
            _refuse(one[0], _stopping())

    def count(self, key_id: str | None) -> None:
        """Refuse a claim beyond the operator's quota for one key, if there is one."""
        if self._quota is None:
            return
        seconds = self._quota.take(key_id or "", self._now_us())
        if seconds is not None:
            self.refused[QUOTA] += 1
            raise RateLimited("the key has used up its claims for now", retry_after_seconds=seconds)

    async def enter(self, key_id: str | None, claims: int, *, parked: bool = False) -> Turn:
        """The same as `place`, waited for."""
        place = self.place(key_id, claims, parked=parked)
        if isinstance(place, Turn):
            return place
        try:
            return await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled() and place.exception() is None:
                self.leave(place.result(), got=False)  # it was let in, and is not there any more
            raise

    def place(self, key_id: str | None, claims: int, *, parked: bool = False) -> Turn | asyncio.Future[Turn]:
        """Take places in the engine for so many claims: at once, or after a wait; `leave` gives them back.
        A batch that is larger than the engine's share goes in once anything is free. Refuses with
        `rate_limited`, as the future may, when the wait was too long, or the line is full and the claim is
        not one that has its place among the parked; with `unavailable` when the service stops.
        """
        if self._stopping:
            raise _stopping()
        if self.standing or self.running >= self.limit:
            if not parked:
                self._refuse_beyond()
            return self._stand_in_line(key_id or "", claims)
        return self._begin(claims)

    def leave(self, turn: Turn, *, got: bool) -> int:
        """Give the places to the next in line; how many microseconds the claim was in the engine. `got` says
        whether it got something, for one that did not may not have waited for the disk.
        """
        self.running -= turn.claims
        now_us = self._now_us()
        took_us = now_us - turn.since_us
        if got:
            self._admission.note(now_us, took_us, self._meter.sync_us, self.standing > 0)
        self._let_in()
        return took_us

    @asynccontextmanager
    async def waiting(self) -> AsyncIterator[None]:
        """One of the places for claims that wait for work."""
        if self._stopping:
            raise _stopping()
        self._refuse_beyond()
        self.parked += 1
        try:
            yield
        finally:
            self.parked -= 1

    def _begin(self, claims: int) -> Turn:
        turn = Turn(claims, self._now_us())
        self.running += claims
        return turn

    def _stand_in_line(self, key_id: str, claims: int) -> asyncio.Future[Turn]:
        loop = asyncio.get_running_loop()
        place: asyncio.Future[Turn] = loop.create_future()
        deadline = loop.call_later(self._seconds_max, self._give_up, place)
        place.add_done_callback(partial(self._stands_no_more, deadline))
        self._line.add(key_id, (place, claims), claims)
        self.standing += 1
        self._let_in()  # those before may all have given up
        return place

    def _stands_no_more(self, deadline: asyncio.TimerHandle, _: asyncio.Future[Turn]) -> None:
        deadline.cancel()
        self.standing -= 1

    def _let_in(self) -> None:
        while self.running < self.limit and (one := self._line.next()) is not None:
            place, claims = one
            if not place.done():
                place.set_result(self._begin(claims))

    def _give_up(self, place: asyncio.Future[Turn]) -> None:
        if not place.done():
            self.refused[LATE] += 1
            seconds = self._admission.wait_seconds(self.standing)
            _refuse(place, RateLimited("the claim waited too long for its turn", retry_after_seconds=seconds))

    def _refuse_beyond(self) -> None:
        if self.standing + self.parked >= self._pending_max:
            self.refused[FULL] += 1
            seconds = self._admission.wait_seconds(self.standing)
            raise RateLimited("too many claims are waiting", retry_after_seconds=seconds)


def _refuse(place: asyncio.Future[Turn], refusal: TesseraError) -> None:
    if not place.done():
        place.set_exception(refusal)


def _stopping() -> TesseraError:
    return Unavailable("the service is stopping", definite=True)
