"""What statements about records and feeds answer with."""

from __future__ import annotations

from tessera.rows.base import Row


class RecordRow(Row, frozen=True):
    """One version of a record."""

    store: str
    key: str
    version: int
    value: str
    created_at: int


class RecordHeadRow(Row, frozen=True):
    """The latest version of a record, by its number."""

    store: str
    key: str
    version: int


class FeedRow(Row, frozen=True):
    """A feed and the cursor of its last item."""

    feed: int
    name: str
    head: int
    updated_at: int


class FeedItemRow(Row, frozen=True):
    """One item of a feed."""

    cursor: int
    payload: str
    published_at: int
