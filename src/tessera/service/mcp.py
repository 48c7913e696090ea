"""`/mcp`: the tools over Streamable HTTP, stateless, one JSON answer to each POST. The SDK speaks the
protocol, in its revisions with a handshake and without; keys, limits and strangers are the service's own.

The SDK is loaded by the first request, in a thread, for it takes a second; a service that is never asked over
MCP needs none of it.
"""

from __future__ import annotations

import asyncio
import importlib
import ipaddress
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Any, Final

from tessera.errors import (
    Forbidden,
    InvalidRequest,
    MethodNotAllowed,
    NotFound,
    TesseraError,
    Unauthorized,
    Unavailable,
)
from tessera.models import Model
from tessera.names import HOW_TO_GET_MCP
from tessera.rules.grants import Caller
from tessera.rules.tracing import of_tasks
from tessera.service import answers, tracing
from tessera.service.answers import JSON, NO_STORE, NOSNIFF, Answer
from tessera.service.mcp_messages import refused, trace_in
from tessera.service.metrics import GONE, outcome_of
from tessera.service.own import MCP
from tessera.service.requests import Gone, Headers, Receive, refuse_key_in_query, refuse_other_types
from tessera.service.routes import Routes, Target
from tessera.settings import Settings

log = logging.getLogger("tessera.service")

PATHS: Final = (MCP, f"{MCP}/")
ALLOW: Final = "POST, OPTIONS"

_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})
_EVERY_ADDRESS: Final = frozenset({"0.0.0.0", "::"})  # noqa: S104 - compared with, not bound to
_ACCEPT: Final = ("*/*", "application/*", "application/json")
_PASSED_ON: Final = frozenset({b"mcp-protocol-version", b"mcp-method", b"mcp-name", b"mcp-session-id"})

CarryOut = Callable[[Target, Caller, Model, Receive, Callable[[], bool]], Awaitable[Any]]


class Visit:
    """One POST: who calls, whether they are still there, and what came of it."""

    __slots__ = ("caller", "code", "ended", "gone", "receive", "traceparent")

    def __init__(self, caller: Caller, receive: Receive, gone: Callable[[], bool]) -> None:
        self.caller = caller
        self.receive = receive
        self.gone = gone
        self.ended: Exception | None = None  # what ends the request, whatever the protocol would answer
        self.code: str | None = None  # of the refusal that a tool gave
        self.traceparent: str | None = None  # the trace that the call says it belongs to


class Strangers:
    """Which hosts and origins are let in. A page of elsewhere that has its own name point to this machine
    comes with that name as its host, and with its own origin.
    """

    def __init__(self, settings: Settings) -> None:
        self._bound = settings.host
        self._is_local = settings.host in _LOOPBACK or settings.host.startswith("127.")
        self._names = frozenset({*_LOOPBACK, settings.host, *settings.mcp_hosts})
        self._origins = frozenset(settings.cors_origins)
        self._has_edge = settings.edge_secret is not None

    def refuse(self, headers: Headers) -> None:
        """Refuse a request that is meant for another host, or comes from a page of another origin."""
        host = _host((headers.last(b"host") or b"").decode("latin-1"))
        if not (self._has_edge or self._knows(host)):
            raise Forbidden("this service is not called that: TESSERA_MCP_HOSTS lists its names")
        origin = headers.get(b"origin")
        if origin is not None and not self._lets_in(origin.decode("latin-1")):
            raise Forbidden("pages of this origin are not let in: TESSERA_CORS_ORIGINS lists those that are")

    def _knows(self, host: str) -> bool:
        return host in self._names or (self._bound in _EVERY_ADDRESS and _is_address(host))

    def _lets_in(self, origin: str) -> bool:
        scheme, _, host = origin.partition("://")
        return origin in self._origins or (
            self._is_local and scheme in ("http", "https") and _host(host) in _LOOPBACK
        )


