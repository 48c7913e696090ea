"""Bytes over HTTP: puts in pieces, and blobs and objects given out whole or in part, with their validators.
(Contract §4.13; RFC 9110 §13 and §14.)
"""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Any, Final, Protocol

from msgspec.structs import replace

from tessera import models
from tessera.acts.act import carry_out_on_loop
from tessera.errors import InvalidRequest
from tessera.limits import BLOB_BYTES_MAX, BYTES_SECONDS_MAX, PIECE_SECONDS_MAX
from tessera.models import Content, GetBlob, GetObject, Model
from tessera.rules.grants import Caller
from tessera.service.answers import NOSNIFF, Answer, Pairs, Send, Words, answered
from tessera.service.requests import Bodies, Gone, Headers, Receive, ask_of_strings, refuse_unread
from tessera.service.routes import Route, Target
from tessera.storage.port import EngineOnLoop

_INERT: Final[Pairs] = [
    NOSNIFF,
    (b"content-disposition", b"attachment"),
    (b"content-security-policy", b"default-src 'none'; sandbox"),
    (b"accept-ranges", b"bytes"),
]
_FOR_EVER: Final = (b"cache-control", b"private, max-age=31536000, immutable")  # a hash names its bytes
_ASK_AGAIN: Final = (b"cache-control", b"private, no-cache")


class Asked(Protocol):
    """What a look at bytes needs to know of its request."""

    method: str
    headers: Headers


class RawRoutes:
    """The rows whose body or answer is bytes."""

    def __init__(self, engine: EngineOnLoop, bodies: Bodies) -> None:
        self._engine = engine
        self._bodies = bodies

    async def put(
        self, target: Target, caller: Caller, ask: Model, headers: Headers, receive: Receive
    ) -> Answer:
        """Carry out a put whose bytes come in pieces: taken as they come, up to the limit, and no further."""
        refuse_unread(headers, BLOB_BYTES_MAX)
        take = _Pieces(receive).take
        try:
            async with asyncio.timeout(BYTES_SECONDS_MAX):
                act = target.row.verb(ask, None)
                answer = await carry_out_on_loop(act, self._engine, caller, take)
        except TimeoutError as error:
            raise InvalidRequest("the body did not arrive in time") from error
        return answered(target.row, answer)

    async def get(
        self, route: Route, target: Target, caller: Caller, said: tuple[dict[str, str], dict[str, str]],
        request: Asked,
    ) -> Answer:  # fmt: skip
        """Bytes, or a range of them; 304 when the client has them already."""
        named, fields = said
        ask = ask_of_strings(target.row, named, fields, request.headers)
        assert isinstance(ask, GetBlob | GetObject)
        if request.method == "HEAD":
            ask = replace(ask, range=None)  # a range is asked for with GET alone
        if (known := request.headers.last(b"if-none-match")) is not None:
            meta = await self._meta(route, caller, named, fields)
            if _matches(known, meta.sha256):
                return Answer(HTTPStatus.NOT_MODIFIED, [_etag(meta.sha256), _caching(ask)])
        if ask.range is not None and (known := request.headers.last(b"if-range")) is not None:
            meta = await self._meta(route, caller, named, fields)
            if known != _etag(meta.sha256)[1]:
                ask = replace(ask, range=None)  # the client's part is of other bytes
        content: Content = await self._engine.read(target.run, caller, ask)
        self._bodies.refuse_beyond(content.length)
        return _Bytes(content, _caching(ask), self._bodies)

    async def _meta(self, route: Route, caller: Caller, named: dict[str, str], fields: dict[str, str]) -> Any:
        """What the row beside it says of the bytes without reading them."""
        target = route.target("GET", {"meta": "true"})
        assert target is not None
        ask = models.convert({**named, **fields}, target.row.ask)
        return await self._engine.read(target.run, caller, ask)


class _Bytes(Answer):
    """Verified bytes, sent a piece at a time as the client takes them."""

    def __init__(self, content: Content, caching: tuple[bytes, bytes], bodies: Bodies) -> None:
        status = HTTPStatus.PARTIAL_CONTENT if content.partial else HTTPStatus.OK
        headers = [
            *_INERT, caching, _etag(content.sha256), (b"content-type", content.content_type.encode()),
            (b"content-length", b"%d" % content.length),
        ]  # fmt: skip
        if content.partial:
            last = content.first + content.length - 1
            headers.append((b"content-range", b"bytes %d-%d/%d" % (content.first, last, content.size)))
        if content.version is not None and content.created_at is not None:
            headers.append((b"x-version", b"%d" % content.version))
            headers.append((b"x-created-at", content.created_at.encode()))
        super().__init__(status, headers)
        self._content = content
        self._bodies = bodies

    async def send(self, send: Send, more: Pairs, words: Words | None) -> None:
        """Send the pieces, each once there is room; a client that takes none is dropped by the server."""
        with self._bodies.holding(self._content.length):
            start = {"type": "http.response.start", "status": self.status, "headers": [*self.headers, *more]}
            await send(start)
            for piece in self._content.pieces:
                await send({"type": "http.response.body", "body": piece, "more_body": True})
            await send({"type": "http.response.body", "body": b""})


class _Pieces:
    """A body as it comes."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._more = True

    async def take(self) -> bytes:
        """The next bytes, none at the end. Raises `Gone` if the client hangs up before."""
        piece = b""
        try:
            async with asyncio.timeout(PIECE_SECONDS_MAX):
                while self._more and not piece:
                    message = await self._receive()
                    if message["type"] == "http.disconnect":
                        raise Gone
                    piece, self._more = message.get("body", b""), message.get("more_body", False)
        except TimeoutError as error:
            raise InvalidRequest(f"no byte of the body came for {PIECE_SECONDS_MAX} seconds") from error
        return piece


def _etag(sha256: str) -> tuple[bytes, bytes]:
    return b"etag", b'"%s"' % sha256.encode()


def _matches(header: bytes, sha256: str) -> bool:
    """Whether an `If-None-Match` names these bytes; a weak tag of the same name does too."""
    tags = [tag.strip().removeprefix(b"W/") for tag in header.split(b",")]
    return b"*" in tags or _etag(sha256)[1] in tags


def _caching(ask: Model) -> tuple[bytes, bytes]:
    return _FOR_EVER if isinstance(ask, GetBlob) else _ASK_AGAIN
