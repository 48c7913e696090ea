"""The edge that a service may stand behind: a proxy that proves itself by a secret."""

from __future__ import annotations

import hmac

from tessera.errors import Forbidden
from tessera.service.request import Request


class Edge:
    """What is asked of requests when there is one, and what it is believed."""

    def __init__(self, secret: str | None) -> None:
        self._secret = secret.encode() if secret else None

    def refuse(self, request: Request) -> None:
        """Refuse, with `forbidden`, a request that did not come by the edge."""
        if self._secret is None:
            return
        given = request.headers.last(b"x-edge-auth") or b""
        if not hmac.compare_digest(given, self._secret):
            raise Forbidden("this service answers only through its edge")

    def address(self, request: Request) -> str:
        """Where a request comes from. Behind an edge that proves itself, what the edge says."""
        forwarded = request.headers.last(b"x-forwarded-for") if self._secret is not None else None
        if forwarded:
            return forwarded.rsplit(b",", 1)[-1].strip().decode("latin-1")
        return str(request.client[0]) if request.client else ""
