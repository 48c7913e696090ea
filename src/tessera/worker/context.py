"""What a handler learns while it works: whether the lease is still its own, and whether it should stop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

from tessera.errors import StaleLease
from tessera.library import Tessera
from tessera.worker.acts import Stopped


class Context:
    """One handler's view on its lease. Safe to use from the handler's thread, or from its coroutine."""

    def __init__(self, store: Tessera, seconds_left: Callable[[], float]) -> None:
        self._store = store
        self._seconds_left = seconds_left
        self._lost = False
        self._stopping = False
        self._told = threading.Event()
        self._told_on_loop = asyncio.Event()

    @property
    def store(self) -> Tessera:
        """The store that the worker works for, with the worker's own rights."""
        return self._store

    @property
    def lost(self) -> bool:
        """Whether the lease has ended without the handler's doing. Whatever it answers is dropped."""
        return self._lost

    @property
    def stopping(self) -> bool:
        """Whether the worker was told to stop. What the handler answers soon is still handed in."""
        return self._stopping

    @property
    def seconds_left(self) -> float:
        """How long the lease surely lives from now, should no heartbeat get through. It errs on the short
        side: it counts from before the request that was answered with the deadline.
        """
        return max(0.0, self._seconds_left())

    def check(self) -> None:
        """Raise `StaleLease` if the lease is lost, `Stopped` if the worker should stop."""
        if self._lost:
            raise StaleLease
        if self._stopping:
            raise Stopped

    def wait(self, seconds: float) -> None:
        """Let time pass in a handler's thread; raises as `check` does, and as soon as there is reason to."""
        self._told.wait(seconds)
        self.check()

    async def told(self) -> None:
        """Wait, in a handler's coroutine, until the lease is lost or the worker should stop."""
        await self._told_on_loop.wait()

    # For the worker, on its loop

    def tell_lost(self) -> None:
        """The lease is not the handler's any more."""
        self._lost = True
        self._tell()

    def tell_stopping(self) -> None:
        """The worker was told to stop."""
        self._stopping = True
        self._tell()

    def _tell(self) -> None:
        self._told.set()
        self._told_on_loop.set()
