"""The wire: LF-ended lines of JSON, what each operation takes, and how refusals look. (Adapter contract.)

Unknown fields of a request are ignored, so that a minor version may add some. Everything else is strict: one
object, UTF-8, no name twice, no NaN, no lone surrogate.
"""

from __future__ import annotations

import json
from typing import Annotated, Any, Final, Literal, NoReturn

import msgspec
from msgspec import Meta, Struct

from tessera.wake import limits
from tessera.wake.errors import (
    InvalidJson,
    InvalidRequest,
    InvalidUtf8,
    LineTooLong,
    MissingCapability,
    ProtocolMismatch,
    WakeError,
)

PROTOCOL: Final = "0.1"
REQUIRED: Final = ("bounded_delivery_ack_v1", "idempotent_send_v1")
CAPABILITIES: Final = (*REQUIRED, "endpoint_rebind_v1", "history_paging_v1", "subscribe_v1", "activity_v1")

Words = Annotated[str, Meta(min_length=1, max_length=limits.NAME_CHARS_MAX)]
Key = Annotated[str, Meta(min_length=1, max_length=limits.KEY_CHARS_MAX)]
Repos = Annotated[list[Words], Meta(min_length=1, max_length=limits.REPOS_PER_ENDPOINT_MAX)]
Attempts = Annotated[int, Meta(ge=1, le=limits.ATTEMPTS_MAX)]
AckSeconds = Annotated[int, Meta(ge=1, le=limits.ACK_SECONDS_MAX)]
Kind = Literal["hook", "pty", "tmux", "file"]
Harness = Literal["codex", "claude", "other"]
AckMode = Literal["injected", "acknowledged"]
AckSource = Literal["agent", "hook", "mcp", "file", "operator", "client"]
Activity = Literal["unknown", "idle", "busy", "blocked", "typing"]
HookEvent = Literal["prompt", "stop", "permission", "tool", "session_start", "session_end"]
DeliveryState = Literal["pending", "awaiting_ack", "injected", "acknowledged", "failed"]


class Ask(Struct, frozen=True):
    """The manners of every request."""


class Ping(Ask, frozen=True):
    """Who answers, and what it can do."""


class Owner(Struct, frozen=True):
    """The process an endpoint lives with."""

    pid: Annotated[int, Meta(ge=1)]
    start: Annotated[str, Meta(max_length=limits.NAME_CHARS_MAX)]


class Register(Ask, frozen=True):
    """A place that wakes can be written to."""

    name: Words
    repos: Repos
    kind: Kind
    target: dict[str, Any]
    harness: Harness = "other"
    delivery_ack_mode: AckMode = "acknowledged"
    delivery_max_attempts: Attempts = limits.ATTEMPTS_DEFAULT
    ack_timeout_s: AckSeconds = limits.ACK_SECONDS
    replace: bool = False
    owner: Owner | None = None


class Attach(Ask, frozen=True):
    """The connection of a pty endpoint: it stays open and carries the wakes."""

    endpoint_id: Key
    resume_token: Key


class Heartbeat(Ask, frozen=True):
    """The endpoint is still there."""

    endpoint_id: Key
    resume_token: Key
    activity: Activity | None = None


class HookActivity(Ask, frozen=True, rename={"hook_event": "event"}):
    """What an agent's hook tells of its session."""

    endpoint_id: Key
    hook_event: HookEvent
    message_ids: Annotated[list[Key], Meta(max_length=limits.PAGE_MAX)] = []


class Detach(Ask, frozen=True):
    """The endpoint ends. Its operator, on the same machine as the same user, needs no token."""

    endpoint_id: Key
    resume_token: Key | None = None
    reason: Annotated[str, Meta(max_length=limits.REASON_CHARS_MAX)] | None = None


class Endpoints(Ask, frozen=True):
    """Which endpoints there are."""

    repo: Words | None = None
    live: bool | None = None
    endpoint_id: Key | None = None


class Send(Ask, frozen=True):
    """One wake."""

    client_id: Key
    idempotency_key: Key
    sender_repo: Words
    target_repo: Words
    body: str
    correlation_id: Key | None = None
    endpoint_id: Key | None = None
    provenance: Words | None = None
    metadata: dict[str, Any] = {}


class GetMessage(Ask, frozen=True):
    """One wake's receipt, by its id or by its key."""

    message_id: Key | None = None
    client_id: Key | None = None
    idempotency_key: Key | None = None
    include_body: bool = True


