"""What goes back to a client: a document, a problem, or nothing; and the headers that all of them carry."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from http import HTTPStatus
from typing import Any, Final, Protocol

import msgspec

from tessera import models
from tessera.errors import RangeNotSatisfiable, RateLimited, TesseraError, Unauthorized, Unavailable
from tessera.surface import Row

Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Pairs = list[tuple[bytes, bytes]]

JSON: Final = (b"content-type", b"application/json")
PROBLEM: Final = (b"content-type", b"application/problem+json")
NO_STORE: Final = (b"cache-control", b"no-store")
NOSNIFF: Final = (b"x-content-type-options", b"nosniff")

_encode = msgspec.json.Encoder().encode
BEFORE: Final = (models.EnqueuedBefore, models.KnownJob)  # nothing new was made


class Words(Protocol):
    """What our server offers beside ASGI's own messages."""

    def unread(self) -> bool:
        """Whether some of the request has not arrived."""

    def is_closing(self) -> bool:
        """Whether the client has hung up."""

    def reply(self, status: int, headers: Pairs, body: bytes) -> None:
        """Send a whole answer."""


class Answer:
    """A status, headers and a whole body."""

    __slots__ = ("body", "code", "headers", "status")

    def __init__(self, status: int, headers: Pairs, body: bytes = b"", code: str | None = None) -> None:
        self.status = status
        self.headers = headers
        self.body = body
        self.code = code  # of the refusal, if it is one

    async def send(self, send: Send, more: Pairs, words: Words | None) -> None:
        """Send it, with more headers; by the server's own way out where there is one."""
        if words is not None:
            self.reply(more, words)
            return
        await send({"type": "http.response.start", "status": self.status, "headers": self._headers(more)})
        await send({"type": "http.response.body", "body": self.body})

    def reply(self, more: Pairs, words: Words) -> None:
        """Send it by the server's own way out, at once."""
        words.reply(self.status, self._headers(more), self.body)

    def _headers(self, more: Pairs) -> Pairs:
        headers = [*self.headers, *more]
        if self.status not in (HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED):
            headers.append((b"content-length", b"%d" % len(self.body)))
        return headers


def answered(row: Row, answer: Any) -> Answer:
    """A verb's answer. A claim that found nothing is no content, and says when to come back."""
    if isinstance(answer, models.Empty):
        return Answer(HTTPStatus.NO_CONTENT, [NO_STORE, _retry_after(answer.retry_after_seconds)])
    status = HTTPStatus.OK if isinstance(answer, BEFORE) else row.status
    return Answer(status, [JSON, NO_STORE, NOSNIFF], _encode(answer))


def document(body: bytes) -> Answer:
    """A JSON document of the service's own."""
    return Answer(HTTPStatus.OK, [JSON, NO_STORE, NOSNIFF], body)


def text(media_type: str, body: bytes) -> Answer:
    """Text in a form of its own."""
    return Answer(HTTPStatus.OK, [(b"content-type", media_type.encode()), NO_STORE, NOSNIFF], body)


def refused(refusal: TesseraError) -> Answer:
    """A refusal as an RFC 9457 problem document. Of what is unforeseen no detail leaves the house."""
    if type(refusal) is TesseraError:
        refusal = TesseraError()
    headers = [PROBLEM, NO_STORE, NOSNIFF]
    problem = refusal.problem()
    if isinstance(refusal, RateLimited | Unavailable):
        headers.append(_retry_after(problem.pop("retry_after_seconds", 1)))
    if isinstance(refusal, RangeNotSatisfiable):
        headers.append((b"content-range", f"bytes */{problem['size']}".encode()))
    if isinstance(refusal, Unauthorized):
        headers.append((b"www-authenticate", b"Bearer"))
    if (allow := problem.pop("allow", None)) is not None:
        headers.append((b"allow", str(allow).encode()))
    return Answer(refusal.status, headers, _encode(problem), refusal.code)


def no_content(headers: Pairs) -> Answer:
    """Only headers."""
    return Answer(HTTPStatus.NO_CONTENT, headers)


def _retry_after(seconds: object) -> tuple[bytes, bytes]:
    return b"retry-after", str(seconds).encode()
