"""The ASGI application: one dispatcher over the surface. In this order: edge secret, path and method, key,
size and body, verb; the verb checks the rest inside its transaction. (Contract §2, order of checks.)
"""

from __future__ import annotations

import asyncio
import hmac
import logging
from collections.abc import Callable
from itertools import count
from typing import Any, Final

from tessera import models
from tessera.errors import (
    Forbidden,
    MethodNotAllowed,
    NotFound,
    TesseraError,
    Unavailable,
)
from tessera.limits import BATCHES_AT_ONCE, STREAMS_MAX
from tessera.models import Claim, ListEvents, Model
from tessera.rules.grants import Caller
from tessera.runtime import Runtime
from tessera.service import answers
from tessera.service.answers import Answer, Send, Words
from tessera.service.bells import LOG, Bells
from tessera.service.cors import Cors
from tessera.service.documents import Documents
from tessera.service.keys import NOBODY, Keys, secret_of
from tessera.service.logs import RequestLog
from tessera.service.mcp import ALLOW, PATHS, Mcp
from tessera.service.own import MCP, OPEN_PATHS
from tessera.service.pages.pages import Pages
from tessera.service.raw import RawRoutes
from tessera.service.requests import (
    Bodies,
    Gone,
    Headers,
    Receive,
    Scope,
    ask_of_body,
    ask_of_strings,
    query_fields,
    refuse_key_in_query,
    refuse_own_key,
)
from tessera.service.routes import Routes, Target
from tessera.service.streams import Stream, start_of
from tessera.service.waits import Waits, until_gone
from tessera.settings import Settings
from tessera.storage.port import EngineOnLoop, News
from tessera.surface import SURFACE

log = logging.getLogger("tessera.service")

BATCHES: Final = (models.TaskBatch, models.SubmitBatch, models.PutRecords)


class Request:
    """One request on its way through the service."""

    __slots__ = ("caller", "gone", "headers", "method", "query", "receive", "route", "scope", "send",
                 "words")  # fmt: skip

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.scope = scope
        self.receive = receive
        self.send = send
        self.method: str = scope["method"]
        self.query: bytes = scope["query_string"]
        self.headers = Headers(scope["headers"])
        self.words: Words | None = scope.get("tessera.words")
        self.gone = _never if self.words is None else self.words.is_closing
        self.route = "-"
        self.caller: Caller | None = None


