"""A request's line and headers while they arrive: how long they may be, and what HTTP/1.1 wants of them
before anybody looks at what they ask. (RFC 9112 §3; RFC 6585 §5.)
"""

from __future__ import annotations

import logging
import re
from typing import Final

from httptools import HttpParserCallbackError, HttpParserError, HttpParserInvalidURLError

from tessera.errors import HeadersTooLarge, InvalidRequest, TargetTooLong, TesseraError
from tessera.limits import HEAD_BYTES_MAX, HEADERS_MAX, TARGET_BYTES_MAX

log = logging.getLogger("tessera.service")

_HOST: Final = re.compile(rb"(?:[A-Za-z0-9\-._~%!$&'()*+,;=]*|\[[0-9A-Fa-f:.]+\])(?::[0-9]*)?")
_VERSIONS: Final = ("1.1", "1.0")
_BARE: Final = re.compile(rb"(https?://[^/?#]*)(?=$|\?)", re.IGNORECASE)  # a whole URL whose path is left out


class Head:
    """What has arrived of one head. Its methods refuse what is too much or wrong, and nothing of what was
    sent is in what they say.
    """

    __slots__ = ("_bytes", "_headers", "_hosts", "_is_chunked", "_is_host_good")

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Another request begins."""
        self._bytes = self._headers = self._hosts = 0
        self._is_host_good = True
        self._is_chunked = False

    def target(self, piece: bytes) -> None:
        """Some of the request's target."""
        self._bytes += len(piece)
        if self._bytes > TARGET_BYTES_MAX:
            raise TargetTooLong(f"the request's target is over the limit of {TARGET_BYTES_MAX} bytes")

    def header(self, name: bytes, value: bytes) -> None:
        """A header, its name in small letters."""
        self._headers += 1
        self._bytes += len(name) + len(value) + 4
        if self._headers > HEADERS_MAX:
            raise HeadersTooLarge(f"there are more than {HEADERS_MAX} headers")
        if self._bytes > HEAD_BYTES_MAX:
            raise too_large()
        if name == b"host":
            self._hosts += 1
            self._is_host_good = _HOST.fullmatch(value.strip(b" \t")) is not None
        elif name == b"transfer-encoding":
            self._is_chunked = True

    def refuse(self, method: bytes, version: str, target: bytes) -> None:
        """Refuse a head that is there whole and is none of HTTP/1.1 or HTTP/1.0."""
        if version not in _VERSIONS:
            raise InvalidRequest("HTTP/1.1 is spoken here")
        if self._hosts > 1:
            raise InvalidRequest("the header host was sent twice")
        if not self._hosts and version == "1.1":
            raise InvalidRequest("the header host is missing: HTTP/1.1 wants one")
        if not self._is_host_good:
            raise InvalidRequest("the header host is no name of a host")
        if self._is_chunked and version == "1.0":
            raise InvalidRequest("HTTP/1.0 knows no transfer-encoding: send content-length")
        if method == b"CONNECT":
            raise InvalidRequest("this is no proxy: CONNECT is not answered")
        if b"#" in target:
            raise InvalidRequest("the request's target holds a fragment: that stays with the client")


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
