"""What the service looks at in a message of MCP before the SDK does: whether it is one, and which trace it
belongs to.
"""

from __future__ import annotations

from typing import Final, Literal

import msgspec
from msgspec import UNSET, Struct, UnsetType

from tessera.errors import InvalidRequest, NotFound, TesseraError
from tessera.service.answers import JSON, NO_STORE, NOSNIFF, Answer
from tessera.traces import well_formed
from tessera.wording import lone_surrogate

_PARSE_ERROR: Final = -32700
_INVALID_REQUEST: Final = -32600
_NO_SUCH_METHOD: Final = -32601
_LISTEN: Final = "subscriptions/listen"


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
    """The answer to what is no request and no notification; the SDK would repeat it to the client. Who asks
    to be told of changes is told that there is no such method: nothing that could be told of changes while
    the service runs, and each answer is one document.
    """
    try:
        message = msgspec.json.decode(body, type=_Message)
    except msgspec.ValidationError:
        return _error(_INVALID_REQUEST, "the body must be one JSON-RPC request or notification")
    except RecursionError:
        return _error(_PARSE_ERROR, "the body is nested too deeply")
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        return _error(_PARSE_ERROR, lone_surrogate(error, body) or "the body is no JSON")
    if message.method == _LISTEN and message.id is not UNSET:
        refusal = "there are no subscriptions here: the tools change with the version alone"
        return _error(_NO_SUCH_METHOD, refusal, message.id, NotFound)
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


def _error(
    code: int, message: str, id: int | str | None = None, kind: type[TesseraError] = InvalidRequest
) -> Answer:
    document = {"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}}
    return Answer(kind.status, [JSON, NO_STORE, NOSNIFF], msgspec.json.encode(document), kind.code)
