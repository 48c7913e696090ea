"""Claims that wait for work. They are parked in memory, without a thread and without a transaction. After a
commit that made a task claimable the first of those that look for the same things is offered it, through the
ordinary claim verb; if that one gets a task, the next is offered one.
"""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict, deque
from collections.abc import Awaitable, Callable
from itertools import islice
from typing import Any

from tessera.errors import RateLimited, Unavailable
from tessera.limits import LINES_PER_TICK, TRIES_PER_LINE_MAX, WAITERS_TICK_SECONDS
from tessera.models import Claim, Empty
from tessera.rules import grants
from tessera.rules.grants import Caller
from tessera.storage.port import News

Try = Callable[[Caller, Claim], Awaitable[Any]]
Line = tuple[tuple[str, ...], tuple[object, ...] | None, tuple[object, ...] | None]  # queues, kinds, effects


class Waiter:
    """One waiting claim: who asks for what, and where its answer goes."""

    __slots__ = ("answer", "ask", "caller", "over", "trying")

    def __init__(self, caller: Caller, ask: Claim, answer: asyncio.Future[Any]) -> None:
        self.caller = caller
        self.ask = ask
        self.answer = answer
        self.trying = False  # a claim is under way for it
        self.over = False  # its time is up: the claim under way is its last


class Room:
    """The waiting claims, in lines of those that look for the same."""

    def __init__(self, attempt: Try, give_back: Callable[[Caller, Claim, Any], None]) -> None:
        self._attempt = attempt
        self._give_back = give_back
        self._lines: OrderedDict[Line, deque[Waiter]] = OrderedDict()
        self._by_queue: dict[str, set[Line]] = {}
        self._trying: Counter[Line] = Counter()
        self._owed: set[Line] = set()  # news came while everybody was trying already, perhaps in vain
        self._rung: Counter[str] = Counter()
        self._rung_all = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._ticking: asyncio.TimerHandle | None = None

    def mark(self, ask: Claim) -> int:
        """How often news has come for the queues of a claim; to be taken before its first try."""
        return self._rung_all + sum(self._rung[queue] for queue in _queues(ask))

    async def wait(self, caller: Caller, ask: Claim, mark: int) -> Any:
        """Wait for work: the lease, or an empty answer when the claim's seconds are over. Cancel it when the
        client has hung up: then it claims nothing, and what it was just given is given back.
        """
        loop = asyncio.get_running_loop()
        waiter = Waiter(caller, ask, loop.create_future())
        line = _line(caller, ask)
        self._join(line, waiter)
        deadline = loop.call_later(ask.wait_seconds, self._end, line, waiter)
        try:
            if self.mark(ask) != mark:  # it came between the first try and now
                self._offer(line)
            return await waiter.answer
        except asyncio.CancelledError:
            if waiter.answer.done() and not waiter.answer.cancelled() and not waiter.answer.exception():
                self._give_back(caller, ask, waiter.answer.result())
            raise
        finally:
            deadline.cancel()
            self._leave(line, waiter)

    def tell(self, news: News) -> None:
        """A commit has come. Whoever may find something is offered it."""
        if news.foreign or any(type_ == "key_revoked" for type_, _ in news.events):
            self._rung_all += 1
            self._offer_all(len(self._lines))
            return
        for queue in news.ready:
            self._rung[queue] += 1
            for line in tuple(self._by_queue.get(queue, ())):
                self._offer(line)

    def stop(self) -> None:
        """Send everybody away: the service stops."""
        if self._ticking is not None:
            self._ticking.cancel()
        for line in self._lines.values():
            for waiter in line:
                _settle(waiter, Unavailable("the service is stopping", definite=True))

    def _join(self, line: Line, waiter: Waiter) -> None:
        if line not in self._lines:
            self._lines[line] = deque()
            for queue in line[0]:
                self._by_queue.setdefault(queue, set()).add(line)
        self._lines[line].append(waiter)
        if self._ticking is None:
            self._ticking = asyncio.get_running_loop().call_later(WAITERS_TICK_SECONDS, self._tick)

    def _leave(self, line: Line, waiter: Waiter) -> None:
        waiters = self._lines[line]
        waiters.remove(waiter)
        if not waiters:
            del self._lines[line]
            self._owed.discard(line)
            for queue in line[0]:
                self._by_queue[queue].discard(line)

    def _tick(self) -> None:
        """What no commit of ours announces: a retry that falls due, a lapse, another process's task."""
        self._ticking = None
        if self._lines:
            self._ticking = asyncio.get_running_loop().call_later(WAITERS_TICK_SECONDS, self._tick)
            self._offer_all(LINES_PER_TICK)

    def _offer_all(self, lines_max: int) -> None:
        for line in list(islice(self._lines, lines_max)):
            self._lines.move_to_end(line)
            self._offer(line)

    def _offer(self, line: Line) -> None:
        """Let the first of a line try. If nobody can now, or enough of it are trying, one shall afterwards:
        what they have looked at may be older than the news.
        """
        if self._trying[line] < TRIES_PER_LINE_MAX:
            for waiter in self._lines.get(line, ()):
                if not waiter.trying and not waiter.answer.done():
                    self._owed.discard(line)
                    self._start(line, waiter)
                    return
        if self._trying[line]:
            self._owed.add(line)

    def _end(self, line: Line, waiter: Waiter) -> None:
        """Its time is up. One last try tells whether its key still counts, and whether something was
        overlooked.
        """
        waiter.over = True
        if not waiter.trying and not waiter.answer.done():
            self._start(line, waiter)

    def _start(self, line: Line, waiter: Waiter) -> None:
        waiter.trying = True
        self._trying[line] += 1
        task = asyncio.get_running_loop().create_task(self._try(line, waiter))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _try(self, line: Line, waiter: Waiter) -> None:
        try:
            answer = await self._attempt(waiter.caller, waiter.ask)
        except Exception as error:
            answer = error
        waiter.trying = False
        self._trying[line] -= 1
        if not self._trying[line]:
            del self._trying[line]
        if isinstance(answer, Empty | RateLimited | Unavailable) and not waiter.over:  # not now
            if line in self._owed:
                self._offer(line)
            return
        if waiter.answer.done():
            self._give_back(waiter.caller, waiter.ask, answer)
        else:
            _settle(waiter, answer)
        self._offer(line)  # where one found something there may be more


def _queues(ask: Claim) -> tuple[str, ...]:
    return (ask.queue,) if ask.queue is not None else tuple(ask.queues or ())


def _line(caller: Caller, ask: Claim) -> Line:
    """What a claim looks for. The claim verb has allowed it already, so this refuses nothing."""
    kinds, effects = grants.may_claim(caller, ask)
    return (
        tuple(sorted(set(_queues(ask)))),
        None if kinds is None else tuple(kinds),
        None if effects is None else tuple(effects),
    )


def _settle(waiter: Waiter, answer: Any) -> None:
    if waiter.answer.done():
        return
    if isinstance(answer, Exception):
        waiter.answer.set_exception(answer)
    else:
        waiter.answer.set_result(answer)
