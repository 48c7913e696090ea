"""From what a client sends to what a verb is asked: query, headers, body. Everything has a limit here, and
nothing that was sent is ever echoed.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, MutableMapping
from contextlib import contextmanager
from typing import Any, Final
from urllib.parse import parse_qsl

import msgspec
from msgspec import Raw, structs

from tessera import models
from tessera.errors import InvalidRequest, TesseraError, Unauthorized, Unavailable, UnsupportedMedia
from tessera.limits import BODIES_BYTES_MAX, BODY_SECONDS_MAX, JSON_BODY_BYTES_MAX
from tessera.models import Model
from tessera.names import IDEMPOTENCY_KEY_PATTERN
from tessera.service.twice import refuse_names_given_twice
from tessera.surface import Row
from tessera.wording import lone_surrogate

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]

_KEY_IN_QUERY = re.compile(
    rb"(?:^|&)(?:key|token|api_?key|access_token|authorization)=|tessera_[A-Za-z0-9_-]{16}", re.IGNORECASE
)
_IDEMPOTENCY_KEY = re.compile(IDEMPOTENCY_KEY_PATTERN)
_LENGTH = re.compile(rb"[0-9]{1,18}\Z")
_JSON: Final = (b"application/json", b"text/json")
_WHITE: Final = b" \t"  # around a header's value it is HTTP's own
_UTF8: Final = (b"utf-8", b"utf8", b'"utf-8"')


class Gone(Exception):
    """The client hung up before it had said everything: nothing is to be done for it."""


class Headers:
    """The headers that the service looks at, each at most once; a name given twice is refused when asked
    for.
    """

    __slots__ = ("_values",)

    def __init__(self, pairs: Iterable[tuple[bytes, bytes]]) -> None:
        values: dict[bytes, bytes | None] = {}
        for name, value in pairs:
            values[name] = None if name in values else value
        self._values = values

    def get(self, name: bytes) -> bytes | None:
        """A header's value, None without one; `invalid_request` when it was sent twice."""
        value = self._values.get(name)
        if value is None and name in self._values:
            raise InvalidRequest(f"the header {name.decode()} was sent twice")
        return value and value.strip(_WHITE)

    def is_twice(self, name: bytes) -> bool:
        """Whether a header was sent more than once."""
        return self._values.get(name, b"") is None

    def last(self, name: bytes) -> bytes | None:
        """The same, but one sent twice counts as none."""
        value = self._values.get(name)
        return value and value.strip(_WHITE)


def refuse_key_in_query(query: bytes) -> None:
    """Keys travel in `Authorization` alone: one in a query string would end up in somebody's log."""
    if query and _KEY_IN_QUERY.search(query):
        raise Unauthorized("a key travels in the Authorization header, never in the query")


def refuse_own_key(headers: Headers, body: bytes) -> None:
    """A key inside a brief, a name or an idempotency key would be kept and shown: it is refused."""
    secret = (headers.last(b"authorization") or b"").rpartition(b" ")[2]
    if secret and (secret in body or secret in (headers.last(b"idempotency-key") or b"")):
        raise InvalidRequest("the request holds its own key: a key travels in the Authorization header alone")


def query_fields(query: bytes) -> dict[str, str]:
    """The fields of a query string, each given once."""
    if not query:
        return {}
    try:
        pairs = parse_qsl(
            query.decode("ascii"), keep_blank_values=True, strict_parsing=True, errors="strict",
            max_num_fields=32,
        )  # fmt: skip
    except ValueError as error:
        raise InvalidRequest("the query string is malformed") from error
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise InvalidRequest("the query string gives a name twice")
    return fields


class Bodies:
    """Reads bodies: up to their limit and no further, within their time, and all together within the
    service's memory.
    """

    def __init__(self) -> None:
        self._held = 0  # bytes that are on their way in or out

    async def read(
        self, headers: Headers, receive: Receive, bytes_max: int = JSON_BODY_BYTES_MAX,
        seconds_max: float = BODY_SECONDS_MAX, whole: bool = False,
    ) -> bytes:  # fmt: skip
        """The whole body, or a refusal; `whole` says that it has arrived. Raises `Gone` if the client hangs
        up in the middle.
        """
        refuse_unread(headers, bytes_max)
        message = await receive() if whole else await _first(receive, seconds_max)
        if message["type"] == "http.disconnect":
            raise Gone
        if not message.get("more_body"):
            body: bytes = message.get("body", b"")
            if len(body) > bytes_max:
                raise _too_large(bytes_max)
            return body
        return await self._rest(message, receive, bytes_max, seconds_max)

    def refuse_beyond(self, size: int) -> None:
        """Refuse to hold so many bytes more than there is memory for."""
        if self._held + size > BODIES_BYTES_MAX:
            raise Unavailable("too many bytes are under way at once; try again", definite=True)

    @contextmanager
    def holding(self, size: int) -> Iterator[None]:
        """Count so many bytes that the service holds for one client."""
        self._held += size
        try:
            yield
        finally:
            self._held -= size

    async def _rest(
        self, message: MutableMapping[str, Any], receive: Receive, bytes_max: int, seconds_max: float
    ) -> bytes:
        body = bytearray()
        counted = 0
        try:
            async with asyncio.timeout(seconds_max):
                while True:
                    body += message.get("body", b"")
                    if len(body) > bytes_max:
                        raise _too_large(bytes_max)
                    if not message.get("more_body"):
                        return bytes(body)
                    self._held += len(body) - counted
                    counted = len(body)
                    self.refuse_beyond(0)
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise Gone
        except TimeoutError as error:
            raise _too_slow(seconds_max) from error
        finally:
            self._held -= counted


