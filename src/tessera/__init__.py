"""Tessera: the coordination layer for swarms of AI agents. See `open`."""

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
