"""Records: JSON documents under a key of a store, changed by compare-and-set only, every version kept.
(Specification §6.)

Writing is written once, for any number of writes and callers.
"""

from __future__ import annotations

from collections.abc import Sequence

from tessera.canonical import canonical, json_text
from tessera.errors import NotFound, TesseraError
from tessera.limits import DETAIL_CHARS_MAX, PAGE_BYTES_MAX, RECORD_BYTES_MAX
from tessera.models import (
    History,
    ListNames,
    ListRecords,
    PutRecord,
    PutRecords,
    RecordRef,
    Records,
    RecordVersion,
    RecordVersions,
    Stores,
    Written,
)  # fmt: skip
from tessera.rows import RecordRow
from tessera.rules import grants, keys, sizes, versions
from tessera.rules.grants import Caller
from tessera.rules.paging import page_of
from tessera.runtime import Runtime
from tessera.steps import records
from tessera.steps.outcomes import only, refusal_or
from tessera.steps.records import Heads
from tessera.storage.port import Transaction


def puts(
    tx: Transaction, runtime: Runtime, asks: Sequence[tuple[Caller, PutRecord | PutRecords]]
) -> list[RecordVersion | Written | TesseraError]:
    """Several callers' writes, in order; an earlier one counts as written. Each caller's are all written or
    none of them, and one that is refused leaves the others be.
    """
    heads = Heads(tx, [(one.store, one.key) for _, ask in asks for one in _writes(ask)])
    decided = [refusal_or(_decide, tx, caller, ask, heads) for caller, ask in asks]
    written = [rows for rows in decided if isinstance(rows, list)]
    runtime.reach("put_record.read")

    if written:
        records.write(tx, written, heads)
    for (caller, _), rows in zip(asks, decided, strict=True):
        if isinstance(rows, list):
            tx.event("records_written", key_id=caller.key_id, data=_told(rows))
    runtime.reach("put_record.written")
    return [
        _shown(ask, one) if isinstance(one, list) else one
        for (_, ask), one in zip(asks, decided, strict=True)
    ]


def put_record(tx: Transaction, runtime: Runtime, caller: Caller, ask: PutRecord) -> RecordVersion:
    """Write the next version of a record, if the latest is the expected one; otherwise `version_conflict`
    with the version that there is.
    """
    return only(puts(tx, runtime, [(caller, ask)]))


def put_records(tx: Transaction, runtime: Runtime, caller: Caller, ask: PutRecords) -> Written:
    """Write several, all or none, across stores. A later write sees the earlier ones. A refusal names the one
    it is about by its place, counted from 0.
    """
    return only(puts(tx, runtime, [(caller, ask)]))


def get_record(tx: Transaction, runtime: Runtime, caller: Caller, ask: RecordRef) -> RecordVersion:
    """A record's latest version, or a given one."""
    grants.holds_store(caller)
    return records.shown(_known(tx, ask.store, ask.key, ask.version))


def record_history(tx: Transaction, runtime: Runtime, caller: Caller, ask: RecordVersions) -> History:
    """A page of a record's versions, oldest first. A page ends early when its values grow large."""
    grants.holds_store(caller)
    _known(tx, ask.store, ask.key, None)
    of = dict(store=ask.store, key=ask.key, after=ask.after)
    page, more = _page(tx, "record_versions", "record_versions_sizes", ask.limit, **of)
    return History(versions=[records.shown(row) for row in page], next=page[-1].version if more else None)


def stores(tx: Transaction, runtime: Runtime, caller: Caller, ask: ListNames) -> Stores:
    """A page of the stores that hold a record, by name."""
    grants.holds_store(caller)
    rows = tx.all("stores_page", after=ask.after or "", limit=ask.limit + 1)
    page, after = page_of(rows, ask.limit, "value")
    return Stores(stores=[row.value for row in page], next=after)


def list_records(tx: Transaction, runtime: Runtime, caller: Caller, ask: ListRecords) -> Records:
    """A page of a store's records whose keys begin with a prefix, by key, each in its latest version. A page
    ends early when its values grow large; `next` says whether there is more.
    """
    grants.holds_store(caller)
    of = dict(store=ask.store, first=ask.prefix, beyond=keys.beyond(ask.prefix), after=ask.after or "")
    page, more = _page(tx, "records_page", "records_page_sizes", ask.limit, **of)
    return Records(records=[records.shown(row) for row in page], next=page[-1].key if more else None)


def _decide(tx: Transaction, caller: Caller, ask: PutRecord | PutRecords, heads: Heads) -> list[RecordRow]:
    """The versions that one caller's writes make, noted in `heads`; or a refusal, which notes nothing."""
    grants.holds_store(caller)
    rows = []
    made: dict[records.Name, int] = {}  # noted for the others once all of it stands
    for place, write in enumerate(_writes(ask)):
        try:
            name = (write.store, write.key)
            row = _row(tx, write, made.get(name, heads.now.get(name)))
        except TesseraError as refusal:
            if isinstance(ask, PutRecord):
                raise
            detail = f"writes[{place}]: {refusal.detail}"[:DETAIL_CHARS_MAX]
            raise type(refusal)(detail, **refusal.extra) from refusal
        made[name] = row.version
        rows.append(row)
    heads.now |= made
    return rows


def _row(tx: Transaction, write: PutRecord, current: int | None) -> RecordRow:
    records.refuse_reserved(write.store)
    value = canonical(write.value, "value", RECORD_BYTES_MAX)
    version = versions.following(current, write.expected_version, "record")
    return RecordRow(write.store, write.key, version, value, tx.now)


def _writes(ask: PutRecord | PutRecords) -> Sequence[PutRecord]:
    return [ask] if isinstance(ask, PutRecord) else ask.writes


def _told(rows: Sequence[RecordRow]) -> str:
    named = [{"store": row.store, "key": row.key, "version": row.version} for row in rows]
    return json_text({"records": named})


def _shown(ask: PutRecord | PutRecords, rows: list[RecordRow]) -> RecordVersion | Written:
    shown = [records.shown(row) for row in rows]
    return shown[0] if isinstance(ask, PutRecord) else Written(records=shown)


def _known(tx: Transaction, store: str, key: str, version: int | None) -> RecordRow:
    row: RecordRow | None
    if version is None:
        row = tx.one("record_latest", store=store, key=key)
    else:
        row = tx.one("record_version", store=store, key=key, version=version)
    if row is None:
        raise NotFound("no such record" if version is None else "no such version of a record")
    return row


def _page(
    tx: Transaction, rows: str, sizes_of: str, limit: int, **of: object
) -> tuple[list[RecordRow], bool]:
    """As many rows as fit on a page, and whether there are more. Sizes are read first, so that a page of
    large values is never held whole.
    """
    found = [row.value for row in tx.all(sizes_of, limit=limit + 1, **of)]
    number = sizes.fitting(found[:limit], PAGE_BYTES_MAX)
    return tx.all(rows, limit=number, **of), number < len(found)
