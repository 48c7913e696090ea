"""The gate of claims. As many are in the engine at once as `rules.admission` finds good; the others stand in
line, for a bounded time and in bounded number, and every key's claims move on at the same speed. Heartbeats,
submits, cancels and key checks do not pass here, so they never queue behind claims.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial

from msgspec import Struct

from tessera.errors import RateLimited, TesseraError, Unavailable
from tessera.limits import SECOND_US
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


Go = Callable[[Turn | TesseraError], None]


class Place(Struct, eq=False):
    """A claim, or a batch of them, that stands in line."""

    go: Go
    claims: int
    until_us: int  # so long
    over: bool = False  # it does not stand there any more


class Gate:
    """Who may claim now, and how many claims wait, here or for work."""

    def __init__(
        self, runtime: Runtime, meter: Meter, pending_max: int, seconds_max: float, per_minute: int | None
    ) -> None:
        self._now_us = runtime.elapsed_us
        self._meter = meter
        self._pending_max = pending_max
        self._wait_us = int(seconds_max * SECOND_US)
        self._quota = None if per_minute is None else Buckets(per_minute, _MINUTE / per_minute)
        self._admission = Admission()
        self._line: Turns[Place] = Turns()
        self._by_deadline: deque[Place] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._letting_in = False
        self._stopping = False
        self.running = 0  # claims in the engine
        self.standing = 0  # claims and batches that wait for their turn
        self.parked = 0  # claims and looks that wait for something to come
        self.refused: Counter[str] = Counter({QUOTA: 0, FULL: 0, LATE: 0})  # claims, by why

    @property
    def limit(self) -> int:
        """How many claims may be in the engine now."""
        return self._admission.limit(self._now_us())

    def stop(self) -> None:
        """Let nobody in any more, and send away who stands in line."""
        self._stopping = True
        while (place := self._line.next()) is not None:
            self._send_away(place, _stopping())

    def count(self, key_id: str | None) -> None:
        """Refuse a claim beyond the operator's quota for one key, if there is one."""
        if self._quota is None:
            return
        seconds = self._quota.take(key_id or "", self._now_us())
        if seconds is not None:
            self.refused[QUOTA] += 1
            raise RateLimited("the key has used up its claims for now", retry_after_seconds=seconds)

    async def enter(self, key_id: str | None, claims: int, *, parked: bool = False) -> Turn:
        """The same as `ask`, waited for."""
        answer: asyncio.Future[Turn] = asyncio.get_running_loop().create_future()
        place = self.ask(partial(self._hand, answer), key_id, claims, parked=parked)
        try:
            return await answer
        except asyncio.CancelledError:
            if answer.done() and not answer.cancelled() and answer.exception() is None:
                self.leave(answer.result(), got=False)  # it was let in, and is not there any more
            elif place is not None and not place.over:
                self._leave_line(place)
            raise

    def ask(self, go: Go, key_id: str | None, claims: int, *, parked: bool = False) -> Place | None:
        """Take places in the engine for so many claims, at once or after a wait, whose place in line is
        returned: `go` is called with the turn, which `leave` gives back, or with a refusal. A batch that is
        larger than the engine's share goes in once anything is free. Refused with `rate_limited` is who
        waited too long, or finds the line full and is not one that has its place among the parked; with
        `unavailable` who comes when the service stops.
        """
        if self._stopping:
            go(_stopping())
        elif not self.standing and self.running < self.limit:
            go(self._begin(claims))
        elif not parked and self._is_full:
            go(self._too_many())
        else:
            return self._stand_in_line(go, key_id or "", claims)
        return None

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
        if self._is_full:
            raise self._too_many()
        self.parked += 1
        try:
            yield
        finally:
            self.parked -= 1

    def _begin(self, claims: int) -> Turn:
        turn = Turn(claims, self._now_us())
        self.running += claims
        return turn

    def _hand(self, answer: asyncio.Future[Turn], came: Turn | TesseraError) -> None:
        if isinstance(came, TesseraError):
            if not answer.done():
                answer.set_exception(came)
        elif answer.done():  # cancelled, and not yet gone from the line
            self.leave(came, got=False)
        else:
            answer.set_result(came)

    def _stand_in_line(self, go: Go, key_id: str, claims: int) -> Place:
        place = Place(go, claims, self._now_us() + self._wait_us)
        self._line.add(key_id, place, claims)
        self.standing += 1
        while self._by_deadline and self._by_deadline[0].over:
            self._by_deadline.popleft()
        self._by_deadline.append(place)
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._wait_us / SECOND_US, self._give_up)
        self._let_in()  # those before may all have given up
        return place

    def _leave_line(self, place: Place) -> None:
        place.over = True
        self.standing -= 1

    def _let_in(self) -> None:
        """Let in who is next, as long as there is room. Who is let in may leave at once, and calls this."""
        if self._letting_in:
            return
        self._letting_in = True
        try:
            while self.running < self.limit and (place := self._line.next()) is not None:
                if not place.over:
                    self._leave_line(place)
                    place.go(self._begin(place.claims))
        finally:
            self._letting_in = False

    def _give_up(self) -> None:
        """Send away those who have waited for too long; they stand in the order of their deadlines."""
        self._timer, now_us = None, self._now_us()
        while self._by_deadline and (self._by_deadline[0].over or self._by_deadline[0].until_us <= now_us):
            place = self._by_deadline.popleft()
            if not place.over:
                self.refused[LATE] += 1
                seconds = self._admission.wait_seconds(self.standing)
                late = RateLimited("the claim waited too long for its turn", retry_after_seconds=seconds)
                self._send_away(place, late)
        if self._by_deadline:
            after = (self._by_deadline[0].until_us - now_us) / SECOND_US
            self._timer = asyncio.get_running_loop().call_later(after, self._give_up)

    def _send_away(self, place: Place, refusal: TesseraError) -> None:
        if not place.over:
            self._leave_line(place)
            place.go(refusal)

    @property
    def _is_full(self) -> bool:
        return self.standing + self.parked >= self._pending_max

    def _too_many(self) -> TesseraError:
        self.refused[FULL] += 1
        seconds = self._admission.wait_seconds(self.standing)
        return RateLimited("too many claims are waiting", retry_after_seconds=seconds)


def _stopping() -> TesseraError:
    return Unavailable("the service is stopping", definite=True)
