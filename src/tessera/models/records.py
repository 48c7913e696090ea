"""Records: JSON documents under a key of a store, every version kept. (Specification §6.)"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from tessera import limits
from tessera.models.base import After, Answer, Document, Key, Limit, Model, Name, Prefix, Version


class PutRecord(Model, frozen=True):
    """A new version of a record. `expected_version` is the version it follows; left out, the key must not
    exist.
    """

    store: Name
    key: Key
    value: Document
    expected_version: Version | None = None


class PutRecords(Model, frozen=True):
    """Several new versions, across stores, all or none. The same key twice makes two versions, in order."""

    writes: Annotated[list[PutRecord], Meta(min_length=1, max_length=limits.WRITES_PER_BATCH_MAX)]


class RecordRef(Model, frozen=True):
    """Names a record's latest version, or an earlier one."""

    store: Name
    key: Key
    version: Version | None = None


class RecordVersions(Model, frozen=True):
    """Which versions of a record to list, oldest first; `after` is the last version of the page before."""

    store: Name
    key: Key
    limit: Limit = limits.PAGE_DEFAULT
    after: After = 0


class ListRecords(Model, frozen=True):
    """Which records to list, by key in byte order. `prefix` is literal; `after` is the last key of the page
    before.
    """

    store: Name
    prefix: Prefix = ""
    limit: Limit = limits.PAGE_DEFAULT
    after: Prefix | None = None


class RecordVersion(Answer, frozen=True):
    """One version of a record."""

    store: str
    key: str
    version: int
    value: Document
    created_at: str


class Written(Answer, frozen=True):
    """The versions that a batch wrote, in the order given."""

    records: list[RecordVersion]


class Records(Answer, frozen=True):
    """A page of records, each in its latest version; `next` is the cursor of the page that follows."""

    records: list[RecordVersion]
    next: str | None


class History(Answer, frozen=True):
    """A page of a record's versions; `next` is the cursor of the page that follows, null at the end."""

    versions: list[RecordVersion]
    next: int | None


class Stores(Answer, frozen=True):
    """A page of the names of the stores that hold a record, sorted; `next` is the cursor of the page that
    follows, null at the end.
    """

    stores: list[str]
    next: str | None
