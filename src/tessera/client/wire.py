"""How a verb travels: which request it is, and what the answer to it means. Nothing here opens a connection.

Both come from the surface's table, so a verb that is added there is known here.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, BinaryIO, Final
from urllib.parse import quote, urlsplit

import msgspec
from msgspec import Raw, Struct

from tessera import models, traces
from tessera.client.retries import repeatable
from tessera.errors import (
    REGISTRY,
    InvalidRequest,
    RateLimited,
    TesseraError,
    Unauthorized,
    Unavailable,
    from_problem,
)
from tessera.limits import BLOB_BYTES_MAX
from tessera.models import Model
from tessera.names import VERSION
from tessera.runtime import Runtime
from tessera.surface import SURFACE, Row

KEY_VARIABLE: Final = "TESSERA_KEY"
READ_SECONDS: Final = 30.0  # how long an answer may take, beyond what the verb itself waits
CONNECT_SECONDS: Final = 5.0
IDLE_SECONDS: Final = 4.0  # before a connection is closed: sooner than servers do, so that none is used dead
NO_KEY: Final = f"no key: set {KEY_VARIABLE} or --key-file (in Python: key=)"
NEVER_REACHED: Final = "the service cannot be reached"
NO_ANSWER: Final = "no answer came: the service may or may not have done it"

_KEY: Final = re.compile(r"[\x21-\x7e]{1,512}")
_VISIBLE: Final = re.compile(r"[\x21-\x7e]+")
_PLAIN: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]*")
_PATH_FIELD: Final = re.compile(r"\{(\w+)\}")
_WAITS: Final = ("wait_seconds", "wait")
_HEADER_NAMES: Final = {
    "idempotency_key": "Idempotency-Key", "range": "Range", "content_type": "Content-Type",
}  # fmt: skip


class Key:
    """A bearer secret that shows itself to nobody: not in a `repr`, not in a log, not in a traceback."""

    __slots__ = ("_secret",)

    def __init__(self, secret: str) -> None:
        secret = secret.strip()
        if not _KEY.fullmatch(secret):
            raise InvalidRequest("the key is not 1 to 512 visible ASCII characters")
        self._secret = secret

    def __repr__(self) -> str:
        return "Key(...)"

    def header(self) -> str:
        """The value of the `Authorization` header."""
        return f"Bearer {self._secret}"


def key_or_none(secret: str | None) -> Key | None:
    """This key, else the one in TESSERA_KEY, else none: health can be asked without."""
    if secret is None:
        secret = os.environ.get(KEY_VARIABLE) or None
    return None if secret is None else Key(secret)


class Sent(Struct, frozen=True):
    """A request about to be sent."""

    row: Row
    method: str
    path: str
    named: dict[str, str]  # the fields that the path holds
    query: dict[str, str]
    headers: dict[str, str]
    content: bytes | None
    waits_seconds: float  # how long the service itself may hold the answer back
    repeatable: bool  # whether sending it twice does what sending it once does

    def __repr__(self) -> str:
        """Without the headers, for one of them is the key."""
        return f"Sent({self.method} {self.path})"


class Wire:
    """One service, as one key's holder meets it."""

    def __init__(self, url: str, key: Key | None, runtime: Runtime) -> None:
        self.url = _checked(url)
        self._key = key
        self._runtime = runtime

    @property
    def is_tls(self) -> bool:
        """Whether the service's certificate is to be checked; loading what that takes costs a tenth of a
        second.
        """
        return self.url.startswith("https://")

    def with_key(self, secret: str) -> Wire:
        """The same service for the holder of another key."""
        return Wire(self.url, Key(secret), self._runtime)

    def request(self, verb: str, ask: bytes, body: bytes | BinaryIO = b"") -> Sent:
        """The request that carries a verb. Refuses, with `invalid_request`, what no request can carry."""
        row = SURFACE[verb]
        if row.path is None:
            raise InvalidRequest(f"{verb} is for the store's own machine: open its file there")
        fields = _said(row, msgspec.json.decode(ask, type=dict[str, Raw]))
        waits = sum(_seconds(fields.get(name)) for name in _WAITS)
        again = repeatable(row, fields)
        headers = self._headers(row, ask, fields)
        named = {name: _in_path(row, ask, fields.pop(name)) for name in _PATH_FIELD.findall(row.path)}
        path = row.path.format(**{name: quote(value, safe=":") for name, value in named.items()})
        query, content = {}, None
        if row.reads or row.body == "bytes":
            query = {name: _in_query(value) for name, value in fields.items()}
        if row.flag is not None:
            query[row.flag] = "true"
        if row.body == "bytes":
            content = _bytes_of(body)
        elif not row.reads:
            headers["Content-Type"] = "application/json"
            content = msgspec.json.encode(fields)
        return Sent(row, row.method, path, named, query, headers, content, waits, again)

    def answer(self, sent: Sent, status: int, headers: Mapping[str, str], content: bytes) -> Any:
        """What came back, as the verb's answer; raises the refusal if it is one."""
        row = sent.row
        if status == 204:
            return models.Empty(retry_after_seconds=_retry_after(headers) or 1)
        if not 200 <= status < 300:
            refusal = _refusal(status, headers, content)
            if self._key is None and isinstance(refusal, Unauthorized):  # the service knows only of headers
                raise Unauthorized(NO_KEY, **refusal.extra)
            raise refusal
        try:
            if row.answer_body == "bytes":
                return _content(sent, headers, content, partial=status == 206)
            return _READERS.get(row.answer, _read)(content, row.answer)
        except (msgspec.MsgspecError, ValueError, KeyError) as error:
            detail = f"what answered {row.name} is no service of this version: is the URL right?"
            raise TesseraError(detail) from error

    def _headers(self, row: Row, ask: bytes, fields: dict[str, Raw]) -> dict[str, str]:
        headers = {"Accept-Encoding": "identity", "User-Agent": f"tessera/{VERSION}"}
        if self._key is not None:
            headers["Authorization"] = self._key.header()
        if (traceparent := traces.current()) is not None:
            headers["Traceparent"] = traceparent
        if row.header is not None and row.header in fields:
            headers[_HEADER_NAMES[row.header]] = _in_header(row, ask, fields.pop(row.header))
        elif row.waits and row.header is not None:
            # A claim that is sent again under its own name gets the lease that the first one won.
            headers[_HEADER_NAMES["idempotency_key"]] = self._runtime.new_id("claim:")
        return headers


