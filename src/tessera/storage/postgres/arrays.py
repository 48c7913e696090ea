"""Rows as a statement for many takes them: a PostgreSQL array for each column, in its text form. The server
takes it apart in half the time that it needs for the same rows as JSON.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import msgspec
import psycopg


def arrays_of(rows: Sequence[tuple[object, ...]]) -> tuple[str | None, ...]:
    """The columns of some rows, of which there is at least one. A column of nulls is no array: `unnest` fills
    it up.
    """
    return tuple(map(_array, zip(*rows, strict=True)))


def _array(column: tuple[object, ...]) -> str | None:
    kind = next((type(value) for value in column if value is not None), None)
    if kind is None:
        return None
    if kind is str:
        return _texts(cast("Sequence[str | None]", column))
    assert kind in (int, bool), f"no column: {kind.__name__}"
    numbers: Sequence[object] = column
    if kind is bool:
        numbers = [None if value is None else int(bool(value)) for value in column]
    return "{" + msgspec.json.encode(numbers).decode()[1:-1] + "}"


def _texts(column: Sequence[str | None]) -> str:
    """Texts between quotes, with a backslash before these and itself: all of them at once, told apart by the
    one character that no text of PostgreSQL's may hold.
    """
    if None in column:
        return "{" + ",".join(["NULL" if text is None else _texts([text])[1:-1] for text in column]) + "}"
    together = "\0".join(cast("Sequence[str]", column))
    if together.count("\0") >= len(column):
        raise psycopg.DataError("PostgreSQL text fields cannot contain NUL (0x00) bytes")
    quoted = together.replace("\\", "\\\\").replace('"', '\\"').replace("\0", '","')
    return '{"' + quoted + '"}'
