"""Several services as one: what one cannot answer, the next is asked."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TypeVar

import tessera
from tessera.errors import RateLimited, TesseraError, Unavailable
from tessera.library import Tessera

PATIENCE_SECONDS = 90  # with no answer from any node, the service does not go on
PAUSE_SECONDS = 0.05

Answer = TypeVar("Answer")


class AnyNode:
    """Clients of every node under one key. Not for several threads."""

    def __init__(self, urls: Sequence[str], key: str | None = None, first: int = 0) -> None:
        self._clients = [tessera.Client(url, key, retries=0) for url in urls]
        self._at = first % len(urls)

    def ask(self, act: Callable[[Tessera], Answer], again: bool = True) -> Answer:
        """The answer, or a refusal that will not pass. What may have been carried out is asked for once more
        only if that is the same `again`; else its refusal is raised, not definite.
        """
        end = time.monotonic() + PATIENCE_SECONDS
        asked = 0
        while True:
            try:
                return act(self._clients[self._at])
            except (Unavailable, RateLimited) as refusal:
                if not (refusal.definite or again) or time.monotonic() > end:
                    raise
            self._at = (self._at + 1) % len(self._clients)
            asked += 1
            if asked % len(self._clients) == 0:
                time.sleep(PAUSE_SECONDS)

    def close(self) -> None:
        """Let go of the connections."""
        for client in self._clients:
            client.close()


def is_unknown(refusal: TesseraError) -> bool:
    """Whether what was asked may have been carried out."""
    return isinstance(refusal, Unavailable | RateLimited) and not refusal.definite
