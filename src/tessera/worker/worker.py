"""The worker as its user meets it: handlers, settings, and the signals that end it."""

from __future__ import annotations

import asyncio
import os
import platform
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, Final, TypeVar

from msgspec.structs import replace

from tessera.app import open as open_store
from tessera.errors import TesseraError
from tessera.library import Tessera
from tessera.limits import WORKER_CHARS_MAX
from tessera.runtime import Runtime, real_runtime
from tessera.store_urls import Where
from tessera.worker.attempt import Handler
from tessera.worker.doors import on_loop
from tessera.worker.reports import Listener, Log, Report
from tessera.worker.shift import ANY, Settings, Shift

SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)
AnyHandler = TypeVar("AnyHandler", bound=Callable[..., Any])


class Worker:
    """Claims from one or more queues and lets handlers do the work, over a file or a service all the same.

    While a handler works, heartbeats keep its lease. What it returns is handed in as the output, under the
    idempotency key TASK:TOKEN; a `Split`, `Park` or `Release` is carried out; an exception fails the attempt
    with its text. A handler that is a coroutine function runs on the worker's loop, any other in a thread.
    """

    def __init__(
        self, queues: str | Iterable[str], store: Tessera | Where | None = None, *, name: str | None = None,
        parallel: int = 1, effect_classes: Iterable[str] | None = None, wait_seconds: float = 20,
        poll_seconds: float = 1, grace_seconds: float = 5, listener: Listener | None = None,
        key: str | None = None, runtime: Runtime | None = None,
    ) -> None:  # fmt: skip
        """`store` is an open store, or what `tessera.open` takes, with its `key`; `name` is how the log
        shows the worker, by default machine and process. Up to `parallel` handlers work at once. A claim at a
        service waits `wait_seconds` (0 to 30) for work; a file is asked again every `poll_seconds` at the
        latest. Told to stop, handlers have `grace_seconds` to come to an end.
        """
        if parallel < 1:
            raise ValueError("parallel is at least 1")
        if key is not None and isinstance(store, Tessera):
            raise ValueError("a store that is open has its key already")
        self._store = store
        self._key = key
        self._runtime = runtime or real_runtime()
        self._listener = listener or Log()
        self._handlers: dict[str, Handler] = {}
        self._parallel = parallel
        self._shift: Shift | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._settings = Settings(
            queues=[queues] if isinstance(queues, str) else list(queues),
            name=(name or f"{platform.node()}:{os.getpid()}")[:WORKER_CHARS_MAX],
            effect_classes=None if effect_classes is None else list(effect_classes),
            wait_seconds=wait_seconds, poll_seconds=poll_seconds, grace_seconds=grace_seconds,
        )  # fmt: skip

    def handles(self, *kinds: str) -> Callable[[AnyHandler], AnyHandler]:
        """Have a function do the work of these kinds, or, named none, of every kind that no other handles.
        It is called with the lease and a `Context`.
        """

        def register(handler: AnyHandler) -> AnyHandler:
            for kind in kinds or (ANY,):
                if kind in self._handlers:
                    raise ValueError(f"kind {kind!r} has a handler already")
                self._handlers[kind] = handler
            return handler

        return register

    def run(self, *, once: bool = False, drain: bool = False) -> None:
        """Work until told to stop: by `stop`, by SIGTERM or by Ctrl-C (in the main thread). Then nothing is
        claimed any more, handlers are told, and what has not ended after the grace is given back unharmed. A
        second signal gives back at once, a third ends the process.

        With `once`, ends after one task; with `drain`, when the queues hold nothing ready, leased or waiting.
        Raises what a claim is refused with, unless that may pass, and `Unfit` when a handler does.
        """
        try:
            asyncio.run(self._run(once=once, drain=drain))
        except TesseraError as refusal:  # says all there is to say: its way through here would only hide it
            raise refusal.with_traceback(None) from None

    def run_once(self) -> Report | None:
        """Carry one task if there is one to be had now, and say what became of it."""
        return asyncio.run(self._serve(one_look=True))

    async def serve(self, *, once: bool = False, drain: bool = False) -> None:
        """The same as `run` on the caller's event loop, which minds the signals. Cancelled, it gives back at
        once what it holds.
        """
        await self._serve(once=once, drain=drain)

    def stop(self, *, at_once: bool = False) -> None:
        """End `run` or `serve` as SIGTERM does, from any thread; `at_once` as a second signal does."""
        shift, loop = self._shift, self._loop
        if shift is not None and loop is not None:
            loop.call_soon_threadsafe(shift.stop, at_once)

    async def _run(self, **how: bool) -> None:
        in_main = threading.current_thread() is threading.main_thread()
        with self._heeding_signals() if in_main else nullcontext():
            await self._serve(**how)

    async def _serve(self, **how: bool) -> Report | None:
        if not self._handlers:
            raise ValueError("a worker needs a handler: decorate one with @worker.handles()")
        if self._shift is not None:
            raise RuntimeError("this worker is at work already")
        given = self._store
        store = (
            given if isinstance(given, Tessera) else open_store(given, key=self._key, runtime=self._runtime)
        )
        async_store, waits = on_loop(store)
        self._loop = asyncio.get_running_loop()
        self._shift = Shift(
            replace(self._settings, **how), store, async_store, waits, self._handlers, self._listener,
            self._runtime,
        )  # fmt: skip
        try:
            return await self._shift.work(self._parallel)
        finally:
            self._shift = None
            await async_store.close()
            if store is not given:
                store.close()

    @contextmanager
    def _heeding_signals(self) -> Iterator[None]:
        loop, heard = asyncio.get_running_loop(), 0
        former = {number: signal.getsignal(number) for number in SIGNALS}

        def heed() -> None:
            nonlocal heard
            heard += 1
            self.stop(at_once=heard > 1)
            if heard > 1:  # from now on a signal does what it does to any process
                for number in SIGNALS:
                    loop.remove_signal_handler(number)
                    signal.signal(number, signal.SIG_DFL)

        for number in SIGNALS:
            loop.add_signal_handler(number, heed)
        try:
            yield
        finally:
            for number in SIGNALS:
                loop.remove_signal_handler(number)
                signal.signal(number, former[number])
