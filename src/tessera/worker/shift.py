"""A worker's time at its queues: slots that each carry one lease at a time, until told to stop."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Any, Final

from msgspec import Struct

from tessera.client import AsyncTessera
from tessera.errors import TesseraError
from tessera.library import Tessera
from tessera.limits import SECOND_US
from tessera.models import Empty, Lease, QueueCounts
from tessera.runtime import Runtime
from tessera.traces import carrying
from tessera.worker.attempt import Attempt, Handler
from tessera.worker.context import Context
from tessera.worker.deadlines import StoreClock
from tessera.worker.holding import NO_ANSWER, Holding
from tessera.worker.reports import Listener, Report

RETRY_SECONDS: Final = 1.0  # after a claim that was not answered, if the refusal names no time
CLEAR_SECONDS: Final = 4.0  # for looking whether a claim that was hung up got something all the same
ANY: Final = "*"


class Settings(Struct, frozen=True):
    """How a worker is to work, and until when."""

    queues: list[str]
    name: str
    effect_classes: list[str] | None
    wait_seconds: float
    poll_seconds: float
    grace_seconds: float
    once: bool = False  # end after one task
    drain: bool = False  # end when there is nothing left to do
    one_look: bool = False  # claim once; carry what there is, or end


class Shift:
    """One run of a worker, on one event loop. A slot that is refused ends the shift with that refusal."""

    def __init__(
        self, settings: Settings, store: Tessera, async_store: AsyncTessera, waits: bool,
        handlers: Mapping[str, Handler], listener: Listener, runtime: Runtime,
    ) -> None:  # fmt: skip
        self._settings = settings
        self._store = store
        self._async_store = async_store
        self._waits = waits and not (settings.drain or settings.one_look)
        self._handlers = handlers
        self._kinds = None if ANY in handlers else sorted(handlers)
        self._listener = listener
        self._runtime = runtime
        self._clock = StoreClock()
        self._stopping = asyncio.Event()
        self._attempts: set[Attempt] = set()
        self._last: Report | None = None

    async def work(self, slots: int) -> Report | None:
        """Fill the slots and wait for their end; what became of the last task."""
        single = self._settings.once or self._settings.one_look
        running = [asyncio.ensure_future(self._slot()) for _ in range(1 if single else slots)]
        try:
            _, others = await asyncio.wait(running, return_when=asyncio.FIRST_EXCEPTION)
            if others:  # one was refused; the others come to their end
                self.stop()
                await asyncio.wait(others)
        except asyncio.CancelledError:
            self.stop(at_once=True)
            await asyncio.wait(running)
            raise
        for slot in running:
            slot.result()
        return self._last

    def stop(self, at_once: bool = False) -> None:
        """Claim nothing any more and tell the handlers; give back at once, or after the grace."""
        self._stopping.set()
        for attempt in self._attempts:
            attempt.stop()
        if at_once:
            self._give_up()
        else:
            asyncio.get_running_loop().call_later(self._settings.grace_seconds, self._give_up)

    def _give_up(self) -> None:
        for attempt in self._attempts:
            attempt.give_up()

    async def _slot(self) -> None:
        if self._clock.unseen:
            await self._look_at_clock()
        key = self._runtime.new_id("work:")
        while not self._stopping.is_set():
            answer = await self._next(key)
            if isinstance(answer, Lease):
                key = self._runtime.new_id("work:")
                await self._carry(answer)
                if self._settings.once:
                    return
            elif answer is None:
                return
            else:
                await self._rest(answer)
            if self._settings.one_look:
                return

    async def _look_at_clock(self) -> None:
        """Health shows the store's clock. A claim does too, but one that waited for work tells it badly."""
        sent_us = self._runtime.elapsed_us()
        with suppress(*NO_ANSWER):
            self._clock.saw(sent_us, (await self._async_store.health()).time)

    async def _next(self, key: str) -> Lease | float | None:
        """The next lease, or in how many seconds to ask again, or None when it is time to end. The key makes
        asking again safe: a claim whose answer was lost gives the same lease.
        """
        sent_us = self._runtime.elapsed_us()
        try:
            claim = asyncio.ensure_future(self._claim(key, self._settings.wait_seconds if self._waits else 0))
            answer = await self._unless_stopped(claim)
            if answer is None:
                await self._clear(key)
                return None
            if isinstance(answer, Lease):
                self._clock.saw(sent_us, answer.claimed_at)
                return answer
            if self._settings.drain and await self._is_drained():
                return None
        except NO_ANSWER as trouble:
            self._listener.cannot_claim(trouble)
            return (trouble.retry_after or RETRY_SECONDS) + self._runtime.uniform(0, RETRY_SECONDS)
        if not self._waits:
            return min(answer.retry_after_seconds, self._settings.poll_seconds)
        waited = (self._runtime.elapsed_us() - sent_us) / SECOND_US
        return max(0.0, answer.retry_after_seconds - waited)

    async def _claim(self, key: str, wait_seconds: float) -> Lease | Empty:
        return await self._async_store.claim_or_wait(
            self._settings.queues, self._settings.name, self._kinds, self._settings.effect_classes,
            idempotency_key=key, wait_seconds=wait_seconds,
        )  # fmt: skip

    async def _unless_stopped(self, claim: asyncio.Future[Lease | Empty]) -> Lease | Empty | None:
        """The claim's answer. None when the worker was told to stop while the claim was waiting for work; one
        that waits for nothing is seen to its end, for its lease would have to be given back.
        """
        stopping: asyncio.Future[Any] = asyncio.ensure_future(self._stopping.wait())
        ends: set[asyncio.Future[Any]] = {claim, stopping}
        try:
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            if not claim.done() and self._waits:
                claim.cancel()
            await asyncio.wait({claim})
            return None if claim.cancelled() else claim.result()
        finally:
            stopping.cancel()
            claim.cancel()

    async def _clear(self, key: str) -> None:
        """A claim was hung up. Should it have got a lease all the same, its key brings it again, to be given
        back.
        """
        with suppress(TesseraError, TimeoutError):
            async with asyncio.timeout(CLEAR_SECONDS):
                answer = await self._claim(key, 0)
                if isinstance(answer, Lease):
                    await self._async_store.release(answer.task_id, answer.fencing_token)

    async def _is_drained(self) -> bool:
        queues = (await self._async_store.counts()).queues
        named = [queues.get(name, QueueCounts()) for name in self._settings.queues]
        return not any(counts.ready or counts.leased or counts.waiting for counts in named)

    async def _rest(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._stopping.wait()

    async def _carry(self, lease: Lease) -> None:
        holding = Holding(self._async_store, lease, self._runtime, self._clock)
        context = Context(self._store, lambda: holding.seconds_left)
        handler = self._handlers.get(lease.kind) or self._handlers[ANY]
        attempt = Attempt(handler, holding, context, self._runtime)
        self._attempts.add(attempt)
        if self._stopping.is_set():
            attempt.stop()
        try:
            with _in_trace(lease) as span:
                self._last = await attempt.carry_out()
                if span is not None:
                    span.set_attribute("tessera.outcome", self._last.word)
        finally:
            self._attempts.discard(attempt)
        self._listener.settled(self._last)
        if attempt.unfit is not None:
            raise attempt.unfit


@contextmanager
def _in_trace(lease: Lease) -> Iterator[Any]:
    """Work in the trace of the task, and as a span of it where the program uses OpenTelemetry."""
    with carrying(lease.traceparent):
        if "opentelemetry.trace" not in sys.modules:
            yield None
        else:
            with import_module("tessera.worker.spans").working(lease) as span:
                yield span
