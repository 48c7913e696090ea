"""The manners of every row, and the rows that any statement may use."""

from __future__ import annotations

from msgspec import Struct


class Row(Struct, frozen=True, gc=False):
    """The manners of every row."""


class Scalar(Row, frozen=True):
    """One value: the row of a statement that asks a single question."""

    value: int | None


class Text(Row, frozen=True):
    """One text."""

    value: str


class OptionalText(Row, frozen=True):
    """One text that may be missing."""

    value: str | None
