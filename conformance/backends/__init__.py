"""The backends that the suite knows, by the name that `BACKEND` gives. One line registers one."""

from __future__ import annotations

import importlib
import os

from conformance.backend import Backend

BACKENDS = {
    "store": "conformance.backends.store:StoreBackend",
    "loop": "conformance.backends.store:LoopBackend",
    "http": "conformance.backends.http:backend",
    "postgres": "conformance.backends.postgres:PostgresBackend",
    "http-postgres": "conformance.backends.postgres:ServedPostgresBackend",
    "empty": "conformance.backends.empty:EmptyBackend",
}

# Those that answer over HTTP; the empty one does so with nothing.
SERVICES = {"http", "http-postgres", "empty"}


def name() -> str:
    """What the environment asks for; the in-process store when it asks for none."""
    return os.environ.get("BACKEND", "store")


def chosen() -> Backend:
    """The backend that the environment asks for."""
    if name() not in BACKENDS:
        raise LookupError(f"BACKEND={name()} is unknown; choose one of {', '.join(sorted(BACKENDS))}")
    module, _, factory = BACKENDS[name()].partition(":")
    backend: Backend = getattr(importlib.import_module(module), factory)()
    return backend
