"""One lease carried out: run the handler, keep the lease meanwhile, and settle it one way or another."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import logging
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from tessera import errors
from tessera.canonical import canonical, receipt_hash, strict_json
from tessera.limits import ERROR_BYTES_MAX, OUTPUT_BYTES_MAX, SECOND_US
from tessera.models import Lease, Receipt
from tessera.runtime import Runtime
from tessera.worker import reports
from tessera.worker.acts import Failed, Park, Release, Split, Stopped, Unfit
from tessera.worker.context import Context
from tessera.worker.holding import Holding, Kept
from tessera.worker.reports import Report

log = logging.getLogger("tessera.worker")
Handler = Callable[[Lease, Context], Any]


class Attempt:
    """A lease and the handler that works on it. Everything here runs on the worker's loop, but for a handler
    that is no coroutine: that one has a thread of its own, which nobody can end but itself.
    """

    def __init__(self, handler: Handler, holding: Holding, context: Context, runtime: Runtime) -> None:
        self._handler = handler
        self._holding = holding
        self._context = context
        self._runtime = runtime
        self._start_us = runtime.elapsed_us()
        self._ended: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._given_up = asyncio.Event()
        self._handed_back = False
        self.unfit: Unfit | None = None

    def stop(self) -> None:
        """Tell the handler to come to an end."""
        self._context.tell_stopping()

    def give_up(self) -> None:
        """Wait for the handler no longer."""
        self._context.tell_stopping()
        self._given_up.set()
        self._ended.cancel()  # a coroutine is interrupted; a thread goes on, and nobody hears it

    async def carry_out(self) -> Report:
        """Work on the lease to its end; what became of it."""
        beating = asyncio.ensure_future(self._beat())
        try:
            if not self._context.stopping:  # told before it began: do not begin
                self._start()
                await self._until_ended()
            return await self._settle()
        finally:
            beating.cancel()
            with suppress(asyncio.CancelledError):
                await beating

    # While the handler works

    def _start(self) -> None:
        if inspect.iscoroutinefunction(self._handler) or inspect.iscoroutinefunction(
            getattr(self._handler, "__call__", None)  # noqa: B004 - asks what kind of call it is
        ):
            self._ended = asyncio.ensure_future(self._handler(self._holding.lease, self._context))
        else:
            loop = asyncio.get_running_loop()
            name = f"tessera-handler-{self._holding.lease.task_id}"
            run = contextvars.copy_context().run  # the trace among it
            threading.Thread(target=run, args=(self._in_thread, loop), name=name, daemon=True).start()

    def _in_thread(self, loop: asyncio.AbstractEventLoop) -> None:
        result, failure = None, None
        try:
            result = self._handler(self._holding.lease, self._context)
        except BaseException as error:  # looked at on the loop, whatever it is
            failure = error
        with suppress(RuntimeError):  # the loop has ended: the worker gave this handler up
            loop.call_soon_threadsafe(self._note, result, failure)

    def _note(self, result: Any, failure: BaseException | None) -> None:
        if self._ended.done():
            return
        if failure is None:
            self._ended.set_result(result)
        elif isinstance(failure, StopIteration | asyncio.CancelledError):  # what a future cannot hold
            self._ended.set_exception(RuntimeError(f"{type(failure).__name__}: {failure}"))
        else:
            self._ended.set_exception(failure)

    async def _until_ended(self) -> None:
        giving_up = asyncio.ensure_future(self._given_up.wait())
        await asyncio.wait({self._ended, giving_up}, return_when=asyncio.FIRST_COMPLETED)
        giving_up.cancel()
        if not self._ended.done() and isinstance(self._ended, asyncio.Task):
            await asyncio.wait({self._ended})  # it was interrupted, and cleans up

    async def _beat(self) -> None:
        """Keep the lease. A handler that gave it back by itself may finish in peace."""
        pause = min(self._holding.beat_seconds, max(0.0, self._holding.seconds_left / 2))
        while True:
            await asyncio.sleep(pause)
            kept, pause = await self._holding.keep()
            if kept is Kept.NO:
                break
        if await self._holding.was_handed_back():
            self._handed_back = True
            return
        self._context.tell_lost()
        if isinstance(self._ended, asyncio.Task):
            self._ended.cancel()

    # When it has ended

    async def _settle(self) -> Report:
        if self._context.lost:
            self._swallow()
            return self._report(reports.LOST, "the lease ended while the work went on")
        try:
            return await self._settled(self._outcome())
        except errors.TesseraError as refusal:
            if self._handed_back or await self._holding.was_handed_back():
                return self._report(reports.HANDED_BACK)
            return self._report(reports.LOST, f"{refusal.code}: {refusal.detail}")

    def _outcome(self) -> Any:
        """What the handler answered, as an act; an exception is given as itself."""
        if not self._ended.done() or self._ended.cancelled():
            return Release()
        failure = self._ended.exception()
        if isinstance(failure, Unfit):
            self.unfit = failure
        if isinstance(failure, Unfit | Stopped):
            return Release()
        return self._ended.result() if failure is None else failure

    async def _settled(self, outcome: Any) -> Report:
        match outcome:
            case Release(delay_seconds):
                return await self._moved(self._holding.give_back(delay_seconds), reports.RELEASED)
            case Split(children):
                return await self._moved(self._holding.split(children), reports.SPLIT)
            case Park(reason, resume_within, input_schema):
                parking = self._holding.park(reason, resume_within, input_schema)
                return await self._moved(parking, reports.PARKED)
            case errors.StaleLease():  # by the handler's own call, or by `check` a moment ago
                raise outcome
            case Failed():
                return await self._failed(str(outcome))
            case BaseException():
                log.info("%s failed", self._holding.lease.task_id, exc_info=outcome)
                return await self._failed(f"{type(outcome).__name__}: {outcome}")
            case output:
                return await self._done(output)

    async def _moved(self, move: Any, word: str) -> Report:
        """A split, a park or a release. What the store refuses for what it says is the handler's failure."""
        try:
            await move
        except (errors.InvalidRequest, errors.ScopeDenied, errors.Forbidden, errors.NotFound) as refusal:
            return await self._failed(f"cannot be {word}: {refusal.detail}")
        return self._report(word)

    async def _done(self, output: Any) -> Report:
        try:
            receipt = await self._holding.hand_in(True, output, None)
        except errors.InvalidRequest as refusal:
            return await self._failed(f"the output was refused: {refusal.detail}")
        if receipt.replayed and receipt.sha256 != self._hash(receipt, output):
            return self._report(reports.HANDED_BACK)
        return self._report(reports.DONE, receipt=receipt)

    async def _failed(self, why: str) -> Report:
        error = cut(why, ERROR_BYTES_MAX)
        receipt = await self._holding.hand_in(False, None, error)
        if receipt.replayed and receipt.ok:
            return self._report(reports.HANDED_BACK)
        again = await self._holding.tried_again_at(receipt)
        when = f", tried again at {again[11:19]} UTC" if again else ""
        return self._report(reports.FAILED, f"the task is now {receipt.state}{when}; {error}", receipt)

    @staticmethod
    def _hash(receipt: Receipt, output: Any) -> str:
        """The receipt's hash if what it stands for is what we handed in."""
        text = canonical(strict_json(output), "output", OUTPUT_BYTES_MAX)
        return receipt_hash(receipt.task_id, receipt.fencing_token, True, text, None)

    def _swallow(self) -> None:
        """Nobody asks what a handler without a lease came to."""
        if self._ended.done() and not self._ended.cancelled():
            self._ended.exception()

    def _report(self, word: str, why: str = "", receipt: Receipt | None = None) -> Report:
        seconds = (self._runtime.elapsed_us() - self._start_us) / SECOND_US
        return Report(self._holding.lease, word, seconds, why, receipt)


def cut(text: str, size: int) -> str:
    """The beginning of a text, at most `size` UTF-8 bytes, never half a character, no lone surrogate."""
    return text.encode(errors="replace")[:size].decode(errors="ignore")
