"""`/board`: how the queues are, for everybody who can reach the service. No key, nothing to do but look."""

from __future__ import annotations

import asyncio
import gzip
from functools import partial
from http import HTTPStatus
from typing import Any

from msgspec import Struct

from tessera import models
from tessera.limits import BOARD_SECONDS, CHARTS_MAX, SECOND_US
from tessera.models import Nothing
from tessera.service.answers import NO_STORE, Answer
from tessera.service.keys import NOBODY
from tessera.service.pages.charts import CHART_HEIGHT, CHART_WIDTH, bars
from tessera.service.pages.desk import GUARD, HTML, POLICY_LIVE, Desk, Visit, refuse_fields
from tessera.service.pages.render import page
from tessera.service.pages.sampler import Sampler
from tessera.surface import SURFACE
from tessera.verbs import pages as looks
from tessera.verbs.guarded import Guarded


class Chart(Struct, frozen=True):
    """A queue's last hour."""

    queue: str
    path: str
    done: int
    highest: int


class Board:
    """The page, rendered at most once a second however many look at it, and the sampler behind its charts."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._sampler = Sampler()
        self._counts, self._health = SURFACE["counts"].run(), SURFACE["health"].run()
        self._queues = Guarded(looks.every_queue, None)
        self._rendering = asyncio.Lock()
        self._rendered: dict[bool, tuple[int, bytes, bytes]] = {}  # by whether it refreshes: when, and what

    async def sample(self) -> None:
        """Note what has been done by now; called every few seconds."""
        counts: models.Counts = await self._desk.engine.read(self._counts, NOBODY, models.AskCounts())
        self._note({name: queue.done for name, queue in counts.queues.items()})

    def _note(self, done: dict[str, int]) -> None:
        self._sampler.sample(self._desk.runtime.elapsed_us(), done)

    async def show(self, visit: Visit) -> Answer:
        """The board; with `?still` one that stands still."""
        refuse_fields(visit.fields, "still")
        plain, packed = await self._body("still" not in visit.fields)
        headers = [HTML, NO_STORE, POLICY_LIVE, *GUARD, (b"vary", b"accept-encoding")]
        if packs(visit):
            return Answer(HTTPStatus.OK, [*headers, (b"content-encoding", b"gzip")], packed)
        return Answer(HTTPStatus.OK, headers, plain)

    async def _body(self, live: bool) -> tuple[bytes, bytes]:
        async with self._rendering:
            at, plain, packed = self._rendered.get(live, (0, b"", b""))
            now_us = self._desk.runtime.elapsed_us()
            if not plain or now_us - at >= BOARD_SECONDS * SECOND_US:
                words = await self._words()
                plain, packed = await self._desk.engine.compute(partial(_made, live, words))
                self._rendered[live] = (now_us, plain, packed)
            return plain, packed

    async def _words(self) -> dict[str, Any]:
        health: models.Health = await self._desk.engine.read(self._health, NOBODY, Nothing())
        self._note({name: queue.done for name, queue in health.queues.items()})
        queues: list[models.QueueConfig] = await self._desk.engine.read(self._queues, NOBODY, Nothing())
        busy = [name for name in self._sampler.busiest(CHARTS_MAX) if name in health.queues]
        return dict(
            health=health,
            paused={one.name for one in queues if one.paused},
            sums={state: _sum(health, state) for state in models.QueueCounts.__struct_fields__},
            hour={name: sum(self._sampler.minutes(name)) for name in health.queues},
            charts=[_chart(name, self._sampler.minutes(name)) for name in busy],
            chart_width=CHART_WIDTH,
            chart_height=CHART_HEIGHT,
        )


def packs(visit: Visit) -> bool:
    """Whether the browser takes gzip."""
    accepted = visit.request.headers.last(b"accept-encoding") or b""
    parts = [part.strip().split(b";") for part in accepted.lower().split(b",")]
    return any(part[0].strip() == b"gzip" and b"q=0" not in b"".join(part[1:]).split() for part in parts)


def _made(live: bool, words: dict[str, Any]) -> tuple[bytes, bytes]:
    plain = page("board.html", live=live, **words)
    return plain, gzip.compress(plain, 6, mtime=0)


def _chart(name: str, minutes: list[int]) -> Chart:
    return Chart(name, bars(minutes), sum(minutes), max(minutes))


def _sum(health: models.Health, state: str) -> int:
    return sum(getattr(queue, state) for queue in health.queues.values())
