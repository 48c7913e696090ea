"""What a store's file holds, by table and column: to see that two ways lead to the same."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import apsw

from tessera.library import Tessera

Tables = dict[str, list[dict[str, Any]]]


def file_of(store: Tessera) -> apsw.Connection:
    """A connection of our own to the store's file."""
    return apsw.Connection(store._door._engine._writer.connection.filename)


def tables(store: Tessera) -> Tables:
    """Every row of every table, but for the instant that was written last."""
    with closing(file_of(store)) as file:
        names = [name for (name,) in file.execute("select name from sqlite_schema where type = 'table'")]
        found = {name: _rows(file, name) for name in names}
    found["meta"] = [row for row in found["meta"] if row["name"] != "last_instant"]
    return found


def _rows(file: apsw.Connection, table: str) -> list[dict[str, Any]]:
    cursor = file.execute(f'select * from "{table}"')
    columns = [row[1] for row in file.execute(f'pragma table_info("{table}")')]
    return sorted((dict(zip(columns, row, strict=True)) for row in cursor), key=repr)
