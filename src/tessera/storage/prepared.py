"""The catalogue, compiled for one SQLite connection."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import Any

import apsw
import apsw.ext

from tessera.limits import REMEMBERED_ROWS_MAX
from tessera.storage import catalogue
from tessera.storage.catalogue import Statement


class Prepared:
    """A statement compiled for one connection: how it binds, runs and names its columns."""

    __slots__ = ("bind", "bind_row", "connection", "execute", "executemany", "forgets", "name", "params",
                 "row", "text", "until")  # fmt: skip

    def __init__(self, statement: Statement, connection: apsw.Connection, cursor: apsw.Cursor) -> None:
        self.name = statement.name
        self.text = statement.text
        self.params = statement.params
        self.until = statement.remembered_until
        self.bind = statement.bind
        self.bind_row: Callable[[Any], Any] | None = (
            attrgetter(*statement.params) if len(statement.params) > 1 else None
        )
        self.connection = connection
        self.execute = cursor.execute
        self.executemany = cursor.executemany
        self.row: Callable[..., Any] = statement.row or tuple
        self.forgets: list[Remembered] = []

    def one(self, params: dict[str, object]) -> Any:
        row = self.execute(self.text, self.bind(params)).fetchone()
        return None if row is None else self.row(*row)

    def all(self, params: dict[str, object]) -> list[Any]:
        row = self.row
        return [row(*columns) for columns in self.execute(self.text, self.bind(params))]

    def write(self, params: dict[str, object]) -> None:
        self.execute(self.text, self.bind(params))
        for remembered in self.forgets:
            remembered.rows.clear()

    def save(self, row: Any) -> None:
        assert self.bind_row is not None, f"{self.name} has too few parameters for a row"
        self.execute(self.text, self.bind_row(row))
        for remembered in self.forgets:
            remembered.rows.clear()

    def save_all(self, rows: Sequence[Any]) -> int:
        """Run once for each row; returns how many rows of the table have changed."""
        if len(rows) == 1:
            self.save(rows[0])
            return self.connection.changes()
        assert self.bind_row is not None, f"{self.name} has too few parameters for a row"
        before = self.connection.total_changes()
        self.executemany(self.text, map(self.bind_row, rows))
        for remembered in self.forgets:
            remembered.rows.clear()
        return self.connection.total_changes() - before

    def text_for(self, *params: str) -> str:
        """The statement's text, for whoever binds its parameters by position, in this order."""
        assert self.params == params, f"{self.name} takes {self.params}"
        return self.text


class Remembered(Prepared):
    """A statement answered from memory until one that changes its answer has run."""

    __slots__ = ("rows",)

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.rows: dict[tuple[object, ...], Any] = {}

    def one(self, params: dict[str, object]) -> Any:
        key = self.bind(params)
        found = self.rows.get(key)
        if found is None:
            found = super().one(params)
            if len(self.rows) >= REMEMBERED_ROWS_MAX:
                self.rows.clear()
            if found is not None:
                self.rows[key] = found
        return found

    def all(self, params: dict[str, object]) -> list[Any]:
        key = self.bind(params)
        found: list[Any] | None = self.rows.get(key)
        if found is None:
            found = super().all(params)
            if len(self.rows) >= REMEMBERED_ROWS_MAX:
                self.rows.clear()
            self.rows[key] = found
        return found


def prepare(
    connection: apsw.Connection, cursor: apsw.Cursor, *, remember: bool,
    statements: Mapping[str, Statement] | None = None, checked: bool = False,
) -> dict[str, Prepared]:  # fmt: skip
    """Compile every statement of a catalogue, by default the store's, so that a wrong one refuses to
    start, and wire what forgets what. All run on one cursor: each use resets the last, at half the cost
    of a new one. A connection that does not see every write must not remember; one to a file for which all
    were compiled before, `checked`, compiles each when it is first asked.
    """
    prepared: dict[str, Prepared] = {}
    for name, statement in (catalogue.stores() if statements is None else statements).items():
        if not checked:
            _refuse_other_columns(connection, statement)
        kind = Remembered if remember and statement.remembered_until else Prepared
        prepared[name] = kind(statement, connection, cursor)
    for remembered in prepared.values():
        if isinstance(remembered, Remembered):
            for writer in remembered.until:
                prepared[writer].forgets.append(remembered)
    return prepared


def _refuse_other_columns(connection: apsw.Connection, statement: Statement) -> None:
    """A statement's columns are its struct's fields, in order; one without a struct only writes."""
    description = apsw.ext.query_info(connection, statement.text).description or ()
    columns = tuple(column for column, *_ in description)
    fields = statement.row.__struct_fields__ if statement.row else ()
    if columns != fields:
        raise ValueError(f"statement {statement.name} gives {columns}, its row has {fields}")
