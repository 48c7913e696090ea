"""The log as server-sent events: told as it grows, each line once, durable before it is told."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from typing import Final

import msgspec
from msgspec import structs

from tessera.errors import InvalidRequest
from tessera.limits import (
    INTEGER_MAX,
    STREAM_PAGE,
    STREAM_REST_SECONDS,
    STREAM_SIGN_SECONDS,
    WRITE_SECONDS_MAX,
)
from tessera.models import Event, Events, ListEvents
from tessera.service.answers import NO_STORE, NOSNIFF, Pairs, Send
from tessera.service.bells import rung
from tessera.service.requests import Headers

STREAM: Final = (b"content-type", b"text/event-stream")
_SEQ: Final = re.compile(rb"[0-9]{1,16}")
_SIGN_OF_LIFE: Final = b": still here\n\n"

Look = Callable[[ListEvents], Awaitable[Events]]


def start_of(ask: ListEvents, headers: Headers) -> ListEvents:
    """Where a stream begins: after the line that a client saw last, which counts more than `after`."""
    last = headers.get(b"last-event-id")
    if last is None:
        return ask
    if not _SEQ.fullmatch(last) or int(last) > INTEGER_MAX:
        raise InvalidRequest("the header last-event-id is no number of a line")
    return structs.replace(ask, after=int(last))


class Stream:
    """One follower."""

    def __init__(self, send: Send, look: Look, ask: ListEvents, stopping: Callable[[], bool]) -> None:
        self._send = send
        self._look = look
        self._ask = structs.replace(ask, limit=STREAM_PAGE)
        self._stopping = stopping

    async def start(self, more: Pairs, first: Events) -> None:
        """Send the headers and the first page, which also showed that the key counts."""
        headers = [STREAM, NO_STORE, NOSNIFF, *more]
        await self._send({"type": "http.response.start", "status": 200, "headers": headers})
        await self._write(_SIGN_OF_LIFE)
        await self._tell(first)

    async def follow(self, bell: asyncio.Event) -> None:
        """Tell what comes until the service stops; the client's end is told by cancelling this. Every look
        checks the key anew, so a revoked one ends its stream: the refusal is raised.
        """
        silent = 0.0
        while not self._stopping():
            before = self._ask.after
            await self._tell(await self._look(self._ask))
            if self._ask.after != before:
                silent = 0.0
                await asyncio.sleep(STREAM_REST_SECONDS)
                continue
            await rung(bell, STREAM_SIGN_SECONDS)
            silent += 1.0
            if silent >= STREAM_SIGN_SECONDS:
                silent = 0.0
                await self._write(_SIGN_OF_LIFE)

    async def end(self) -> None:
        """Close the stream in order; a client comes back with the last line that it saw."""
        await self._send({"type": "http.response.body", "body": b""})

    async def _tell(self, page: Events) -> None:
        if page.events:
            await self._write(b"".join(_text(event) for event in page.events))
            self._ask = structs.replace(self._ask, after=page.events[-1].seq)

    async def _write(self, text: bytes) -> None:
        async with asyncio.timeout(WRITE_SECONDS_MAX):
            await self._send({"type": "http.response.body", "body": text, "more_body": True})


def _text(event: Event) -> bytes:
    head = f"id: {event.seq}\nevent: {event.type}\ndata: ".encode()
    return head + msgspec.json.encode(event) + b"\n\n"
