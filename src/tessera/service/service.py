"""The ASGI application: one dispatcher over the surface. In this order: edge secret, path and method, key,
size and body, verb; the verb checks the rest inside its transaction. (Contract §2, order of checks.)
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Any

from tessera import models
from tessera.acts.act import carry_out_on_loop
from tessera.errors import MethodNotAllowed, NotFound
from tessera.limits import BATCHES_AT_ONCE
from tessera.lite.local import LOCAL
from tessera.lite.log import OrderedLog
from tessera.models import Claim, ListEvents, Model
from tessera.rules import grants, waits
from tessera.rules.grants import Caller
from tessera.rules.tracing import of_tasks
from tessera.runtime import Runtime
from tessera.service import answers, tracing
from tessera.service.answers import Answer, Send
from tessera.service.bells import Bells
from tessera.service.cors import Cors
from tessera.service.documents import Documents, only_reads
from tessera.service.edge import Edge
from tessera.service.exposition import Beside, Exposition
from tessera.service.express import Express
from tessera.service.followers import Followers
from tessera.service.keys import NOBODY, Keys, secret_of
from tessera.service.logs import RequestLog
from tessera.service.mcp import ALLOW, PATHS, Mcp
from tessera.service.metrics import GONE, OK, Metrics
from tessera.service.own import MCP, METRICS, OPEN_PATHS
from tessera.service.pages.pages import Pages
from tessera.service.parts import refuse_many_parts
from tessera.service.raw import RawRoutes
from tessera.service.replies import Replies
from tessera.service.request import Request
from tessera.service.requests import (
    Bodies,
    Gone,
    Receive,
    Scope,
    ask_of_body,
    ask_of_strings,
    query_fields,
    refuse_key_in_query,
    refuse_own_key,
)
from tessera.service.routes import BATCHES, Routes, Target
from tessera.service.waits import Waits
from tessera.settings import Settings
from tessera.storage.port import EngineOnLoop, News
from tessera.surface import SURFACE


class Service:
    """The service on one engine. Call everything from the loop's thread."""

    def __init__(
        self, engine: EngineOnLoop, settings: Settings, runtime: Runtime, requests: RequestLog,
        beside: Iterable[Beside] = (), spans: Any = None, ordered: OrderedLog = LOCAL,
    ) -> None:  # fmt: skip
        self._spans = spans
        self._ordered = ordered
        self._engine = engine
        self._runtime = runtime
        self._edge = Edge(settings.edge_secret)
        self._routes = Routes(SURFACE.values())
        self._keys = Keys(engine, runtime)
        self._cors = Cors(settings.cors_origins)
        self._documents = Documents(engine, self._cors)
        self._bodies = Bodies()
        self._raw = RawRoutes(engine, self._bodies)
        self._pages = Pages(engine, self._keys, self._bodies, settings, runtime)
        self._bells = Bells()
        self._followers = Followers(engine, self._bells)
        self._metrics = Metrics()
        self._replies = Replies(runtime, self._cors, self._metrics, requests, spans)
        self._waits = Waits(engine, settings, runtime, self._bells, self._metrics, ordered)
        self.exposition = Exposition(
            engine, self._metrics, self._waits.gate, lambda: self._followers.number, beside
        )
        self._mcp = Mcp(
            self._routes, settings, self._holder, self._body, self._carry_out, self._metrics.came, spans
        )
        self._batches = asyncio.Semaphore(BATCHES_AT_ONCE)
        # A trace is of a task of the loop, so a service that traces has the ordinary way alone.
        self.express = (
            None
            if spans is not None
            else Express(
                engine,
                self._routes,
                self._keys,
                self._edge,
                self._waits,
                self._replies,
                self._metrics,
                runtime,
            )
        )
        self.refuse_unheard = self._replies.refuse_unheard
        engine.watch(self._tell)

    def stop(self) -> None:
        """Claim nothing any more, and let go of whoever waits. All else is still answered."""
        self._replies.stopping = True
        self._waits.stop()
        self._followers.stop()
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
        request = Request.of(scope, receive, send)
        if self._spans is None or not tracing.is_traced(request.path):
            await self._serve(request)
        else:
            with self._spans.request(tracing.traceparent_of(request.headers)):
                await self._serve(request)

    async def _serve(self, request: Request) -> None:
        self._replies.begin(request)
        outcome = OK
        try:
            answer = await self._answer(request)
        except Gone:
            answer, outcome = None, GONE
        except Exception as error:
            answer = self._replies.failed(request, error)
        if answer is not None:
            await answer.send(request.send, self._replies.headers(request), request.words)
        self._replies.note(request, answer, outcome)

    async def _answer(self, request: Request) -> Answer | None:
        """The answer, or None if it has been sent or there is nobody to send it to."""
        path = request.path
        if path not in OPEN_PATHS:
            self._edge.refuse(request)
        if path in self._documents:
            request.route = path
            return await self._documents.answer(path, request)
        if path == METRICS:
            request.route = METRICS
            return await self._figures(request)
        if path in PATHS:
            request.route = MCP
            if request.method == "OPTIONS":
                return self._cors.preflight(ALLOW)
            return await self._mcp.post(request)
        found = self._routes.find(path)
        if found is None:
            if (page := self._pages.find(path)) is not None:
                request.route = page[0].template
                return await self._pages.answer(request, *page, self._edge.address(request))
            refuse_key_in_query(request.query)
            raise NotFound("there is nothing at this path: /docs lists all that there are")
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
        request.verb = target.row.name
        caller = request.caller = await self._caller(request, target)
        if target.row.body == "bytes":
            ask = ask_of_strings(target.row, named, fields, request.headers)
            return await self._raw.put(target, caller, ask, request.headers, request.receive)
        if target.row.answer_body == "bytes":
            return await self._raw.get(route, target, caller, (named, fields), request)
        ask = await self._ask(request, target, named, fields)
        return await self._run(request, target, caller, ask)

    async def _figures(self, request: Request) -> Answer:
        """The figures of the service and its store, for an admin's key."""
        if (answer := only_reads(request, self._cors)) is not None:
            return answer
        caller = request.caller = await self._holder(request)
        grants.is_admin(caller)
        accept = (request.headers.last(b"accept") or b"").decode("latin-1")
        return answers.text(*await self.exposition.page(caller, accept))

    async def _caller(self, request: Request, target: Target) -> Caller:
        return NOBODY if target.row.needs == "nothing" else await self._holder(request)

    async def _holder(self, request: Request) -> Caller:
        secret = secret_of(request.headers)
        return await self._keys.caller(secret, self._edge.address(request))

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
        refuse_many_parts(body)
        return body

    async def _run(self, request: Request, target: Target, caller: Caller, ask: Model) -> Answer | None:
        if isinstance(ask, ListEvents) and ask.follow and request.method == "GET":
            await self._followers.follow(request, target, caller, ask, self._replies.headers(request))
            return None
        headers = request.headers
        trace = tracing.traceparent_of(headers) if self._spans is None else self._spans.here()
        ask = of_tasks(ask, trace)
        answer = await self._carry_out(target, caller, ask, request.receive, request.gone)
        return answers.answered(target.row, answer)

    async def _carry_out(
        self, target: Target, caller: Caller, ask: Model, receive: Receive, gone: Callable[[], bool]
    ) -> Any:
        """A verb's answer, by whichever door it was asked for."""
        answer = await self._carried_out(target, caller, ask, receive, gone)
        if self._spans is not None:
            await tracing.tell(self._spans, self._engine, target, ask, answer)
        return answer

    async def _carried_out(
        self, target: Target, caller: Caller, ask: Model, receive: Receive, gone: Callable[[], bool]
    ) -> Any:
        if isinstance(ask, Claim):
            return await self._waits.claim(target, caller, ask, receive, gone)
        if isinstance(ask, models.ClaimNext | models.ClaimTask):
            return await self._waits.win(target, caller, ask, gone)
        since_us = self._runtime.elapsed_us()
        try:
            if target.row.takes_steps:
                return await carry_out_on_loop(target.row.verb(ask, self._ordered), self._engine, caller)
            if target.row.reads:
                return await self._waits.look(target, caller, ask, receive)
            if isinstance(ask, BATCHES):
                async with self._batches:
                    return await self._engine.submit(target.run, caller, ask)
            return await self._engine.submit(target.run, caller, ask)
        finally:
            if not waits.seconds(ask):  # whoever waits for something to come is not kept by the engine
                self._metrics.took(target.row.name, self._runtime.elapsed_us() - since_us)

    def _tell(self, news: News) -> None:
        if news.foreign or any(type_ == "key_revoked" for type_, _ in news.events):
            self._keys.forget()
        self._waits.tell(news)
        self._bells.tell(news)
