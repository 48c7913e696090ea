"""The wake room: prompts delivered into live agent terminals, at most once at a time, acknowledged, never
forgotten.

`README.md` beside this file is its map. Nothing of the queue is imported here, and nothing there imports
this.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tessera.wake.adapter import CoordinationEngineAdapter, WakeReceipt, WakeRequest
    from tessera.wake.client import Client
    from tessera.wake.errors import AmbiguousEndpoint, Unavailable, WakeError

__all__ = [
    "AmbiguousEndpoint", "Client", "CoordinationEngineAdapter", "Unavailable", "WakeError", "WakeReceipt",
    "WakeRequest",
]  # fmt: skip

_HOMES = {
    "AmbiguousEndpoint": "errors", "Client": "client", "CoordinationEngineAdapter": "adapter",
    "Unavailable": "errors", "WakeError": "errors", "WakeReceipt": "adapter", "WakeRequest": "adapter",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    """The public names, each out of its module when it is asked for."""
    if name not in _HOMES:
        raise AttributeError(name)
    return getattr(import_module(f"tessera.wake.{_HOMES[name]}"), name)
