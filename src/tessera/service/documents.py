"""The service's own documents, which everybody may read: whether it answers, and what it answers."""

from __future__ import annotations

from typing import Final, Protocol

from tessera.errors import MethodNotAllowed
from tessera.service import answers
from tessera.service.answers import Answer
from tessera.service.cors import Cors
from tessera.service.openapi import document
from tessera.service.own import HEALTHZ, OPENAPI
from tessera.service.requests import refuse_key_in_query
from tessera.storage.port import EngineOnLoop

_ALLOW: Final = "GET, HEAD, OPTIONS"
_HEALTHY: Final = b'{"ok":true}'  # what the store says is at /v1/health


class Asked(Protocol):
    """What a document needs to know of its request."""

    method: str
    query: bytes


class Documents:
    """The documents by their paths."""

    def __init__(self, engine: EngineOnLoop, cors: Cors) -> None:
        self._engine = engine
        self._cors = cors

    def __contains__(self, path: str) -> bool:
        return path in (HEALTHZ, OPENAPI)

    async def answer(self, path: str, request: Asked) -> Answer:
        """The document. The long one is made in a thread, for its first reader: nobody else waits for
        that.
        """
        if (answer := only_reads(request, self._cors)) is not None:
            return answer
        return answers.document(_HEALTHY if path == HEALTHZ else await self._engine.compute(document.encoded))


def only_reads(request: Asked, cors: Cors) -> Answer | None:
    """The answer to a request that asks what may be asked. Refuses one that does anything but read."""
    if request.method == "OPTIONS":
        return cors.preflight(_ALLOW)
    if request.method not in ("GET", "HEAD"):
        raise MethodNotAllowed(allow=_ALLOW)
    refuse_key_in_query(request.query)
    return None