def _checked(url: str) -> str:
    """The service's address. Whatever else a URL can hold, a key in it first of all, is refused."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InvalidRequest("a service's URL is http://HOST[:PORT] or https://HOST[:PORT]")
    if parts.username is not None or parts.query or parts.fragment:
        raise InvalidRequest(f"a service's URL holds no user, key or query: put the key in {KEY_VARIABLE}")
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"


@cache
def _required(ask: type[models.Model]) -> frozenset[str]:
    return frozenset(field.name for field in msgspec.structs.fields(ask) if field.required)


def _said(row: Row, fields: dict[str, Raw]) -> dict[str, Raw]:
    """What was said: a null says something where the field is required, else it is as good as left out."""
    required = _required(row.ask)
    return {name: value for name, value in fields.items() if name in required or bytes(value) != b"null"}


def _seconds(value: Raw | None) -> float:
    """How long an answer may be held back, if that is what was asked; what it is not, the service refuses."""
    try:
        return msgspec.json.decode(value or b"0", type=float)
    except msgspec.ValidationError:
        return 0


def _in_header(row: Row, ask: bytes, value: Raw) -> str:
    """A field that travels as a header. What cannot is refused by the verb's own model."""
    found = msgspec.json.decode(value)
    if not isinstance(found, str) or not _VISIBLE.fullmatch(found):
        models.decode(ask, row.ask)
    return str(found)


