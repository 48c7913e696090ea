"""One request on its way through the service."""

from __future__ import annotations

from typing import Any

from tessera.rules.grants import Caller
from tessera.service.answers import Send, Words
from tessera.service.requests import Headers, Receive, Scope


class Request:
    """What was asked, and what has become known of it."""

    __slots__ = ("caller", "client", "gone", "headers", "id", "method", "path", "query", "receive", "route",
                 "scope", "send", "started_us", "verb", "words")  # fmt: skip

    scope: Scope  # what ASGI tells, of a request that goes the ordinary way
    receive: Receive
    send: Send

    def __init__(self, method: str, path: str, headers: Headers, client: Any, words: Words | None) -> None:
        self.method = method
        self.path = path  # still percent-encoded
        self.query = b""
        self.headers = headers
        self.client: tuple[str, int] | None = client  # the address that the connection comes from
        self.words = words
        self.gone = _never if words is None else words.is_closing
        self.id = ""
        self.started_us = 0
        self.route = "-"
        self.verb: str | None = None
        self.caller: Caller | None = None

    @classmethod
    def of(cls, scope: Scope, receive: Receive, send: Send) -> Request:
        """A request as ASGI tells it."""
        path = scope.get("raw_path", b"").decode("latin-1") or scope["path"]
        words = scope.get("tessera.words")
        request = cls(scope["method"], path, Headers(scope["headers"]), scope.get("client"), words)
        request.query = scope["query_string"]
        request.scope, request.receive, request.send = scope, receive, send
        return request


def _never() -> bool:
    return False
