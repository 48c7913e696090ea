"""A request's line and headers: how long they may be, and what HTTP/1.1 wants of them before anybody looks
at what they ask. (RFC 9112 §3; RFC 6585 §5.)
"""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from typing import Final

from httptools import HttpParserCallbackError, HttpParserError, HttpParserInvalidURLError

from tessera.errors import HeadersTooLarge, InvalidRequest, TargetTooLong, TesseraError
from tessera.limits import HEAD_BYTES_MAX, HEADERS_MAX, TARGET_BYTES_MAX

log = logging.getLogger("tessera.service")

_HOST: Final = re.compile(rb"(?:[A-Za-z0-9\-._~%!$&'()*+,;=]*|\[[0-9A-Fa-f:.]+\])(?::[0-9]*)?")
_VERSIONS: Final = ("1.1", "1.0")
_BARE: Final = re.compile(rb"(https?://[^/?#]*)(?=$|\?)", re.IGNORECASE)  # a whole URL whose path is left out


def refuse(method: bytes, version: str, target: bytes, headers: Sequence[tuple[bytes, bytes]]) -> None:
    """Refuse a head that is there whole and is none of HTTP/1.1 or HTTP/1.0. Nothing of what was sent is in
    what the refusal says; the headers' names are in small letters.
    """
    hosts = [value for name, value in headers if name == b"host"]
    if version not in _VERSIONS:
        raise InvalidRequest("HTTP/1.1 is spoken here")
    if len(hosts) > 1:
        raise InvalidRequest("the header host was sent twice")
    if not hosts and version == "1.1":
        raise InvalidRequest("the header host is missing: HTTP/1.1 wants one")
    if hosts and not _HOST.fullmatch(hosts[0].strip(b" \t")):
        raise InvalidRequest("the header host is no name of a host")
    if version == "1.0" and any(name == b"transfer-encoding" for name, _ in headers):
        raise InvalidRequest("HTTP/1.0 knows no transfer-encoding: send content-length")
    if method == b"CONNECT":
        raise InvalidRequest("this is no proxy: CONNECT is not answered")
    if b"#" in target:
        raise InvalidRequest("the request's target holds a fragment: that stays with the client")


def refuse_longer(target: bytes, headers: Sequence[tuple[bytes, bytes]]) -> None:
    """Refuse a head beyond the limit."""
    if len(target) + sum(len(name) + len(value) + 4 for name, value in headers) > HEAD_BYTES_MAX:
        raise too_large()


def refuse_long_target(target: bytes) -> None:
    """Refuse a target beyond the limit, whole or not."""
    if len(target) > TARGET_BYTES_MAX:
        raise TargetTooLong(f"the request's target is over the limit of {TARGET_BYTES_MAX} bytes")


def too_many() -> HeadersTooLarge:
    """The refusal of a head with more headers than the limit."""
    return HeadersTooLarge(f"there are more than {HEADERS_MAX} headers")


def too_large() -> HeadersTooLarge:
    """The refusal of a head beyond the limit."""
    return HeadersTooLarge(f"line and headers are over the limit of {HEAD_BYTES_MAX} bytes")


def with_path(target: bytes) -> bytes:
    """A request's target; where it is a whole URL, which may leave it out, with a path."""
    return target if target.startswith(b"/") else _BARE.sub(rb"\1/", target, count=1)


def refusal_of(error: HttpParserError) -> TesseraError:
    """Why the parser stopped: it was refused, it met what is no HTTP, or something unforeseen happened."""
    cause = error.__context__ if isinstance(error, HttpParserCallbackError) else error
    if isinstance(cause, TesseraError):
        return cause
    if isinstance(cause, HttpParserInvalidURLError):
        return InvalidRequest("the request's target is no path and no URL")
    if isinstance(cause, HttpParserError):
        return InvalidRequest(f"this is no HTTP request: {str(cause)[:1].lower()}{str(cause)[1:]}")
    log.error("a request could not be taken", exc_info=cause)
    return TesseraError()
