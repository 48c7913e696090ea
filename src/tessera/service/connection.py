"""What the server's HTTP/1.1 protocol leaves open to the impolite: slow or endless headers, text that is no
HTTP, requests without end before their answers, a refused client that goes on sending, one that never reads.
"""

from __future__ import annotations

from typing import Any, ClassVar

from httptools import HttpParserError, HttpParserUpgrade
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from tessera.errors import InvalidRequest, TesseraError
from tessera.limits import (
    FEED_BYTES,
    HEAD_BYTES_MAX,
    HEAD_SECONDS_MAX,
    HEADERS_MAX,
    IDLE_SECONDS_MAX,
    LINGER_SECONDS,
    PIPELINED_MAX,
    SECOND_US,
    WRITE_SECONDS_MAX,
)
from tessera.runtime import Runtime
from tessera.service import head
from tessera.service.express import Express, Passage
from tessera.service.words import ExpressWords, LastWords, TaskWords


class Connection(HttpToolsProtocol):
    """One client. Whoever makes connections sets the class's `runtime`; their application answers what is no
    request with `refuse_unheard`.
    """

    runtime: ClassVar[Runtime]

    def connection_made(self, transport: Any) -> None:
        """The client is there. Until it has said what it wants, its time runs."""
        super().connection_made(transport)
        self._express: Express | None = getattr(self.app, "express", None)
        self._passage: Passage | None = None  # of the request that arrives, if it may go the express way
        self._body = b""  # of that request
        self._answering: RequestResponseCycle | None = None  # the one of several requests whose turn it is
        self._idle_us: int | None = None  # since the answer to one that went the express way
        self._in_head = True
        self._begun = False  # that is: there is more of it than empty lines
        self._loose_bytes = 0  # since a head began, or since a body's last byte
        self._unfed = b""  # what has arrived and the parser has not had
        self._feeding = False
        self._since_us: int | None = self.runtime.elapsed_us()  # of the headers that are arriving
        self._stuck_us: int | None = None  # since the client reads no more
        self._held_up = False  # what comes next, by that
        self._refusal: TesseraError | None = None  # the last word of the connection, and not said yet
        self._lingering = False

    def connection_lost(self, exc: Exception | None) -> None:
        """The client has hung up: whoever works for it is told, also if requests came behind that one."""
        super().connection_lost(exc)
        if (cycle := self._answering) is not None and not cycle.response_complete:
            cycle.disconnected = True
            cycle.message_event.set()

    def data_received(self, data: bytes) -> None:
        """Some of a request, or of several."""
        if self._lingering or self._refusal is not None:
            return  # thrown away
        self._idle_us = None
        self._unfed = self._unfed + data if self._unfed else data
        self._feed()

    def _feed(self) -> None:
        """Let the parser have what has arrived. Of many requests that came at once some wait unread: else one
        client could fill the memory with them, and keep the loop for all of them together.
        """
        if self._feeding:
            return
        self._feeding = True
        try:
            while self._unfed and self._may_feed():
                piece, self._unfed = self._unfed[:FEED_BYTES], self._unfed[FEED_BYTES:]
                self._feed_piece(piece)
        finally:
            self._feeding = False
        if self._unfed:
            self.flow.pause_reading()

    def _may_feed(self) -> bool:
        takes = len(self.pipeline) < PIPELINED_MAX and not self.flow.write_paused
        return takes and not self.transport.is_closing()

    def _feed_piece(self, piece: bytes) -> None:
        self._loose_bytes += len(piece)
        self._unset_keepalive_if_required()
        if self._in_head and self._since_us is None:
            self._since_us = self.runtime.elapsed_us()
        try:
            self.parser.feed_data(piece)
        except HttpParserUpgrade as upgrade:  # to what nobody here speaks: it goes on as it was
            self._unfed = piece[upgrade.args[0] :] + self._unfed
        except HttpParserError as error:
            self._refuse(head.refusal_of(error))
        else:
            if self._loose_bytes > HEAD_BYTES_MAX:
                self._refuse(head.too_large())

    def on_message_begin(self) -> None:
        """The parser's word that a request begins. ASGI's scope is made when it is needed."""
        self.url = b""
        self.headers = []
        self.expect_100_continue = False
        self._begun = True

    def on_url(self, url: bytes) -> None:
        """Some of the request's target."""
        super().on_url(url)
        head.refuse_long_target(self.url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header. What comes behind a body is none: nobody has looked at it on its way here."""
        if self._in_head:
            super().on_header(name, value)
            if len(self.headers) > HEADERS_MAX:
                raise head.too_many()

    def on_headers_complete(self) -> None:
        """The parser's word that the headers are there."""
        self._in_head = False
        self._since_us = None
        if self._loose_bytes > HEAD_BYTES_MAX - FEED_BYTES:  # of so many bytes it may be, or of fewer
            head.refuse_longer(self.url, self.headers)
        self._loose_bytes = 0
        self._body = b""
        head.refuse(self.parser.get_method(), self.parser.get_http_version(), self.url, self.headers)
        if self._express is not None and self._may_go_express(self._express):
            self._passage = self._express.passage(self.url, self.headers, self.client)
        if self._passage is None:
            self._take_the_ordinary_way()

    def on_body(self, body: bytes) -> None:
        """Some of a request's body."""
        self._loose_bytes = 0
        if self._passage is None:
            super().on_body(body)
        else:
            self._body = self._body + body if self._body else body

    def on_message_complete(self) -> None:
        """The parser's word that the request is there whole."""
        if self._passage is not None and self._passage.heard(self._body):
            passage, self._passage = self._passage, None
            words: Any = ExpressWords(self)
            self.cycle = self._answering = words
            passage.go(words)
        else:
            if self._passage is not None:
                self._take_the_ordinary_way()
            super().on_message_complete()
        self._in_head = True
        self._begun = False
        self._loose_bytes = 0

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
        self.url, self.expect_100_continue = head.with_path(url), expects
        self.headers += headers
        super().on_headers_complete()
        if self.pipeline:
            self.flow.resume_reading()  # or nobody would hear that the client hangs up
        words: Any = TaskWords(self, self.cycle)
        self.cycle.transport = words
        scope: Any = self.scope
        scope["tessera.words"] = words
        if self._body:
            super().on_body(self._body)

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        """A request's turn has come."""
        self._answering = cycle
        super()._start_asgi_task(cycle, app)

    def on_response_complete(self) -> None:
        """An answer has gone out, and what waits behind its request is next: once the client reads."""
        if self.flow.write_paused and not self.transport.is_closing():
            self._held_up = True
            self.flow.pause_reading()
        else:
            self._go_on()

    def _go_on(self) -> None:
        super().on_response_complete()
        if self._unfed:
            self._feed()
        if self._refusal is not None:
            self._say_last()

    def _refuse(self, refusal: TesseraError) -> None:
        """Answer what is no request, and close; first whatever was asked before it is answered. What arrives
        meanwhile is thrown away.
        """
        if self._refusal is not None or self._lingering or self.transport.is_closing():
            return
        self._refusal, self._unfed, self._since_us = refusal, b"", None
        cycle = self.cycle
        if cycle is not None and cycle.more_body and not cycle.response_complete:  # the refused one itself
            if cycle.response_started:
                self.transport.close()
                return
            cycle.disconnected = cycle.response_complete = True
            cycle.message_event.set()
            if self.pipeline and self.pipeline[0][0] is cycle:
                self.pipeline.popleft()
        self.flow.resume_reading()
        self._say_last()

    def _say_last(self) -> None:
        """Answer what was refused, if everything before it has been answered."""
        owes = self.pipeline or not (self._answering is None or self._answering.response_complete)
        if self._refusal is not None and not (owes or self._lingering or self.transport.is_closing()):
            self.app.refuse_unheard(self._refusal, self.client, LastWords(self))

    def pause_writing(self) -> None:
        """The client does not read what is sent to it."""
        super().pause_writing()
        self._stuck_us = self.runtime.elapsed_us()

    def resume_writing(self) -> None:
        """It reads again."""
        super().resume_writing()
        self._stuck_us = None
        if self._held_up:
            self._held_up = False
            self._go_on()
        elif self._unfed:
            self.flow.resume_reading()
            self._feed()

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
            if self._begun:
                self._refuse(InvalidRequest(f"the headers did not arrive within {HEAD_SECONDS_MAX} seconds"))
            else:
                self.transport.close()
        elif self._passage is not None:  # its body is late: the ordinary way waits for it, but not for ever
            self._take_the_ordinary_way()
        elif self._idle_us is not None and now_us - self._idle_us > IDLE_SECONDS_MAX * SECOND_US:
            self.transport.close()

    def answered_express(self, words: ExpressWords) -> None:
        """A request that went the express way has been answered."""
        if not words.keep_alive:
            self.transport.close()
        elif self.pipeline or self._refusal is not None or self._unfed or self.flow.write_paused:
            self.on_response_complete()
        else:
            self._idle_us = self.runtime.elapsed_us()

    def linger(self) -> None:
        """Say no more, but hear the client out for a moment: closed at once, the answer could be lost with
        what it still sends.
        """
        if self._lingering or self.transport.is_closing():
            return
        self._unfed = b""
        if not self.transport.can_write_eof():
            self.transport.close()
            return
        self._lingering = True
        self.flow.resume_reading()
        self.transport.write_eof()
        self.loop.call_later(LINGER_SECONDS, self.transport.abort)
