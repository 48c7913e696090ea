"""A service on an event loop with a slow disk, as arithmetic: requests cost time of one core, what runs while
the disk syncs shares the next sync. Time is a number here, so a minute of load takes a moment.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from heapq import heappop, heappush

from tessera.rules.admission import Admission
from tessera.rules.turns import Turns
from tessera.storage.meter import Meter

HTTP_US = 200  # to read a request, and as much to send its answer
VERB_US = 300  # a claim in the transaction
TURN_VERBS_MAX = 32
SPLIT_VERBS_MIN = 16
SECOND = 1_000_000


@dataclass
class Request:
    """One claim or heartbeat on its way."""

    key: str | None  # None: a heartbeat
    asked_us: int
    entered_us: int = 0
    done: Callable[[], None] | None = None


@dataclass
class Seen:
    """What came of a run."""

    claims: Counter[str] = field(default_factory=Counter)
    beats_us: list[int] = field(default_factory=list)
    limits: list[tuple[int, int]] = field(default_factory=list)
    waits_us: list[int] = field(default_factory=list)

    def beat_ms(self, share: float) -> float:
        """A heartbeat's latency that so large a share stays below."""
        return sorted(self.beats_us)[int(len(self.beats_us) * share)] / 1_000

    def limit_between(self, first_s: float, last_s: float) -> list[int]:
        """The limits in a stretch of time."""
        return [limit for at, limit in self.limits if first_s * SECOND <= at <= last_s * SECOND]


class Engine:
    """The simulated service."""

    def __init__(self, sync_us: Callable[[int], int], fixed: int | None = None) -> None:
        self.now = 0
        self.seen = Seen()
        self.admission = Admission()
        self._sync_us = sync_us
        self._meter = Meter()
        self._fixed = fixed
        self._events: list[tuple[int, int, Callable[[], None]]] = []
        self._order = 0
        self._work: deque[tuple[int, Callable[[], None]]] = deque()  # for the core
        self._busy = False
        self._gate: Turns[Request] = Turns()
        self._running = 0
        self._line: list[Request] = []
        self._turn_planned = False
        self._open: list[Request] = []
        self._syncing: list[Request] | None = None

    def claimers(self, key: str, number: int, until_us: int = 10**12, from_us: int = 0) -> None:
        """So many connections that claim again as soon as they are answered."""

        def again() -> None:
            if self.now < until_us:
                request = Request(key, self.now, done=again)
                self._compute(HTTP_US, lambda: self._enter(request))

        for _ in range(number):
            self._at(from_us, again)

    def beats(self, every_us: int) -> None:
        """One heartbeat after the other."""

        def beat() -> None:
            request = Request(None, self.now)
            self._compute(HTTP_US, lambda: self._submit(request))
            self._at(self.now + every_us, beat)

        self._at(every_us, beat)

    def run(self, until_us: int) -> Seen:
        """Let time pass."""
        while self._events and self._events[0][0] <= until_us:
            self.now, _, act = heappop(self._events)
            act()
        return self.seen

    def _limit(self) -> int:
        return self.admission.limit(self.now) if self._fixed is None else self._fixed

    def _enter(self, request: Request) -> None:
        self._gate.add(request.key or "", request, 1)
        self._let_in()

    def _let_in(self) -> None:
        while self._running < self._limit() and len(self._gate):
            request = self._gate.next()
            assert request is not None
            request.entered_us = self.now
            self.seen.waits_us.append(self.now - request.asked_us)
            self._running += 1
            self._submit(request)

    def _leave(self, request: Request) -> None:
        crowded = len(self._gate) > 0
        self._running -= 1
        self.seen.claims[request.key or ""] += 1
        took = self.now - request.entered_us
        self.admission.note(self.now, took, self._meter.sync_us, crowded)
        self.seen.limits.append((self.now, self._limit()))
        self._let_in()

    def _submit(self, request: Request) -> None:
        self._line.append(request)
        self._plan()

    def _turn(self) -> None:
        self._turn_planned = False
        number = min(len(self._line), TURN_VERBS_MAX)
        if self._syncing is None and len(self._line) >= SPLIT_VERBS_MIN:
            number = min(number, len(self._line) // 2)
        self._line.sort(key=lambda one: one.key is not None)
        jobs, self._line = self._line[:number], self._line[number:]
        self._compute(VERB_US * number, lambda: self._ran(jobs), first=True)

    def _ran(self, jobs: list[Request]) -> None:
        self._open += jobs
        self._flush()
        if self._line:
            self._plan()

    def _plan(self) -> None:
        if not self._turn_planned:
            self._turn_planned = True
            self._compute(0, self._turn)

    def _flush(self) -> None:
        if self._syncing is None and self._open:
            batch, self._open = self._open, []
            self._syncing = batch
            took = self._sync_us(self.now)
            self._at(self.now + took, lambda: self._compute(0, lambda: self._synced(batch, took)))

    def _synced(self, batch: list[Request], took: int) -> None:
        self._meter.synced(took)
        self._syncing = None
        self._flush()
        for request in sorted(batch, key=lambda one: one.key is not None):
            self._compute(HTTP_US, lambda request=request: self._answer(request))

    def _answer(self, request: Request) -> None:
        if request.key is None:
            self.seen.beats_us.append(self.now - request.asked_us)
            return
        self._leave(request)
        if request.done is not None:
            request.done()

    def _compute(self, cost_us: int, act: Callable[[], None], first: bool = False) -> None:
        (self._work.appendleft if first else self._work.append)((cost_us, act))
        if not self._busy:
            self._next()

    def _next(self) -> None:
        if self._work:
            self._busy = True
            cost, act = self._work.popleft()

            def end() -> None:
                self._busy = False
                act()
                if not self._busy:
                    self._next()

            self._at(self.now + cost, end)

    def _at(self, when: int, act: Callable[[], None]) -> None:
        self._order += 1
        heappush(self._events, (when, self._order, act))
