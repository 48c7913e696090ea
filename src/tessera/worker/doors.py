"""The store as a worker meets it on its event loop: a service through the async client, a file through a few
threads. Either way the same verbs, so the worker knows no difference but how it waits for work.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any, BinaryIO, Final

from tessera.client import AsyncTessera
from tessera.client.asynchronous import async_door
from tessera.client.synchronous import HttpDoor
from tessera.library import Door, Tessera

THREADS: Final = 4  # of a local store; a verb takes a sync of the disk, so more would not make it faster


class ThreadedDoor:
    """A door for threads, entered from an event loop."""

    def __init__(self, door: Door, threads: ThreadPoolExecutor) -> None:
        self._door = door
        self._threads = threads

    async def call(self, verb: str, ask: bytes, body: bytes | BinaryIO = b"") -> Any:
        """Run the verb in a thread."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, self._door.call, verb, ask, body)

    def as_key(self, secret: str) -> ThreadedDoor:
        """The same door for the holder of a key."""
        return ThreadedDoor(self._door.as_key(secret), self._threads)

    async def close(self) -> None:
        """End the threads; the store stays open."""
        self._threads.shutdown(wait=False)


def on_loop(store: Tessera) -> tuple[AsyncTessera, bool]:
    """The store for an event loop, and whether a claim there may wait for work. To be closed, which leaves
    the store itself open.
    """
    door = store.door
    if isinstance(door, HttpDoor):
        return AsyncTessera(async_door(door.wire, door.patience, door.runtime)), True
    threads = ThreadPoolExecutor(THREADS, thread_name_prefix="tessera-worker-store")
    return AsyncTessera(ThreadedDoor(door, threads)), False
