"""The backends that the suite knows, by the name that `BACKEND` gives. One line registers one."""

from __future__ import annotations

import importlib
import os

from conformance.backend import Backend

BACKENDS = {
    "store": "conformance.backends.store:StoreBackend",
    "loop": "conformance.backends.store:LoopBackend",
    "empty": "conformance.backends.empty:EmptyBackend",
}


def chosen() -> Backend:
    """The backend that the environment asks for; the in-process store when it asks for none."""
    name = os.environ.get("BACKEND", "store")
    if name not in BACKENDS:
        raise LookupError(f"BACKEND={name} is unknown; choose one of {', '.join(sorted(BACKENDS))}")
    module, _, factory = BACKENDS[name].partition(":")
    backend: Backend = getattr(importlib.import_module(module), factory)()
    return backend
