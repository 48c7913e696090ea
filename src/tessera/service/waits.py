"""What may be waited out: work for a claim, the end of a task, more of a feed. Nobody who waits holds a
thread or a transaction, and who has hung up is given nothing.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

from tessera.acts.act import carry_out_on_loop
from tessera.errors import RateLimited, TesseraError, Unavailable
from tessera.limits import LITE_CLAIMS_AT_ONCE, SECOND_US
from tessera.lite.log import OrderedLog
from tessera.models import (
    AskTask,
    Claim,
    ClaimBatch,
    ClaimNext,
    ClaimTask,
    Empty,
    Lease,
    Leases,
    Model,
    PollFeed,
    Rejected,
    Release,
)
from tessera.rules import waits
from tessera.rules.grants import Caller
from tessera.runtime import Runtime
from tessera.service.bells import FEEDS, Bells, rung, task_bell
from tessera.service.gate import Gate
from tessera.service.metrics import Metrics
from tessera.service.requests import Gone, Receive
from tessera.service.routes import Target
from tessera.service.waiting import Room
from tessera.settings import Settings
from tessera.storage.port import EngineOnLoop, News
from tessera.surface import SURFACE

log = logging.getLogger("tessera.service")


class Waits:
    """The claims and looks of the service, waiting or not."""

    def __init__(
        self, engine: EngineOnLoop, settings: Settings, runtime: Runtime, bells: Bells, metrics: Metrics,
        ordered: OrderedLog,
    ) -> None:  # fmt: skip
        self._ordered = ordered
        self._engine = engine
        self._metrics = metrics
        self._runtime = runtime
        self._bells = bells
        self.gate = Gate(
            runtime, engine.meter, settings.max_pending_claims, settings.claim_deadline_seconds,
            settings.claims_per_minute,
        )  # fmt: skip
        self._lite = asyncio.Semaphore(LITE_CLAIMS_AT_ONCE)
        self._seconds_max = settings.claim_deadline_seconds
        self._release = SURFACE["release"].run()
        self._rooms: dict[str, Room] = {}
        self._returning: set[asyncio.Future[Any]] = set()
        self._stopping = False

    def stop(self) -> None:
        """Claim nothing any more, and send away who waits."""
        self._stopping = True
        self.gate.stop()
        for room in self._rooms.values():
            room.stop()

    def tell(self, news: News) -> None:
        """A commit has come."""
        for room in self._rooms.values():
            room.tell(news)

    async def claim(
        self, target: Target, caller: Caller, ask: Claim, receive: Receive, gone: Callable[[], bool]
    ) -> Any:
        """A claim's answer, after its turn and as long a wait as it asks for."""
        self.gate.count(caller.key_id)
        room = self._room(target)
        mark = room.mark(ask)
        answer = await self._try(target, gone, False, caller, ask)
        if isinstance(answer, Empty):
            if not ask.wait_seconds:
                return answer
            async with self.gate.waiting():
                answer = await until_gone(room.wait(caller, ask, mark), receive)
        if gone():
            self.give_back(caller, ask, answer)
            raise Gone
        return answer

    async def win(
        self, target: Target, caller: Caller, ask: ClaimNext | ClaimTask, gone: Callable[[], bool]
    ) -> Any:
        """A lite claim's answer, after its turn. They have turns of their own: a public log keeps each for
        seconds, which no other claim should feel. Nothing is given back when the client has hung up, for its
        key will ask again.
        """
        if self._stopping:
            raise Unavailable("the service is stopping: ask again in a moment", definite=True)
        try:
            self.gate.count(caller.key_id)
            async with asyncio.timeout(self._seconds_max):
                await self._lite.acquire()
        except RateLimited as refusal:
            return Rejected("rate_limited", retryable=True, retry_after_seconds=refusal.retry_after or 1)
        except TimeoutError:
            return Rejected("rate_limited", retryable=True, retry_after_seconds=1)
        try:
            if gone():
                raise Gone
            return await carry_out_on_loop(target.row.verb(ask, self._ordered), self._engine, caller)
        finally:
            self._lite.release()

    async def look(self, target: Target, caller: Caller, ask: Model, receive: Receive) -> Any:
        """A look's answer. A task may be waited for until it has ended, a feed until it has more."""
        if not isinstance(ask, AskTask | PollFeed) or not ask.wait:
            return await self._engine.read(target.run, caller, ask)
        async with self.gate.waiting():
            return await until_gone(self._enough(target, caller, ask), receive)

    async def _try(
        self, target: Target, gone: Callable[[], bool], parked: bool, caller: Caller, ask: Claim
    ) -> Any:
        """The claim verb's answer, after the claim's turn at the gate."""
        turn = await self.gate.enter(
            caller.key_id, ask.limit if isinstance(ask, ClaimBatch) else 1, parked=parked
        )
        got = False
        try:
            if gone():
                raise Gone
            answer = await self._engine.submit(target.run, caller, ask)
            got = not isinstance(answer, Empty)
            return answer
        finally:
            self._metrics.took(target.row.name, self.gate.leave(turn, got=got))

    async def _enough(self, target: Target, caller: Caller, ask: AskTask | PollFeed) -> Any:
        until_us = self._runtime.elapsed_us() + int(ask.wait * SECOND_US)
        with self._bells.listening(task_bell(ask.task_id) if isinstance(ask, AskTask) else FEEDS) as bell:
            while True:
                answer = await self._engine.read(target.run, caller, ask)
                left = (until_us - self._runtime.elapsed_us()) / SECOND_US
                if waits.is_enough(answer) or left <= 0 or self._stopping:
                    return answer
                await rung(bell, left)

    def _room(self, target: Target) -> Room:
        name = target.row.name
        if name not in self._rooms:
            self._rooms[name] = Room(partial(self._try, target, _here, True), self.give_back)
        return self._rooms[name]

    def give_back(self, caller: Caller, ask: Claim, answer: Any) -> None:
        """Whoever claimed has hung up: release what it never saw. Under an idempotency key the lease stays,
        for the same key will ask for it.
        """
        if ask.idempotency_key is not None or not isinstance(answer, Lease | Leases):
            return
        for lease in answer.leases if isinstance(answer, Leases) else [answer]:
            release = Release(task_id=lease.task_id, fencing_token=lease.fencing_token)
            returning = asyncio.ensure_future(self._engine.submit(self._release, caller, release))
            self._returning.add(returning)
            returning.add_done_callback(self._returned)

    def _returned(self, returning: asyncio.Future[Any]) -> None:
        self._returning.discard(returning)
        if not returning.cancelled() and isinstance(error := returning.exception(), TesseraError):
            log.info("a lease that nobody took could not be given back: %s", error.code)


def _here() -> bool:
    return False  # a parked claim that hangs up is cancelled instead


async def until_gone(act: Coroutine[Any, Any, Any], receive: Receive) -> Any:
    """What `act` comes to, unless the client hangs up first: then it is cancelled, and this raises `Gone`."""
    loop = asyncio.get_running_loop()
    acting, hearing = loop.create_task(act), loop.create_task(_hang_up(receive))
    try:
        await asyncio.wait((acting, hearing), return_when=asyncio.FIRST_COMPLETED)
        if acting.done():
            return acting.result()
        raise Gone
    finally:
        for task in (acting, hearing):
            task.cancel()
        await asyncio.gather(acting, hearing, return_exceptions=True)


async def _hang_up(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
