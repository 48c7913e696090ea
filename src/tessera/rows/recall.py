"""What statements about nouns and reflexes answer with."""

from __future__ import annotations

from tessera.rows.base import Row


class NounRow(Row, frozen=True):
    """A noun as the index keeps it: its latest version, title and text. `in_bucket` is 1 for an object of a
    bucket, 0 for a record of a store.
    """

    in_bucket: int
    place: str
    key: str
    version: int
    size: int
    sha256: str
    title: str
    text: str


class FoundNoun(Row, frozen=True):
    """The same, with how well it fits a query: the higher the better."""

    in_bucket: int
    place: str
    key: str
    version: int
    size: int
    sha256: str
    title: str
    text: str
    rank: float


class ReflexRow(Row, frozen=True):
    """What a reflex or a tombstone is compared by, folded."""

    key: str
    text: str


class VersionRow(Row, frozen=True):
    """One version of a noun."""

    version: int
    size: int
    created_at: int


class SliceRow(Row, frozen=True):
    """Some bytes of a record's value, and how many there are."""

    version: int
    size: int
    bytes: bytes


class Left(Row, frozen=True):
    """A head that an upgrade has left to be indexed."""

    place: str
    key: str
    version: int
    size: int
