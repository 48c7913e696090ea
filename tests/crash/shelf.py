"""The chapters of the story that are about what is kept: records, feeds, blobs and objects."""

from __future__ import annotations

import io
from typing import Any

import raw_sql

import tessera
from crash.script import Script

BYTES = bytes(range(256)) * 5_000  # a chunk and a rest


class Overtaken(io.BytesIO):
    """Bytes that take so long that somebody else's version comes first."""

    def __init__(self, store: tessera.Tessera) -> None:
        super().__init__(b"too late" * 200_000)
        self._store = store

    def read(self, size: int | None = -1) -> bytes:
        if self.tell() > 0 and not self._store.list_objects("b", "two").objects:
            self._store.put_object("b", "two", b"quicker")
        return super().read(size)


class Shelf(Script):
    """Everything that is put on it is numbered, so a retry finds what is there."""

    def documents(self) -> None:
        """Versions of a record, a batch across stores, one that is refused, and items of a feed."""
        store, put = self.store, self.store.put_record
        again = [dict(store="facts", key="k", value=3, expected_version=2)]
        new = dict(store="more", key="n", value="new")
        self.step("write first", lambda: put("facts", "k", {"n": 1}), self.record_is(1))
        self.step("write second", lambda: put("facts", "k", None, 1), self.record_is(2))
        self.step("write batch", lambda: store.put_records([*again, new]), self.record_is(3))
        lost = [dict(new, key="m"), *again]
        self.refused("overtaken batch", "version_conflict", lambda: store.put_records(lost))
        for cursor in (1, 2, 3):
            self.step(f"publish {cursor}", lambda cursor=cursor: self.published(cursor))

    def files(self) -> None:
        """Bytes of several chunks, versions of an object, one that is overtaken, and a sweep."""
        store, put = self.store, self.store.put_object
        self.step("store blob", lambda: store.put_blob(io.BytesIO(BYTES)))
        self.step("define bucket", lambda: store.define_bucket("b", "first"))
        self.step("describe bucket", lambda: store.define_bucket("b", "second"))
        self.step("first version", lambda: put("b", "k", b"first"), self.is_version(1))
        self.step("second version", lambda: put("b", "k", BYTES[:-1], 1), self.is_version(2))
        self.step("third version", lambda: put("b", "k", io.BytesIO(BYTES), 2), self.is_version(3))
        self.refused("overtaken", "version_conflict", lambda: put("b", "two", Overtaken(store)))
        self.step("upgrade", self.upgraded)
        self.step("sweep", store.reap)

    def upgraded(self) -> None:
        """As if nothing here had been indexed: what a store of an earlier version leaves to the reaper."""
        connection = raw_sql.connect(self.path)
        for table in ("reflexes_parts", "reflexes_words", "reflexes", "nouns_words", "nouns"):
            connection.execute(f"delete from {table}")
        column = "words" if self.path.startswith("postgresql://") else "value"
        connection.execute("delete from meta where name = 'catch_up'")
        connection.execute(f"insert into meta (name, {column}) values ('catch_up', '[0,\"\",\"\"]')")
        connection.close()

    def record_is(self, version: int) -> Any:
        return lambda: self.store.get_record("facts", "k").version == version

    def published(self, cursor: int) -> Any:
        """An item of the feed, published unless it is there: a feed has no keys to tell a retry by."""
        items = self.store.poll_feed("f", cursor - 1).items
        return items[0].cursor if items else self.store.publish_feed("f", {"item": cursor}).cursor

    def is_version(self, version: int) -> Any:
        return lambda: self.store.object_meta("b", "k").version == version
