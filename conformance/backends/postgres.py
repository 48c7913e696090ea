"""The store on PostgreSQL, in this process and behind `tessera serve`: on a server of the suite's own, or on
the one that TESSERA_TEST_DSN names.
"""

from __future__ import annotations

import os
from contextlib import ExitStack

import tessera
from conformance.backends.http import HttpBackend
from conformance.backends.store import StoreBackend
from tessera.library import Tessera
from tessera.testing_postgres import Server, database


def new_database(stack: ExitStack) -> str:
    """The DSN of an empty database, there until the stack is closed."""
    server = os.environ.get("TESSERA_TEST_DSN") or stack.enter_context(Server()).dsn
    return stack.enter_context(database(server))


class PostgresBackend(StoreBackend):
    """The engine for threads, on a scripted clock."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._dsn = new_database(self._stack)
        super().__init__()

    def close(self) -> None:
        super().close()
        self._stack.close()

    def _opened(self) -> Tessera:
        return tessera.open(self._dsn, runtime=self._runtime)


class ServedPostgresBackend(HttpBackend):
    """A service on a database, its clock pushed instead of slept through."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._dsn = new_database(self._stack)
        super().__init__()

    def close(self) -> None:
        super().close()
        self._stack.close()

    @property
    def store(self) -> str:
        """What is served."""
        return self._dsn