class Service:
    """The service on one engine. Call everything from the loop's thread."""

    def __init__(
        self, engine: EngineOnLoop, settings: Settings, runtime: Runtime, requests: RequestLog
    ) -> None:
        self._engine = engine
        self._runtime = runtime
        self._log = requests
        self._edge = settings.edge_secret.encode() if settings.edge_secret else None
        self._routes = Routes(SURFACE.values())
        self._keys = Keys(engine, runtime)
        self._cors = Cors(settings.cors_origins)
        self._documents = Documents(engine, self._cors)
        self._bodies = Bodies()
        self._raw = RawRoutes(engine, self._bodies)
        self._pages = Pages(engine, self._keys, self._bodies, settings, runtime)
        self._bells = Bells()
        self._waits = Waits(engine, settings, runtime, self._bells)
        self._mcp = Mcp(self._routes, settings, self._holder, self._body, self._carry_out)
        self._batches = asyncio.Semaphore(BATCHES_AT_ONCE)
        self._streams = 0
        self._stopping = False
        self._ids = map(f"{runtime.new_id('q_')[-12:]}-{{:x}}".format, count(1))
        engine.watch(self._tell)

    def stop(self) -> None:
        """Claim nothing any more, and let go of whoever waits. All else is still answered."""
        self._stopping = True
        self._waits.stop()
        self._bells.ring_all()

    async def sample(self) -> None:
        """Note for the board how much has been done by now."""
        await self._pages.sample()

    async def close(self) -> None:
        """Let go of what a stopped service still holds; nothing is answered any more."""
        await self._mcp.close()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            raise ValueError(f"the service speaks HTTP, not {scope['type']}")
        started_us = self._runtime.elapsed_us()
        request = Request(scope, receive, send)
        request_id = next(self._ids)
        more = [(b"x-request-id", request_id.encode())]
        try:
            answer = await self._answer(request, more)
        except TesseraError as refusal:
            answer = answers.refused(refusal)
        except Gone:
            answer = None
        except Exception:
            log.exception("request %s failed", request_id)
            answer = answers.refused(TesseraError())
        if answer is not None:
            if self._stopping or (request.words is not None and request.words.unread()):
                more.append((b"connection", b"close"))
            await answer.send(send, [*more, *self._cors.headers(request.headers)], request.words)
        self._log.note(
            request_id,
            request.method if request.route != "-" else "-",
            request.route,
            answer.status if answer is not None else 0,
            (self._runtime.elapsed_us() - started_us) / 1_000,
            None if request.caller is None else request.caller.key_id,
            None if answer is None else answer.code,
        )

    async def _answer(self, request: Request, more: answers.Pairs) -> Answer | None:
        """The answer, or None if it has been sent or there is nobody to send it to."""
        path = request.scope.get("raw_path", b"").decode("latin-1") or request.scope["path"]
        self._refuse_beside_the_edge(request, path)
        if path in self._documents:
            request.route = path
            return await self._documents.answer(path, request)
        if path in PATHS:
            request.route = MCP
            if request.method == "OPTIONS":
                return self._cors.preflight(ALLOW)
            return await self._mcp.post(request)
        found = self._routes.find(path)
        if found is None:
            if (page := self._pages.find(path)) is not None:
                request.route = page[0].template
                return await self._pages.answer(request, *page, self._address(request))
            refuse_key_in_query(request.query)
            raise NotFound("there is nothing at this path")
        route, named = found
        request.route = route.template
        if request.method == "OPTIONS":
            return self._cors.preflight(route.allow)
        if route.target(request.method, {}) is None:
            raise MethodNotAllowed(allow=route.allow)
        refuse_key_in_query(request.query)
        fields = query_fields(request.query)
        target = route.target(request.method, fields)
        assert target is not None
        caller = request.caller = await self._caller(request, target)
        if target.row.body == "bytes":
            ask = ask_of_strings(target.row, named, fields, request.headers)
            return await self._raw.put(target, caller, ask, request.headers, request.receive)
        if target.row.answer_body == "bytes":
            return await self._raw.get(route, target, caller, (named, fields), request)
        ask = await self._ask(request, target, named, fields)
        return await self._run(request, target, caller, ask, more)

    def _refuse_beside_the_edge(self, request: Request, path: str) -> None:
        if self._edge is None or path in OPEN_PATHS:
            return
        given = request.headers.last(b"x-edge-auth") or b""
        if not hmac.compare_digest(given, self._edge):
            raise Forbidden("this service answers only through its edge")

    async def _caller(self, request: Request, target: Target) -> Caller:
        return NOBODY if target.row.needs == "nothing" else await self._holder(request)

    async def _holder(self, request: Request) -> Caller:
        secret = secret_of(request.headers.last(b"authorization"))
        return await self._keys.caller(secret, self._address(request))

    def _address(self, request: Request) -> str:
        """Where a request comes from. Behind an edge that proves itself, what the edge says."""
        forwarded = request.headers.last(b"x-forwarded-for") if self._edge is not None else None
        if forwarded:
            return forwarded.rsplit(b",", 1)[-1].strip().decode("latin-1")
        client = request.scope.get("client")
        return str(client[0]) if client else ""

    async def _ask(
        self, request: Request, target: Target, named: dict[str, str], fields: dict[str, str]
    ) -> Model:
        row = target.row
        if row.reads:
            return ask_of_strings(row, named, fields, request.headers)
        body = await self._body(request)
        return ask_of_body(row, named, fields, request.headers, body)

    async def _body(self, request: Request) -> bytes:
        whole = request.words is not None and not request.words.unread()
        body = await self._bodies.read(request.headers, request.receive, whole=whole)
        refuse_own_key(request.headers, body)
        return body

    async def _run(
        self, request: Request, target: Target, caller: Caller, ask: Model, more: answers.Pairs
    ) -> Answer | None:
        if isinstance(ask, ListEvents) and ask.follow and request.method == "GET":
            return await self._stream(request, target, caller, ask, more)
        answer = await self._carry_out(target, caller, ask, request.receive, request.gone)
        return answers.answered(target.row, answer)

    async def _carry_out(
        self, target: Target, caller: Caller, ask: Model, receive: Receive, gone: Callable[[], bool]
    ) -> Any:
        """A verb's answer, by whichever door it was asked for."""
        if isinstance(ask, Claim):
            return await self._waits.claim(target, caller, ask, receive, gone)
        if target.row.reads:
            return await self._waits.look(target, caller, ask, receive)
        if isinstance(ask, BATCHES):
            async with self._batches:
                return await self._engine.submit(target.run, caller, ask)
        return await self._engine.submit(target.run, caller, ask)

    async def _stream(
        self, request: Request, target: Target, caller: Caller, ask: ListEvents, more: answers.Pairs
    ) -> Answer | None:
        if self._streams >= STREAMS_MAX or self._stopping:
            raise Unavailable("no more followers of the log are taken", definite=True)

        async def look(page: ListEvents) -> Any:
            return await self._engine.read(target.run, caller, page)

        ask = start_of(ask, request.headers)
        stream = Stream(request.send, look, ask, lambda: self._stopping)
        self._streams += 1
        try:
            with self._bells.listening(LOG) as bell:
                first = await look(ask)
                await stream.start([*more, *self._cors.headers(request.headers)], first)
                try:
                    await until_gone(stream.follow(bell), request.receive)
                except (TesseraError, Gone, TimeoutError) as error:
                    log.info("a stream of the log ended: %s", type(error).__name__)
                await stream.end()
        finally:
            self._streams -= 1
        return None

    def _tell(self, news: News) -> None:
        if news.foreign or any(type_ == "key_revoked" for type_, _ in news.events):
            self._keys.forget()
        self._waits.tell(news)
        self._bells.tell(news)


def _never() -> bool:
    return False