class Mcp:
    """The endpoint."""

    def __init__(
        self, routes: Routes, settings: Settings, holder: Callable[[Any], Awaitable[Caller]],
        body: Callable[[Any], Awaitable[bytes]], carry_out: CarryOut, came: Callable[[str, str], None],
        spans: Any = None,
    ) -> None:  # fmt: skip
        self._spans = spans
        self._came = came
        self._targets = routes.by_verb()
        self._holder = holder
        self._body = body
        self._wide = settings.mcp_tools == "all"
        self._carry_out = carry_out
        self._strangers = Strangers(settings)
        self._manager: asyncio.Future[Any] | None = None
        self._serving: asyncio.Task[None] | None = None
        self._end = asyncio.Event()

    async def post(self, request: Any) -> Answer:
        """What a request of the service is answered. Raises `Gone` when the client hung up meanwhile."""
        if request.method != "POST":
            raise MethodNotAllowed(allow=ALLOW)
        refuse_key_in_query(request.query)
        headers: Headers = request.headers
        request.caller = await self._holder(request)
        self._strangers.refuse(headers)
        refuse_other_types(headers.get(b"content-type"))
        _refuse_takers_of_else(headers.get(b"accept"))
        body = await self._body(request)
        visit = Visit(request.caller, request.receive, request.gone)
        visit.traceparent = trace_in(body) or tracing.traceparent_of(headers)
        return refused(body) or await self._answer(_inner(request.scope, headers, visit), visit, body)

    async def close(self) -> None:
        """Let go of the SDK."""
        self._end.set()
        if self._serving is not None:
            await asyncio.gather(self._serving, return_exceptions=True)

    async def _answer(self, scope: dict[str, Any], visit: Visit, body: bytes) -> Answer:
        """The SDK's answer to one message."""
        manager = await self._started()
        heard = deque([{"type": "http.request", "body": body, "more_body": False}])

        async def receive() -> Any:
            return heard.popleft() if heard else {"type": "http.disconnect"}

        said: list[Any] = []

        async def send(message: Any) -> None:
            said.append(message)

        await manager.handle_request(scope, receive, send)
        if visit.ended is not None:
            raise visit.ended
        content = b"".join(message.get("body", b"") for message in said[1:])
        answer = Answer(said[0]["status"], [JSON, NO_STORE, NOSNIFF], content, visit.code)
        if answer.status >= HTTPStatus.BAD_REQUEST and not content:
            return answers.refused(InvalidRequest("this is no message of the protocol"))
        return answer

    async def _started(self) -> Any:
        if self._manager is None:
            loop = asyncio.get_running_loop()
            self._manager = loop.create_future()
            self._serving = loop.create_task(self._serve(self._manager))
        return await asyncio.shield(self._manager)

    async def _serve(self, started: asyncio.Future[Any]) -> None:
        """Keep the SDK's manager open in one task, as it wants to be, until the service ends."""
        try:
            made = await asyncio.to_thread(_manager, self._wide, self._call)
        except ImportError:
            started.set_exception(NotFound(f"MCP is not installed here: {HOW_TO_GET_MCP}"))
            return
        except Exception as error:
            started.set_exception(error)
            return
        async with made.run():
            started.set_result(made)
            await self._end.wait()

    async def _call(self, tool: Any, arguments: dict[str, Any], request: Any) -> Any:
        """Carry a tool out for the caller of the request that it came by."""
        visit: Visit = request.scope["tessera.visit"]
        if self._spans is None:
            return await self._called(tool, arguments, visit)
        with self._spans.request(visit.traceparent):
            visit.traceparent = self._spans.here()
            return await self._called(tool, arguments, visit)

    async def _called(self, tool: Any, arguments: dict[str, Any], visit: Visit) -> Any:
        outcome = TesseraError.code
        try:
            ask, _ = tool.ask(arguments)
            ask = of_tasks(ask, visit.traceparent)
            answer = await self._carry_out(
                self._targets[tool.name], visit.caller, ask, visit.receive, visit.gone
            )
            outcome = outcome_of(answer)
            return answer
        except TesseraError as refusal:
            visit.code = outcome = refusal.code
            if isinstance(refusal, Unauthorized):
                visit.ended = refusal  # a key that counts no more is told to the client, not to its model
            raise
        except Gone as gone:
            visit.ended, outcome = gone, GONE
            raise Unavailable from None
        except Exception:
            log.exception("a tool failed")
            visit.code = TesseraError.code
            raise TesseraError from None
        finally:
            self._came(tool.name, outcome)
            if self._spans is not None:
                self._spans.came(tool.name, tool.name, outcome)


def _manager(wide: bool, call: Any) -> Any:
    """The SDK's own manager of requests around our server. Imports the SDK."""
    server = importlib.import_module("tessera.tools.server")
    http = importlib.import_module("mcp.server.streamable_http_manager")
    return http.StreamableHTTPSessionManager(server.server(wide, call), json_response=True, stateless=True)


def _inner(scope: Any, headers: Headers, visit: Visit) -> dict[str, Any]:
    """The request as the SDK sees it: without the key, and with its headers as HTTP means them."""
    kept = [(name, value) for name in _PASSED_ON if (value := headers.get(name)) is not None]
    kept += [JSON, (b"accept", b"application/json, text/event-stream"), (b"host", b"localhost")]
    shared = {name: scope.get(name) for name in ("asgi", "http_version", "scheme", "client", "server")}
    return {
        **shared, "type": "http", "method": "POST", "path": MCP, "raw_path": MCP.encode(), "root_path": "",
        "query_string": b"", "headers": kept, "tessera.visit": visit,
    }  # fmt: skip


def _refuse_takers_of_else(accept: bytes | None) -> None:
    """Refuse a client that takes no JSON."""
    if accept is None:
        return
    kinds = (one.partition(";")[0].strip().lower() for one in accept.decode("latin-1").split(","))
    if not any(kind in _ACCEPT for kind in kinds):
        raise InvalidRequest("answers are JSON: send accept: application/json, text/event-stream")


def _host(value: str) -> str:
    """The name in a `Host` header or an origin, without its port."""
    name = value[1:].partition("]")[0] if value.startswith("[") else value.partition(":")[0]
    return name.lower().removesuffix(".")


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
