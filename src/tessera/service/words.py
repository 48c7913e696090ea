"""How an answer goes out: the way of our server's own beside ASGI's messages, for a request of either way."""

from __future__ import annotations

import asyncio
from typing import Protocol

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, RequestResponseCycle

from tessera.service.answers import Pairs


class Way(Protocol):
    """What an answer needs of its connection."""

    transport: asyncio.Transport

    def linger(self) -> None:
        """Close, but hear the client out for a moment."""

    def answered_express(self, words: ExpressWords) -> None:
        """A request that went the express way has been answered."""


class TaskWords:
    """One response's way out, and the transport as it sees it. The service asks this beside ASGI's own
    messages: one call for a whole answer costs a third of two messages.
    """

    __slots__ = ("_connection", "_cycle", "write")

    def __init__(self, connection: Way, cycle: RequestResponseCycle) -> None:
        self._connection = connection
        self._cycle = cycle
        self.write = connection.transport.write

    def is_closing(self) -> bool:
        """Whether the client hears no more."""
        return self._cycle.disconnected or self._connection.transport.is_closing()

    def unread(self) -> bool:
        """Whether some of the request has not arrived."""
        return self._cycle.more_body

    def reply(self, status: int, headers: Pairs, body: bytes) -> None:
        """Send a whole answer, headers of ours alone. Without a client there is nothing to do."""
        cycle = self._cycle
        if cycle.disconnected:
            return
        shown = body if cycle.scope["method"] != "HEAD" else b""
        text, cycle.keep_alive = text_of(status, headers, shown, cycle.keep_alive)
        self.write(text)
        cycle.response_started = cycle.response_complete = True
        cycle.message_event.set()
        if not cycle.keep_alive:
            self.close()
        cycle.on_response()

    def close(self) -> None:
        """Close; before the request has arrived whole, politely."""
        if self._cycle.more_body:
            self._connection.linger()
        else:
            self._connection.transport.close()


class ExpressWords:
    """The same for a request on the express way, which has arrived whole; and that request as the server's
    protocol sees the one under way.
    """

    __slots__ = ("_connection", "disconnected", "keep_alive", "response_complete")

    message_event = asyncio.Event()  # whoever sets it tells nobody
    more_body = False

    def __init__(self, connection: Way) -> None:
        self._connection = connection
        self.disconnected = False
        self.keep_alive = True
        self.response_complete = False

    def is_closing(self) -> bool:
        """Whether the client hears no more."""
        return self.disconnected or self._connection.transport.is_closing()

    def unread(self) -> bool:
        """Nothing is."""
        return False

    def reply(self, status: int, headers: Pairs, body: bytes) -> None:
        """Send a whole answer. Without a client there is nothing to do."""
        self.response_complete = True
        if self.is_closing():
            return
        text, self.keep_alive = text_of(status, headers, body, self.keep_alive)
        self._connection.transport.write(text)
        self._connection.answered_express(self)


def text_of(status: int, headers: Pairs, body: bytes, keep_alive: bool) -> tuple[bytes, bool]:
    """An answer as it is sent, and whether its connection is kept after it."""
    text, says = [STATUS_LINE[status]], False
    for name, value in headers:
        text += (name, b": ", value, b"\r\n")
        says = says or name == b"connection"  # which we only ever close
    if not (keep_alive or says):
        text.append(b"connection: close\r\n")
    text += (b"\r\n", body)
    return b"".join(text), keep_alive and not says


class LastWords:
    """The way out for the answer to what is no request."""

    def __init__(self, connection: Way) -> None:
        self._connection = connection

    def is_closing(self) -> bool:
        """Whether the client hears no more."""
        return self._connection.transport.is_closing()

    def unread(self) -> bool:
        """Whatever follows is thrown away."""
        return True

    def reply(self, status: int, headers: Pairs, body: bytes) -> None:
        """Send it, and close."""
        text, _ = text_of(status, headers, body, keep_alive=False)
        self._connection.transport.write(text)
        self._connection.linger()