class History(Ask, frozen=True):
    """A page of receipts."""

    after: Annotated[int, Meta(ge=0)] | None = None
    before: Annotated[int, Meta(ge=0)] | None = None
    limit: Annotated[int, Meta(ge=1, le=limits.PAGE_MAX)] = limits.PAGE_DEFAULT
    state: list[DeliveryState] = []
    target_repo: Words | None = None
    endpoint_id: Key | None = None
    client_id: Key | None = None
    correlation_id: Key | None = None
    updated_after: int | None = None
    order: Literal["asc", "desc"] = "asc"
    include_body: bool = False


class Ack(Ask, frozen=True):
    """The recipient has it."""

    message_id: Key
    source: AckSource = "client"
    by: Words | None = None
    note: str | None = None


class Retry(Ask, frozen=True):
    """A failed wake's attempts anew."""

    message_id: Key
    reason: Annotated[str, Meta(max_length=limits.REASON_CHARS_MAX)] | None = None
    expect_total_attempts: int | None = None


class Stats(Ask, frozen=True):
    """How the service fares."""


class Subscribe(Ask, frozen=True):
    """The log as it grows."""

    after: Annotated[int, Meta(ge=0)] | None = None
    types: list[str] = []
    endpoint_id: Key | None = None
    client_id: Key | None = None


OPERATIONS: Final[dict[str, type[Ask]]] = {
    "ping": Ping, "register": Register, "attach": Attach, "heartbeat": Heartbeat, "activity": HookActivity,
    "detach": Detach, "endpoints": Endpoints, "send": Send, "message": GetMessage, "history": History,
    "ack": Ack, "retry": Retry, "stats": Stats, "subscribe": Subscribe,
}  # fmt: skip


def parse(line: bytes) -> dict[str, Any]:
    """The object of one line. Refuses `line_too_long`, `invalid_utf8` and `invalid_json`."""
    if len(line) > limits.LINE_BYTES_MAX:
        raise LineTooLong(limit=limits.LINE_BYTES_MAX)
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidUtf8 from error
    try:
        value = json.loads(text, parse_constant=_no_number, object_pairs_hook=_once)
        if not isinstance(value, dict):
            raise ValueError("not an object")
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError as error:
        raise InvalidJson("a lone surrogate is no Unicode text") from error
    except (ValueError, RecursionError) as error:
        raise InvalidJson(f"not one JSON object: {str(error)[:160]}") from error
    return value


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"{word} is no JSON value")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("an object has a name twice")
    return found


def ask_of(request: dict[str, Any], kind: type[Ask]) -> Any:
    """A request's fields, strictly typed; refuses with the field's path."""
    try:
        return msgspec.convert(request, kind)
    except msgspec.ValidationError as error:
        said = str(error)
        field = said.rsplit("`", 2)[-2].removeprefix("$.") if "`" in said else None
        raise InvalidRequest(said[:200], field=field) from error


def check_version(request: dict[str, Any]) -> None:
    """Refuses another major version (any operation but `ping` must name one), or a capability that a request
    requires and this side lacks.
    """
    protocol = request.get("protocol", PROTOCOL if request.get("op") == "ping" else None)
    if not isinstance(protocol, str) or protocol.split(".")[0] != PROTOCOL.split(".")[0]:
        raise ProtocolMismatch(f"this service speaks {PROTOCOL}", supported=[PROTOCOL])
    required = request.get("require", [])
    if not isinstance(required, list):
        raise InvalidRequest("require is a list of capabilities", field="require")
    if missing := [one for one in required if one not in CAPABILITIES]:
        raise MissingCapability(missing=missing)


def answer(request: dict[str, Any], fields: dict[str, Any]) -> bytes:
    """The line that answers a request."""
    return line_of({"ok": True, **_about(request), **fields})


def refusal(request: dict[str, Any], error: WakeError) -> bytes:
    """The line that refuses a request."""
    return line_of({"ok": False, **_about(request), "error": error.wire()})


def line_of(value: dict[str, Any]) -> bytes:
    """One object as a line."""
    return msgspec.json.encode(value) + b"\n"


def _about(request: dict[str, Any]) -> dict[str, Any]:
    about: dict[str, Any] = {"protocol": PROTOCOL}
    if isinstance(op := request.get("op"), str):
        about["op"] = op[:64]
    if isinstance(number := request.get("id"), str | int):
        about["id"] = number
    return about
