"""What the service answers that is no verb and no page: its own documents, and its door for MCP. Its
description tells of these beside the surface, so whatever is new here is described.
"""

from __future__ import annotations

from typing import Any, Final

from msgspec import Struct

from tessera.errors import (
    Forbidden,
    NotFound,
    RateLimited,
    ScopeDenied,
    TesseraError,
    Unavailable,
    UnsupportedMedia,
)

HEALTHZ: Final = "/healthz"
OPENAPI: Final = "/openapi.json"
METRICS: Final = "/metrics"
MCP: Final = "/mcp"
OPEN_PATHS: Final = frozenset({HEALTHZ, "/v1/health"})  # answered without the edge secret


class Said(Struct, frozen=True):
    """What one status means, and what comes with it; without a schema nothing comes."""

    text: str
    schema: dict[str, Any] | None = None
    example: Any = None
    media_type: str = "application/json"


class Own(Struct, frozen=True):
    """A path of the service's own, as its description tells of it."""

    path: str
    name: str
    title: str
    text: str
    tag: str
    answers: dict[int, Said]
    refusals: tuple[type[TesseraError], ...] = ()  # beside those of every path
    method: str = "GET"
    needs: str = "nothing"
    body: Said | None = None


_ID: Final = {"type": ["string", "integer", "null"]}
_RPC: Final = {
    "type": "object", "properties": {"jsonrpc": {"const": "2.0"}, "id": _ID}, "required": ["jsonrpc"],
}  # fmt: skip
_CALL: Final = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
_ERROR: Final = {"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": "why"}}

OWN: Final = (
    Own(
        HEALTHZ, "healthz", "Ask whether the process answers",
        "Whether the process answers, and nothing of the store: that is at `/v1/health`.", "service",
        {200: Said("It does.", {"type": "object", "properties": {"ok": {"const": True}}, "required": ["ok"]},
                   {"ok": True})},
    ),
    Own(
        OPENAPI, "openapi", "Read this description",
        "The description of this interface, in OpenAPI 3.1; `tessera openapi` prints the same.", "service",
        {200: Said("The description.", {"type": "object"}, {"openapi": "3.1.0"})},
        (Forbidden,),
    ),
    Own(
        METRICS, "metrics", "Read the figures",
        "The service's figures in Prometheus's text form. `TESSERA_METRICS_PORT` opens a port of the "
        "service's own machine that needs no key for them.", "service",
        {200: Said("The figures.", {"type": "string"}, "tessera_claims_limit 24.0\n", "text/plain")},
        (Forbidden, ScopeDenied, RateLimited, Unavailable), needs="admin",
    ),
    Own(
        MCP, "mcp", "Call a tool over MCP",
        "The Model Context Protocol over Streamable HTTP, stateless: one JSON-RPC request or notification "
        "in, one answer out. Clients of that protocol find the tools with `tools/list`.", "mcp",
        {
            200: Said("The answer to a request.", _RPC, {"jsonrpc": "2.0", "id": 1, "result": {}}),
            202: Said("A notification was taken."),
            400: Said("The body is no message of the protocol, or its headers belie it.", _RPC, _ERROR),
            404: Said("There is no such method in the protocol's revision.", _RPC, _ERROR),
        },
        (Forbidden, NotFound, UnsupportedMedia, RateLimited, Unavailable),
        method="POST", needs="any key", body=Said("One message.", {"type": "object"}, _CALL),
    ),
)  # fmt: skip
