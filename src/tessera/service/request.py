"""One request on its way through the service."""

from __future__ import annotations

from tessera.rules.grants import Caller
from tessera.service.answers import Send, Words
from tessera.service.requests import Headers, Receive, Scope


class Request:
    """What was asked, and what has become known of it."""

    __slots__ = ("caller", "gone", "headers", "method", "query", "receive", "route", "scope", "send",
                 "verb", "words")  # fmt: skip

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.scope = scope
        self.receive = receive
        self.send = send
        self.method: str = scope["method"]
        self.query: bytes = scope["query_string"]
        self.headers = Headers(scope["headers"])
        self.words: Words | None = scope.get("tessera.words")
        self.gone = _never if self.words is None else self.words.is_closing
        self.route = "-"
        self.verb: str | None = None
        self.caller: Caller | None = None


def _never() -> bool:
    return False
