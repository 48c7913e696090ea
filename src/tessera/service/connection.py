"""What the server's HTTP/1.1 protocol leaves open to the impolite: slow or endless headers, text that is no
HTTP, a refused client that goes on sending, one that never reads.
"""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from tessera.errors import InvalidRequest
from tessera.limits import (
    HEAD_BYTES_MAX,
    HEAD_SECONDS_MAX,
    IDLE_SECONDS_MAX,
    LINGER_SECONDS,
    SECOND_US,
    WRITE_SECONDS_MAX,
)
from tessera.runtime import Runtime
from tessera.service import answers
from tessera.service.express import Express, Passage


class Connection(HttpToolsProtocol):
    """One client. Whoever makes connections sets the class's `runtime`."""

    runtime: ClassVar[Runtime]

    def connection_made(self, transport: Any) -> None:
        """The client is there. Until it has said what it wants, its time runs."""
        super().connection_made(transport)
        self._express: Express | None = getattr(self.app, "express", None)
        self._passage: Passage | None = None  # of the request that arrives, if it may go the express way
        self._body = b""  # of that request
        self._idle_us: int | None = None  # since the answer to one that did
        self._head_bytes = 0
        self._in_head = True
        self._since_us: int | None = self.runtime.elapsed_us()  # of the headers that are arriving
        self._stuck_us: int | None = None  # since the client reads no more
        self._lingering = False

    def data_received(self, data: bytes) -> None:
        """Some of a request, or of several."""
        if self._lingering:
            return  # thrown away
        self._idle_us = None
        if self._in_head:
            self._head_bytes += len(data)
            if self._since_us is None:
                self._since_us = self.runtime.elapsed_us()
        super().data_received(data)
        if self._in_head and self._head_bytes > HEAD_BYTES_MAX and not self.transport.is_closing():
            self.send_400_response(f"the headers are over the limit of {HEAD_BYTES_MAX} bytes")

    def on_message_begin(self) -> None:
        """The parser's word that a request begins. ASGI's scope is made when it is needed."""
        self.url = b""
        self.headers = []
        self.expect_100_continue = False

    def on_headers_complete(self) -> None:
        """The parser's word that the headers are there."""
        self._in_head = False
        self._since_us = None
        self._body = b""
        if self._express is not None and self._may_go_express(self._express):
            self._passage = self._express.passage(self.url, self.headers, self.client)
        if self._passage is None:
            self._take_the_ordinary_way()

    def on_body(self, body: bytes) -> None:
        """Some of a request's body."""
        if self._passage is None:
            super().on_body(body)
        else:
            self._body = self._body + body if self._body else body

    def on_message_complete(self) -> None:
        """The parser's word that the request is there whole."""
        if self._passage is not None and self._passage.heard(self._body):
            passage, self._passage = self._passage, None
            words: Any = _ExpressWords(self)
            self.cycle = words
            passage.go(words)
        else:
            if self._passage is not None:
                self._take_the_ordinary_way()
            super().on_message_complete()
        self._in_head = True
        self._head_bytes = 0

    def _may_go_express(self, express: Express) -> bool:
        """Whether the request is of that kind, and none before it is still to be answered."""
        parser, before = self.parser, self.cycle
        return (
            self.url in express.paths
            and parser.get_method() == b"POST"
            and (before is None or before.response_complete)
            and not self.expect_100_continue
            and parser.get_http_version() == "1.1"
            and parser.should_keep_alive()
            and not parser.should_upgrade()
        )

    def _take_the_ordinary_way(self) -> None:
        """Let the server make a task of the request, with as much of the body as is there."""
        self._passage = None
        url, headers, expects = self.url, self.headers, self.expect_100_continue
        super().on_message_begin()
        self.url, self.expect_100_continue = url, expects
        self.headers += headers
        super().on_headers_complete()
        words: Any = _Words(self, self.cycle)
        self.cycle.transport = words
        scope: Any = self.scope
        scope["tessera.words"] = words
        if self._body:
            super().on_body(self._body)

    def send_400_response(self, msg: str) -> None:
        """Answer what is no request, and close."""
        problem = answers.refused(InvalidRequest(msg))
        head = [STATUS_LINE[problem.status]]
        length = (b"content-length", str(len(problem.body)).encode())
        for name, value in [*problem.headers, length, (b"connection", b"close")]:
            head += [name, b": ", value, b"\r\n"]
        self.transport.write(b"".join([*head, b"\r\n", problem.body]))
        self.linger()

    def pause_writing(self) -> None:
        """The client does not read what is sent to it."""
        super().pause_writing()
        self._stuck_us = self.runtime.elapsed_us()

    def resume_writing(self) -> None:
        """It reads again."""
        super().resume_writing()
        self._stuck_us = None

    def shutdown(self) -> None:
        """The service stops: an idle connection is closed. Over TLS that waits for a word of the client's,
        who may have none to say.
        """
        if self._passage is not None:  # what has begun to arrive is still answered
            self._take_the_ordinary_way()
        super().shutdown()
        if self.transport.is_closing() and self.transport.get_extra_info("ssl_object") is not None:
            self.loop.call_later(LINGER_SECONDS, self.transport.abort)

    def sweep(self, now_us: int) -> None:
        """Drop a client that is too slow; called about once a second."""
        if self._stuck_us is not None and now_us - self._stuck_us > WRITE_SECONDS_MAX * SECOND_US:
            self.transport.abort()
        elif self._since_us is not None and now_us - self._since_us > HEAD_SECONDS_MAX * SECOND_US:
            self._since_us = None
            if self._head_bytes:
                self.send_400_response(f"the headers did not arrive within {HEAD_SECONDS_MAX} seconds")
            else:
                self.transport.close()
        elif self._passage is not None:  # its body is late: the ordinary way waits for it, but not for ever
            self._take_the_ordinary_way()
        elif self._idle_us is not None and now_us - self._idle_us > IDLE_SECONDS_MAX * SECOND_US:
            self.transport.close()

    def answered_express(self, words: _ExpressWords) -> None:
        """A request that went the express way has been answered."""
        if not words.keep_alive:
            self.transport.close()
        elif self.pipeline:
            self.on_response_complete()
        else:
            self._idle_us = self.runtime.elapsed_us()

    def linger(self) -> None:
        """Say no more, but hear the client out for a moment: closed at once, the answer could be lost with
        what it still sends.
        """
        if self._lingering or self.transport.is_closing():
            return
        if self.cycle is not None and not self.cycle.response_complete:  # what it asked before is not heard
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        if not self.transport.can_write_eof():
            self.transport.close()
            return
        self._lingering = True
        self.flow.resume_reading()
        self.transport.write_eof()
        self.loop.call_later(LINGER_SECONDS, self.transport.abort)


