"""Which pages of other origins may read answers: those on the operator's list, letter for letter. An origin
is never a right; a key is.
"""

from __future__ import annotations

from typing import Final

from tessera.service.answers import Answer, Pairs, no_content
from tessera.service.requests import Headers

_REQUESTED: Final = (
    b"authorization, content-type, idempotency-key, if-none-match, last-event-id, mcp-method, mcp-name, "
    b"mcp-protocol-version, mcp-session-id, range"
)
_SHOWN: Final = b"allow, content-range, etag, retry-after, x-request-id"
_KEEP_SECONDS: Final = b"600"
_VARY: Final = (b"vary", b"Origin")


class Cors:
    """The list, and the headers that it comes to."""

    def __init__(self, origins: tuple[str, ...]) -> None:
        self._origins = frozenset(origin.encode() for origin in origins)

    def headers(self, headers: Headers) -> Pairs:
        """What every answer carries for the page that asked."""
        if not self._origins:
            return []
        origin = headers.last(b"origin")
        if origin not in self._origins:
            return [_VARY]
        assert origin is not None
        return [_VARY, (b"access-control-allow-origin", origin), (b"access-control-expose-headers", _SHOWN)]

    def preflight(self, allow: str) -> Answer:
        """The answer to OPTIONS: the methods of the path; where there is a list, what a page may send."""
        methods = allow.encode()
        named: Pairs = [(b"allow", methods)]
        if self._origins:
            named += [
                (b"access-control-allow-methods", methods),
                (b"access-control-allow-headers", _REQUESTED),
                (b"access-control-max-age", _KEEP_SECONDS),
            ]
        return no_content(named)
