"""Records inside a transaction: found, compared with what a writer expects, written."""

from __future__ import annotations

from collections.abc import Sequence

from tessera.canonical import json_text
from tessera.errors import Forbidden
from tessera.models import Raw, RecordVersion
from tessera.names import OUR_STORES, REFLEXES, TOMBSTONES
from tessera.rows import RecordHeadRow, RecordRow
from tessera.runtime import rfc3339
from tessera.steps import recall
from tessera.storage.port import Transaction

Name = tuple[str, str]  # a record's store and key


class Heads:
    """The latest versions of some records, as they were read and as the writes decided so far make them."""

    def __init__(self, tx: Transaction, names: Sequence[Name]) -> None:
        self.read = _heads(tx, names)
        self.now = dict(self.read)


def refuse_reserved(store: str) -> None:
    """Refuse a write to a store that only Tessera writes. (Contract §4.8.)"""
    if store == TOMBSTONES or (store.startswith(OUR_STORES) and store != REFLEXES):
        raise Forbidden(f"the store {store} is written by Tessera alone: choose another name")


def write(tx: Transaction, calls: Sequence[Sequence[RecordRow]], heads: Heads) -> None:
    """Add the versions of some calls in order, and let the heads name the last of each record."""
    tx.save_all("insert_record", [row for rows in calls for row in rows])
    lasts = {(row.store, row.key): (row, len(rows)) for rows in calls for row in rows}
    for row, together in lasts.values():
        recall.keep_record(tx, row, together=together)
    for (store, key), version in heads.now.items():
        read = heads.read.get((store, key))
        if read is None:
            tx.write("insert_record_head", store=store, key=key, version=version)
        elif read != version:
            tx.write("move_record_head", store=store, key=key, version=version, read_version=read)


def shown(row: RecordRow) -> RecordVersion:
    """A version as the wire has it."""
    return RecordVersion(
        store=row.store,
        key=row.key,
        version=row.version,
        value=Raw(row.value.encode()),
        created_at=rfc3339(row.created_at),
    )


def _heads(tx: Transaction, names: Sequence[Name]) -> dict[Name, int]:
    if len(names) == 1:
        store, key = names[0]
        head: RecordHeadRow | None = tx.one("record_head", store=store, key=key)
        return {} if head is None else {names[0]: head.version}
    rows: list[RecordHeadRow] = tx.all("each_record_head", records=json_text(names))
    return {(row.store, row.key): row.version for row in rows}