def _in_path(row: Row, ask: bytes, value: Raw) -> str:
    """A field that travels in the path. What might lead elsewhere is shown to the verb's model first."""
    found = msgspec.json.decode(value)
    if not isinstance(found, str) or not _PLAIN.fullmatch(found):
        models.decode(ask, row.ask)
    return str(found)


def _in_query(value: Raw) -> str:
    text = bytes(value).decode()
    return msgspec.json.decode(text, type=str) if text.startswith('"') else text


def _bytes_of(body: bytes | BinaryIO) -> bytes:
    """The bytes to put, all of them: a request that is sent again needs them again."""
    pieces = [body] if isinstance(body, bytes) else []
    if not isinstance(body, bytes):
        while sum(map(len, pieces)) <= BLOB_BYTES_MAX and (piece := body.read(BLOB_BYTES_MAX + 1)):
            if not isinstance(piece, bytes):
                raise InvalidRequest("body: bytes, or a file open for reading bytes")
            pieces.append(piece)
    if sum(map(len, pieces)) > BLOB_BYTES_MAX:
        raise InvalidRequest(f"body: larger than {BLOB_BYTES_MAX:,} bytes")
    return b"".join(pieces)


def _content(sent: Sent, headers: Mapping[str, str], content: bytes, *, partial: bool) -> models.Content:
    """Bytes and what the headers tell of them. A whole is verified once more: the wire may have spoilt it."""
    sha256, first, size = headers["etag"].strip('"'), 0, len(content)
    if partial:
        span, _, whole = headers["content-range"].removeprefix("bytes ").partition("/")
        first, size = int(span.partition("-")[0]), int(whole)
    elif hashlib.sha256(content).hexdigest() != sha256:
        raise Unavailable("the bytes that came are not those of the hash", definite=True)
    version = headers.get("x-version")
    return models.Content(
        sha256=sha256, size=size, first=first, length=len(content), partial=partial, pieces=[content],
        content_type=headers["content-type"], bucket=sent.named.get("bucket"), key=sent.named.get("key"),
        version=None if version is None else int(version), created_at=headers.get("x-created-at"),
    )  # fmt: skip


def _read(content: bytes, model: type[Model]) -> Model:
    return msgspec.json.decode(content, type=model)


def _read_submitted(content: bytes, _model: type[Model]) -> Model:
    """Receipts and problems in one list, which no decoder tells apart: a receipt has a hash."""
    found = msgspec.json.decode(content, type=dict[str, list[dict[str, Any]]])["results"]
    return models.Submitted(
        [msgspec.convert(one, models.Receipt) if "sha256" in one else one for one in found]
    )


_READERS: Final[dict[type[Model], Callable[[bytes, type[Model]], Model]]] = {
    models.Submitted: _read_submitted,
    models.Claimed: lambda content, _: msgspec.json.decode(content, type=models.ClaimAnswer),
}


def _retry_after(headers: Mapping[str, str]) -> int | None:
    seconds = headers.get("retry-after", "")
    return int(seconds) if seconds.isdecimal() and seconds.isascii() else None


def _refusal(status: int, headers: Mapping[str, str], content: bytes) -> TesseraError:
    """The refusal that the service gave; one of our own making if something in between answered."""
    error = _given(content) or _made_up(status)
    if (seconds := _retry_after(headers)) is not None:
        error.extra["retry_after_seconds"] = seconds
    return error


def _given(content: bytes) -> TesseraError | None:
    try:
        problem = msgspec.json.decode(content, type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    return from_problem(problem) if problem.get("code") in REGISTRY else None


def _made_up(status: int) -> TesseraError:
    detail = f"status {status} came without a problem document, so it was not Tessera that answered"
    if status == RateLimited.status:
        return RateLimited(detail)
    if status in (502, 503, 504):
        return Unavailable(detail)
    return TesseraError(detail)
