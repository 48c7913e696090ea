"""Tessera: the coordination layer for swarms of AI agents.

`open` gives a store, a `Tessera`: one method per verb, whether it is a file, a database or, by its URL, a
running service (`Client`; on an event loop `AsyncClient`). Answers are structs of `tessera.models`, times
in them are RFC 3339 in UTC, durations seconds. Every refusal is a `TesseraError` with a `code`. A `Worker`
claims and lets functions do the work. `restore`, `new_epoch`, `migrate_store` and `doctor` look after a
store. `tessera.testing` has a store and a clock for tests.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tessera.names import VERSION as __version__

if TYPE_CHECKING:
    from tessera.app import doctor, migrate_store, new_epoch, open, restore
    from tessera.client import AsyncClient, Client
    from tessera.errors import TesseraError
    from tessera.library import Tessera
    from tessera.worker import Worker

__all__ = [
    "AsyncClient",
    "Client",
    "Tessera",
    "TesseraError",
    "Worker",
    "__version__",
    "doctor",
    "migrate_store",
    "new_epoch",
    "open",
    "restore",
]

_HOMES = {
    "AsyncClient": "tessera.client",
    "Client": "tessera.client",
    "Tessera": "tessera.library",
    "TesseraError": "tessera.errors",
    "Worker": "tessera.worker",
    "doctor": "tessera.app",
    "migrate_store": "tessera.app",
    "new_epoch": "tessera.app",
    "open": "tessera.app",
    "restore": "tessera.app",
}


def __getattr__(name: str) -> Any:
    """The public names, loaded when first used: `tessera --help` needs none of them."""
    if name not in _HOMES:
        raise AttributeError(f"module 'tessera' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
