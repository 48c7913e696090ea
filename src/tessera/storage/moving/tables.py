"""What a store is made of, read from its schema, so that a table that is added is moved too."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Protocol

import apsw

from tessera.storage.migrate import SCHEMA
from tessera.storage.port import Verb

Row = tuple[Any, ...]
MARK: Final = "moving"  # a row of `meta`: here is part of a store, and of which
WHOLE: Final = frozenset({"migrations", "meta"})  # short tables, that a new store has rows in: put at once
DERIVED: Final = ("nouns_words", "reflexes_words", "reflexes_parts")  # made anew of the rows they are about
_DOCUMENTS: Final = frozenset(
    {"bytes", "brief", "output", "value", "payload", "input", "input_schema", "text", "message"}
)


@dataclass(frozen=True, slots=True)
class Table:
    """A table: its columns in order, its primary key in order, and whether a row may hold a document."""

    name: str
    columns: tuple[str, ...]
    key: tuple[str, ...]
    is_heavy: bool

    def key_of(self, row: Row) -> Row:
        """A row's primary key."""
        return tuple(row[self.columns.index(column)] for column in self.key)


@cache
def tables() -> tuple[Table, ...]:
    """Every table, in the order of the schema. What SQLite derives from others, such as an index of words, is
    none.
    """
    file = apsw.Connection(":memory:")
    file.execute(SCHEMA.read_text(encoding="utf-8"))
    kinds = {row[1]: row[2] for row in file.execute("pragma table_list")}
    named = [name for (name,) in file.execute("select name from sqlite_schema where type = 'table'")]
    found = []
    for name in named:
        if kinds[name] == "table" and not name.startswith("sqlite_"):
            info = list(file.execute(f"pragma table_info({name})"))
            columns = tuple(row[1] for row in info)
            key = tuple(row[1] for row in sorted(info, key=lambda row: row[5]) if row[5])
            found.append(Table(name, columns, key, not _DOCUMENTS.isdisjoint(columns)))
    file.close()
    return tuple(found)


def after(table: Table, start: Row | None, place: Callable[[int], str]) -> str:
    """The end of a query for the rows of a table behind a key, in the key's order."""
    key = ", ".join(table.key)
    places = ", ".join(place(number) for number in range(1, len(table.key) + 1))
    return f"{'' if start is None else f'where ({key}) > ({places}) '}order by {key}"


class Source(Protocol):
    """Where a store comes from: nobody changes it as long as this is open."""

    shown: str  # its place, without a password
    identity: str  # which store it is, and how far it has gone

    def count(self, table: Table) -> int:
        """How many rows a table has."""

    def rows(self, table: Table, start: Row | None = None) -> Iterator[Row]:
        """A table's rows behind a key, in the key's order."""

    def close(self) -> None:
        """Let go of it, unchanged."""


class Target(Protocol):
    """Where a store goes to: nobody opens it as a store until it is whole."""

    shown: str

    def begin(self, identity: str) -> bool:
        """Be the place for that store. True if part of it is here already, of an attempt that was cut off;
        what is here of another one is thrown away.
        """

    def clear(self) -> None:
        """Throw away what is here, but for the mark whose place this is."""

    def last(self, table: Table) -> Row | None:
        """The key of the last row that is here, or None."""

    def put(self, table: Table, rows: Iterable[Row]) -> None:
        """Add rows, all or none."""

    def write(self, statement: str, given: Iterable[dict[str, object]]) -> None:
        """Run a statement of the catalogue for each of some parameters, all or none."""

    def rows(self, table: Table, start: Row | None = None) -> Iterator[Row]:
        """A table's rows behind a key, in the key's order."""

    def look(self, look: Verb, *args: Any) -> Any:
        """Run a look on what is here."""

    def finish(self) -> None:
        """From here on it is a store."""

    def close(self) -> None:
        """Let go of it; what is here stays, for whoever goes on."""
