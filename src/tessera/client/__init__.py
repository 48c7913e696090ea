"""A store somewhere else: the library's verbs over HTTP, for threads and for event loops."""

from __future__ import annotations

from tessera.client.asynchronous import AsyncClient, AsyncTessera
from tessera.client.synchronous import Client

__all__ = ["AsyncClient", "AsyncTessera", "Client"]
