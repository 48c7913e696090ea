"""Bells: whoever waits for something is told when a commit may have brought it, and then looks."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from tessera.names import ENDING_EVENTS
from tessera.storage.port import News

LOG: Final = "log"
FEEDS: Final = "feeds"
# How often a waiter looks though no bell rang: another process may have written.
_FOREIGN_SECONDS: Final = 1.0


def task_bell(task_id: str) -> str:
    """The name of the bell that rings when a task may have ended."""
    return f"task {task_id}"


class Bells:
    """Who waits for what: the log, any feed, or the end of one task."""

    def __init__(self) -> None:
        self._waiting: dict[str, set[asyncio.Event]] = {}

    @contextmanager
    def listening(self, name: str) -> Iterator[asyncio.Event]:
        """An event that is set whenever the bell rings; begin to listen, then look, then wait."""
        bell = asyncio.Event()
        self._waiting.setdefault(name, set()).add(bell)
        try:
            yield bell
        finally:
            listeners = self._waiting[name]
            listeners.discard(bell)
            if not listeners:
                del self._waiting[name]

    def tell(self, news: News) -> None:
        """Ring what a commit is about."""
        if not self._waiting:
            return
        if news.foreign:
            self.ring_all()
            return
        if news.events:
            self._ring(LOG)
        for type_, task_id in news.events:
            if type_ in ENDING_EVENTS and task_id is not None:
                self._ring(task_bell(task_id))
            elif type_ == "feed_published":
                self._ring(FEEDS)

    def ring_all(self) -> None:
        """Let everybody look."""
        for name in self._waiting:
            self._ring(name)

    def _ring(self, name: str) -> None:
        for bell in self._waiting.get(name, ()):
            bell.set()


async def rung(bell: asyncio.Event, seconds: float) -> None:
    """Return when the bell rings, at the latest after so many seconds or when it is time to look anyway."""
    try:
        async with asyncio.timeout(max(0, min(seconds, _FOREIGN_SECONDS))):
            await bell.wait()
    except TimeoutError:
        return
    bell.clear()