class _Words:
    """One response's way out, and the transport as it sees it. The service asks this beside ASGI's own
    messages: one call for a whole answer costs a third of two messages.
    """

    __slots__ = ("_connection", "_cycle", "write")

    def __init__(self, connection: Connection, cycle: RequestResponseCycle) -> None:
        self._connection = connection
        self._cycle = cycle
        self.write = connection.transport.write

    def is_closing(self) -> bool:
        """Whether the client hears no more."""
        return self._cycle.disconnected or self._connection.transport.is_closing()

    def unread(self) -> bool:
        """Whether some of the request has not arrived."""
        return self._cycle.more_body

    def reply(self, status: int, headers: answers.Pairs, body: bytes) -> None:
        """Send a whole answer, headers of ours alone. Without a client there is nothing to do."""
        cycle = self._cycle
        if cycle.disconnected:
            return
        shown = body if cycle.scope["method"] != "HEAD" else b""
        text, cycle.keep_alive = _text(status, headers, shown, cycle.keep_alive)
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


class _ExpressWords:
    """The same for a request on the express way, which has arrived whole; and that request as the server's
    protocol sees the one under way.
    """

    __slots__ = ("_connection", "disconnected", "keep_alive", "response_complete")

    message_event = asyncio.Event()  # whoever sets it tells nobody

    def __init__(self, connection: Connection) -> None:
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

    def reply(self, status: int, headers: answers.Pairs, body: bytes) -> None:
        """Send a whole answer. Without a client there is nothing to do."""
        self.response_complete = True
        if self.is_closing():
            return
        text, self.keep_alive = _text(status, headers, body, self.keep_alive)
        self._connection.transport.write(text)
        self._connection.answered_express(self)


def _text(status: int, headers: answers.Pairs, body: bytes, keep_alive: bool) -> tuple[bytes, bool]:
    """An answer as it is sent, and whether its connection is kept after it."""
    text, says = [STATUS_LINE[status]], False
    for name, value in headers:
        text += (name, b": ", value, b"\r\n")
        says = says or name == b"connection"  # which we only ever close
    if not (keep_alive or says):
        text.append(b"connection: close\r\n")
    text += (b"\r\n", body)
    return b"".join(text), keep_alive and not says
