"""The library's methods for records and feeds. (`store.py` says how methods are.)"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tessera import models


class RecordVerbs:
    """What `Tessera` can do with documents that are kept and documents that are followed."""

    _call: Callable[..., Any]
    _whole: Callable[[str], list[Any]]

    # Records

    def put_record(
        self, store: str, key: str, value: Any, expected_version: int | None = None
    ) -> models.RecordVersion:
        """Write a JSON value as the next version of a record, if its latest is `expected_version`; None
        expects that the key does not exist. Otherwise `version_conflict`, with `current_version`.
        """
        return self._call("put_record", store=store, key=key, value=value, expected_version=expected_version)

    def put_records(self, writes: Iterable[Mapping[str, Any]]) -> list[models.RecordVersion]:
        """Write 1 to 100 of them (`store`, `key`, `value`, `expected_version`), across stores, all or
        none.
        """
        written: models.Written = self._call("put_records", writes=list(writes))
        return written.records

    def get_record(self, store: str, key: str, version: int | None = None) -> models.RecordVersion:
        """A record's latest version, or a given one; `not_found` if there is none."""
        return self._call("get_record", store=store, key=key, version=version)

    def record_history(self, store: str, key: str, *, limit: int = 100, after: int = 0) -> models.History:
        """A page of a record's versions, oldest first; pass its `next` as `after` to go on."""
        return self._call("record_history", store=store, key=key, limit=limit, after=after)

    def stores(self) -> list[str]:
        """The names of the stores that hold a record, sorted."""
        return self._whole("stores")

    def stores_page(self, *, limit: int = 100, after: str | None = None) -> models.Stores:
        """A page of them, at most 1,000; pass its `next` as `after` for the page that follows."""
        return self._call("stores", limit=limit, after=after)

    def list_records(
        self, store: str, prefix: str = "", limit: int = 100, *, after: str | None = None
    ) -> models.Records:
        """A page of the records whose keys begin with `prefix`, taken literally, in their latest versions."""
        return self._call("list_records", store=store, prefix=prefix, limit=limit, after=after)

    # Feeds

    def feeds(self) -> list[models.FeedHead]:
        """Every feed, by name, with the cursor of its last item."""
        return self._whole("feeds")

    def feeds_page(self, *, limit: int = 100, after: str | None = None) -> models.Feeds:
        """A page of them, at most 1,000; pass its `next` as `after` for the page that follows."""
        return self._call("feeds", limit=limit, after=after)

    def publish_feed(self, feed: str, payload: Any) -> models.Published:
        """Append a JSON value to a feed and return its cursor; the first one makes the feed."""
        return self._call("publish_feed", feed=feed, payload=payload)

    def poll_feed(
        self, feed: str, after: int = 0, *, limit: int = 100, wait_seconds: float = 0
    ) -> models.FeedPage:  # fmt: skip
        """The items of a feed after a cursor, at most 10,000; pass its `next` as `after` to go on. With
        `wait_seconds` (0 to 30) an empty answer is given only when nothing has come in that time.
        """
        return self._call("poll_feed", feed=feed, after=after, limit=limit, wait=wait_seconds)
