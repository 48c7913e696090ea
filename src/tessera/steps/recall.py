"""What a write tells the index of nouns, in its own transaction, and what an upgrade left to be told.

Nothing here refuses: of what cannot be read the index has the key alone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import partial

import msgspec

from tessera.canonical import json_text
from tessera.limits import (
    CATCH_UP_BYTES_MAX,
    NOUN_TEXT_BYTES_MAX,
    NOUNS_PER_CATCH_UP,
    RECORD_BYTES_MAX,
    TRIGGER_CHARS_MAX,
)
from tessera.names import REFLEXES, TOMBSTONES
from tessera.rows import BucketRow, ChunkRow, Left, NounRow, ObjectRow, RecordRow, SliceRow
from tessera.rules import documents, reflexes, sizes
from tessera.rules.words import indexable
from tessera.runtime import Runtime
from tessera.steps.blobs import Publication
from tessera.storage.port import Transaction

IN_STORE, IN_BUCKET = 0, 1
STEP, DEAD_END = 0, 1


def keep_record(tx: Transaction, row: RecordRow, brief: str = "", together: int = 1) -> None:
    """Let the index have a record's latest version, one of so many that are written together; `brief` is what
    a tombstone's task was asked to do.
    """
    share = documents.share_of(together)
    _keep_value(tx, row.store, row.key, row.version, row.value.encode(), brief, share)


def keep_object(tx: Transaction, bucket: str, row: ObjectRow, beginning: bytes) -> None:
    """Let the index have an object's latest version, by its first bytes."""
    told = documents.of_bytes(beginning, len(beginning) == row.size, row.content_type, row.key)
    _keep(tx, NounRow(IN_BUCKET, bucket, row.key, row.version, row.size, row.sha256, told.title, told.text))


def beginning(tx: Transaction, what: Publication) -> bytes:
    """The first bytes of what is about to be published."""
    known = None if what.known is None else what.known.upload
    return _beginning(tx, what.staged.upload or known)


def brief_beginning(tx: Transaction, task_id: str) -> str:
    """The first words of a task's brief; none if they cannot be read, and none of a workspace's task: whoever
    holds the store scope may ask what a dead end was like.
    """
    row: ChunkRow | None = tx.one("brief_beginning", task_id=task_id, bytes=TRIGGER_CHARS_MAX)
    if row is None or not row.bytes:  # SQLite's beginning of nothing is null
        return ""
    told = documents.of_bytes(row.bytes, len(row.bytes) < TRIGGER_CHARS_MAX, "application/json", "")
    return f"{told.title} {told.text}"


def left(tx: Transaction) -> bool:
    """Whether an upgrade has left something to be indexed."""
    return tx.one("catch_up_from") is not None


def catch_up(tx: Transaction, runtime: Runtime) -> int:
    """Index some of what was there before an upgrade, in the order of places and keys. A settle; nothing that
    it does counts as reaped.
    """
    row = tx.one("catch_up_from")
    if row is None:
        return 0
    home, place, key = msgspec.json.decode(row.value, type=tuple[int, str, str])
    statement = "objects_left" if home == IN_BUCKET else "records_left"
    found: list[Left] = tx.all(statement, place=place, key=key, limit=NOUNS_PER_CATCH_UP)
    some = found[: sizes.fitting((one.size for one in found), CATCH_UP_BYTES_MAX)]
    keeps = [(_object if home == IN_BUCKET else _record)(tx, one) for one in some]
    runtime.reach("catch_up.read")

    for keep in keeps:
        keep()
    if some:
        _go_on(tx, home, some[-1].place, some[-1].key)
    elif home == IN_STORE:
        _go_on(tx, IN_BUCKET, "", "")
    else:
        tx.write("end_catch_up")
    runtime.reach("catch_up.written")
    return 0


def _record(tx: Transaction, one: Left) -> Callable[[], None]:
    """Read a head that was left, and say how to keep it. Its value may be damaged, so it is read as bytes."""
    what = dict(store=one.place, key=one.key, version=one.version)
    row: SliceRow = tx.one("record_slice", **what, first=0, length=RECORD_BYTES_MAX)
    brief = brief_beginning(tx, one.key) if one.place == TOMBSTONES else ""
    return partial(_keep_value, tx, one.place, one.key, one.version, row.bytes, brief)


def _object(tx: Transaction, one: Left) -> Callable[[], None]:
    bucket: BucketRow = tx.one("bucket_named", name=one.place)
    row: ObjectRow = tx.one("object_version", bucket=bucket.bucket, key=one.key, version=one.version)
    blob = tx.one("blob_named", sha256=row.sha256)
    return partial(keep_object, tx, one.place, row, _beginning(tx, None if blob is None else blob.upload))


def _go_on(tx: Transaction, home: int, place: str, key: str) -> None:
    tx.write("set_meta", name="catch_up", value=json_text([home, place, key]))


def _beginning(tx: Transaction, upload: str | None) -> bytes:
    row: ChunkRow | None = tx.one("chunk_beginning", upload=upload, bytes=NOUN_TEXT_BYTES_MAX)
    return b"" if row is None else row.bytes


def _keep_value(
    tx: Transaction, store: str, key: str, version: int, document: bytes, brief: str,
    bytes_max: int = NOUN_TEXT_BYTES_MAX,
) -> None:  # fmt: skip
    try:
        value = msgspec.json.decode(document)
        told = documents.of_value(value, key, bytes_max)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):  # damaged since it was written
        value, told = None, documents.of_bytes(document, True, "text/plain", key)
    sha256 = hashlib.sha256(document).hexdigest()
    _keep(tx, NounRow(IN_STORE, store, key, version, len(document), sha256, told.title, told.text))
    if store == REFLEXES:
        _keep_reflex(tx, store, key, STEP, reflexes.trigger_of(value))
    elif store == TOMBSTONES:
        _keep_reflex(tx, store, key, DEAD_END, reflexes.dead_end_of(value, brief))


def words_of_noun(in_bucket: int, place: str, key: str, title: str, text: str) -> dict[str, object]:
    """What the index is told of a noun's words."""
    words = dict(title=indexable(f"{title} {key}"), text=indexable(text))
    return dict(in_bucket=in_bucket, place=place, key=key, **words)


def words_of_reflex(store: str, key: str, warns: int, text: str) -> list[tuple[str, dict[str, object]]]:
    """What it is told of a reflex or a tombstone, and by which statements."""
    of: dict[str, object] = dict(store=store, key=key, warns=warns)
    return [("index_reflex", of | dict(text=indexable(text))), ("index_reflex_parts", of | dict(text=text))]


def _keep(tx: Transaction, noun: NounRow) -> None:
    tx.save("add_noun", noun)
    tx.write("index_noun", **words_of_noun(noun.in_bucket, noun.place, noun.key, noun.title, noun.text))


def _keep_reflex(tx: Transaction, store: str, key: str, warns: int, text: str | None) -> None:
    """What was a reflex once stays in its place with nothing to be found by."""
    of = dict(store=store, key=key, warns=warns)
    tx.write("add_reflex", **of, text=text or "")
    for statement, words in words_of_reflex(store, key, warns, text or ""):
        tx.write(statement, **words)