def refuse_unread(headers: Headers, bytes_max: int) -> None:
    """Refuse a body by what its headers say of it: compressed, or too long."""
    if headers.get(b"content-encoding") not in (None, b"identity", b""):
        raise UnsupportedMedia("a compressed body is not read: send it plain")
    coding = headers.get(b"transfer-encoding")
    if coding is not None and coding.lower() != b"chunked":
        raise UnsupportedMedia("a body comes plain or in chunks, in no other transfer-encoding")
    length = headers.get(b"content-length")
    if length is not None and not _LENGTH.match(length):
        raise InvalidRequest("the header content-length is no number")
    if length is not None and int(length) > bytes_max:
        raise _too_large(bytes_max)


async def _first(receive: Receive, seconds_max: float) -> MutableMapping[str, Any]:
    """What has arrived by the time the verb is chosen: nearly always everything."""
    try:
        async with asyncio.timeout(seconds_max):
            message = await receive()
            while not message.get("body") and message.get("more_body"):
                message = await receive()
    except TimeoutError as error:
        raise _too_slow(seconds_max) from error
    return message


def ask_of_strings(row: Row, named: dict[str, str], fields: dict[str, str], headers: Headers) -> Model:
    """What is asked without a JSON body: the names in the path, the query's fields, and the header that the
    row names.
    """
    if twice := named.keys() & fields.keys():
        raise InvalidRequest(f"{min(twice)}: belongs in the path")
    if row.header is None:
        return models.convert({**named, **fields}, row.ask)
    if row.header in fields:
        raise InvalidRequest(f"{row.header}: over HTTP this is a header")
    value = headers.last(row.header.replace("_", "-").encode())
    said = {} if value is None else {row.header: value.decode("latin-1")}
    return models.convert({**named, **fields, **said}, row.ask)


def ask_of_body(
    row: Row, named: dict[str, str], fields: dict[str, str], headers: Headers, body: bytes
) -> Model:  # fmt: skip
    """What a writing verb is asked: its body, the names in its path, and the header that its row names."""
    if fields:
        raise InvalidRequest("this path takes no query string")
    document = body or b"{}"
    if body:
        refuse_other_types(headers.get(b"content-type"))
        refuse_names_given_twice(document, row.ask)
    if named:
        document = _with_names(document, named)
    ask = models.decode(document, row.ask, {*named, row.header or ""})
    return _with_header(ask, row.header, headers) if row.header is not None else ask


def _with_header(ask: Model, field: str, headers: Headers) -> Model:
    """An idempotency key is a header here, and refused in the body: one place for it, and no doubt."""
    name = field.replace("_", "-")
    if getattr(ask, field) is not None:
        raise InvalidRequest(f"{field}: over HTTP this is the header {name}")
    value = headers.get(name.encode())
    if value is None:
        return ask
    text = value.decode("latin-1")
    if not _IDEMPOTENCY_KEY.match(text):
        raise InvalidRequest(f"the header {name} is not 1 to 255 visible ASCII characters")
    return structs.replace(ask, **{field: text})


def _with_names(document: bytes, named: dict[str, str]) -> bytes:
    """The body with the names of the path as fields of it."""
    try:
        fields = msgspec.json.decode(document, type=dict[str, Raw])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidRequest(lone_surrogate(error, document) or "the body is no JSON object") from error
    if twice := named.keys() & fields.keys():
        raise InvalidRequest(f"{min(twice)}: belongs in the path")
    return msgspec.json.encode({**fields, **named})


def refuse_other_types(content_type: bytes | None) -> None:
    """Refuse a body that is announced as something else than JSON in UTF-8."""
    if content_type is None:
        return
    kind, *parameters = (part.strip().lower() for part in content_type.split(b";"))
    if kind not in _JSON and not (kind.startswith(b"application/") and kind.endswith(b"+json")):
        raise UnsupportedMedia("the body is not announced as JSON: send content-type: application/json")
    for parameter in parameters:
        name, _, value = parameter.partition(b"=")
        if name == b"charset" and value not in _UTF8:
            raise UnsupportedMedia("the body is not announced as UTF-8")


def _too_large(bytes_max: int) -> TesseraError:
    return InvalidRequest(f"the body is over the limit of {bytes_max} bytes")


def _too_slow(seconds_max: float) -> TesseraError:
    return InvalidRequest(f"the body did not arrive within {seconds_max:g} seconds")
