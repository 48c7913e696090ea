"""What the service looks at in a message of MCP before the SDK does: whether it is one, and which trace it
belongs to.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Final, Literal

import msgspec
from msgspec import UNSET, Struct, UnsetType

from tessera.errors import InvalidRequest
from tessera.service.answers import JSON, NO_STORE, NOSNIFF, Answer
from tessera.traces import well_formed

_PARSE_ERROR: Final = -32700
_INVALID_REQUEST: Final = -32600


class _Message(Struct, frozen=True):
    """What one POST holds, as far as it matters here: a request, or a notification without an id."""

    jsonrpc: Literal["2.0"]
    method: str
    id: int | str | UnsetType = UNSET
    params: dict[str, msgspec.Raw] | UnsetType = UNSET


class _Meta(Struct, frozen=True):
    traceparent: str | None = None


class _Params(Struct, frozen=True):
    meta: _Meta = msgspec.field(name="_meta", default=_Meta())


class _Traced(Struct, frozen=True):
    """The same, as far as it tells of a trace."""

    params: _Params = _Params()


def refused(body: bytes) -> Answer | None:
    """The answer to what is no request and no notification; the SDK would repeat it to the client."""
    try:
        msgspec.json.decode(body, type=_Message)
    except msgspec.ValidationError:
        return _error(_INVALID_REQUEST, "the body must be one JSON-RPC request or notification")
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return _error(_PARSE_ERROR, "the body is no JSON")
    return None


def trace_in(body: bytes) -> str | None:
    """The trace that a call names in its `_meta`, as the protocol has it since 2026-07-28."""
    if b"traceparent" not in body:
        return None
    try:
        found = msgspec.json.decode(body, type=_Traced).params.meta.traceparent
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None  # what is wrong with it is said elsewhere
    return well_formed(found)


def _error(code: int, message: str) -> Answer:
    document = {"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": message}}
    body = msgspec.json.encode(document)
    return Answer(HTTPStatus.BAD_REQUEST, [JSON, NO_STORE, NOSNIFF], body, InvalidRequest.code)
