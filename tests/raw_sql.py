"""A store's tables, read by nobody's help: a SQLite file or a PostgreSQL database, in the same words."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any, Protocol

import apsw
import psycopg


class Raw(Protocol):
    """A connection. A context is one snapshot."""

    def execute(self, sql: str, values: Any = ()) -> Any:
        """Rows as tuples; parameters are question marks."""

    def __enter__(self) -> Any: ...

    def __exit__(self, *error: Any) -> Any: ...

    def close(self) -> None: ...


def connect(store: str) -> Raw:
    """The store at a path, or at the URL of a database."""
    return Database(store) if store.startswith("postgresql://") else apsw.Connection(store)


def dicts(connection: Raw, sql: str) -> list[dict[str, Any]]:
    """Rows by column name."""
    if isinstance(connection, Database):
        return connection.dicts(sql)
    assert isinstance(connection, apsw.Connection)
    cursor = connection.cursor()
    cursor.row_trace = lambda self, row: {
        name: value for (name, *_), value in zip(self.get_description(), row, strict=True)
    }
    return list(cursor.execute(sql))


class Database:
    """A PostgreSQL database."""

    def __init__(self, dsn: str) -> None:
        self._connection = psycopg.connect(dsn, autocommit=True)
        self._connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        self._snapshot = ExitStack()

    def execute(self, sql: str, values: Any = ()) -> list[tuple[Any, ...]]:
        """Rows, if the statement answers with any."""
        cursor = self._connection.execute(sql.replace("%", "%%").replace("?", "%s").encode(), tuple(values))
        return cursor.fetchall() if cursor.description else []

    def dicts(self, sql: str) -> list[dict[str, Any]]:
        """Rows by column name."""
        cursor = self._connection.execute(sql.encode())
        assert cursor.description is not None
        names = [column.name for column in cursor.description]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]

    def __enter__(self) -> Database:
        self._snapshot.enter_context(self._connection.transaction())
        return self

    def __exit__(self, *error: Any) -> None:
        self._snapshot.close()

    def close(self) -> None:
        """Let go of the database."""
        self._connection.close()
