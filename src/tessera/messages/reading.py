"""Reading a sent ledger: from the head to the first message ever, and nothing more or less than that.

A read never writes. It answers what is there and how far that may be relied on, or refuses the whole ledger
(`LedgerDamaged`): what is missing, extra, substituted, corrupt or unreadable is never passed over.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from tessera.messages import ledger as files
from tessera.messages import lock, records
from tessera.messages.agents import Subject
from tessera.messages.catalog import RESOURCES, SENT, Catalog
from tessera.messages.disk import Folder
from tessera.messages.errors import LedgerDamaged
from tessera.messages.ledger import COMMITS, KEYS, MESSAGES, SUFFIX, Intent, Ledger
from tessera.messages.records import Index, Record
from tessera.messages.wire import Coverage, Partial, Since, Unavailable

_TRIES: Final = 3  # of a read without a lock, while somebody makes the ledger


@dataclass(frozen=True, slots=True)
class History:
    """All that an agent has sent, by time and filename, and what that covers."""

    coverage: Coverage
    rows: list[Record] = field(default_factory=list)


@dataclass(slots=True)
class Chain:
    """What the head reaches: rows by filename, newest first, and the digests of their nodes."""

    rows: dict[str, Record] = field(default_factory=dict)
    nodes: set[str] = field(default_factory=set)

    @property
    def newest(self) -> Record | None:
        """The row of the tip."""
        return next(iter(self.rows.values()), None)


def read(catalog: Catalog, subject: Subject) -> History:
    """What an agent has sent. Raises `LedgerDamaged`, and `Unavailable` if its lock stays held."""
    try:
        with catalog.folder(subject) as home:
            return _read_home(catalog, home)
    except OSError as error:
        named = f" {error.filename}" if error.filename else ""
        detail = f"the sent ledger of {subject.agent.shown} is unreadable:{named} {error.strerror}"
        raise LedgerDamaged(detail) from error


def _read_home(catalog: Catalog, home: Folder) -> History:
    resources = home.sub_or_none(RESOURCES)
    if resources is None:
        return History(Unavailable())
    with resources:
        sent = resources.sub_or_none(SENT)
    if sent is None:
        return History(Unavailable())
    with sent:
        for _ in range(_TRIES):
            with lock.shared(sent, catalog.runtime) as held, Ledger(sent) as ledger:
                try:
                    return walk(ledger)
                except LedgerDamaged:
                    if held or not sent.has(lock.NAME):
                        raise  # else a writer made the lock meanwhile, and what was seen is half of its work
    raise LedgerDamaged(f"{sent.where(lock.NAME)} comes and goes")


def walk(ledger: Ledger) -> History:
    """The ledger's history, under its lock. Raises `LedgerDamaged`, OSError."""
    index = ledger.index()
    if index is None:
        ledger.refuse_headless()
        return History(Unavailable())
    intent = ledger.intent()
    intent.refuse_disagreement()
    chain = _chain(ledger, index)
    is_cleanup = _is_cleanup(ledger, intent, chain)
    _check_intent(intent, chain)
    _check_rows(ledger, intent, index, chain)
    _check_receipts(ledger, intent, chain)
    rows = sorted(chain.rows.values(), key=lambda row: (row.ts, row.filename))
    partial = intent.open and not is_cleanup
    return History(Partial(index.since, 1) if partial else Since(index.since), rows)


def _chain(ledger: Ledger, index: Index) -> Chain:
    """Every row that the head reaches, newest first. It ends exactly at the first."""
    chain = Chain()
    name = index.tip
    for ordinal in range(index.count, 0, -1):
        if name is None:
            raise LedgerDamaged(f"sent commit count/genesis mismatch: {ordinal} nodes are missing")
        node = ledger.node(name)
        if node is None:
            raise LedgerDamaged(f"missing sent commit node {name}")
        if node.ordinal != ordinal:
            raise LedgerDamaged(f"sent commit ordinal mismatch: {name} says {node.ordinal}, not {ordinal}")
        if node.filename in chain.rows:
            raise LedgerDamaged(f"sent commit chain references one row more than once: {node.filename}")
        chain.rows[node.filename] = ledger.committed_row(node)
        chain.nodes.add(name)
        name = node.previous
    if name is not None:
        raise LedgerDamaged(f"sent commit count/genesis mismatch: {name} goes on before the first")
    return chain


def _is_cleanup(ledger: Ledger, intent: Intent, chain: Chain) -> bool:
    """Whether all that is left to do is to remove the pending record of the newest row."""
    record = intent.record
    if record is None or intent.active is not None or ledger.row(record.filename) is None:
        return False
    if chain.newest is None or chain.newest.filename != record.filename:
        raise LedgerDamaged(f"committed pending intent is missing its active marker: {record.filename}")
    if chain.newest != record:
        raise LedgerDamaged(f"committed pending intent differs from head tip: {record.filename}")
    return True


def _check_intent(intent: Intent, chain: Chain) -> None:
    """A pointer is to the newest row, or to a record that is still to become one."""
    active = intent.active
    if active is None:
        return
    if active.filename not in chain.rows:
        if intent.record is None:
            raise LedgerDamaged(f"active sent intent {active.filename} is not committed")
        return
    assert chain.newest is not None
    if chain.newest.filename != active.filename:
        raise LedgerDamaged(f"active sent intent {active.filename} was committed before the newest row")
    if records.digest(chain.newest) != active.record_digest:
        raise LedgerDamaged(f"active sent intent {active.filename} differs from committed row")


def _check_rows(ledger: Ledger, intent: Intent, index: Index, chain: Chain) -> None:
    """Rows and nodes are exactly those that the head reaches, and those of the one in flight."""
    explained = chain.nodes
    for filename in ledger.stems(MESSAGES, "sent record"):
        if filename in chain.rows:
            continue
        if intent.active is None or filename != intent.active.filename:
            raise LedgerDamaged(f"unexplained sent record {filename}")
        extra = ledger.row(filename)
        if extra is None or records.digest(extra) != intent.active.record_digest:
            raise LedgerDamaged(f"active sent intent differs from uncommitted row {filename}")
        explained = explained | {records.digest(files.next_node(index, extra))}
    for name in ledger.stems(COMMITS, "sent commit"):
        if name not in explained:
            raise LedgerDamaged(f"unexplained sent commit node {name}")


def _check_receipts(ledger: Ledger, intent: Intent, chain: Chain) -> None:
    """Every keyed row has its receipt, and every receipt its row; the one in flight may lack it."""
    in_flight = {one.filename for one in (intent.active, intent.record) if one is not None}
    keyed = [row for row in chain.rows.values() if row.idempotency_key is not None]
    expected = {files.receipt_name(row): row for row in keyed}
    found = set(ledger.stems(KEYS, "sent key"))
    for name in found:
        receipt = ledger.receipt(name)
        if name not in expected:
            raise LedgerDamaged(f"unexplained sent idempotency receipt {name}{SUFFIX}")
        if receipt != files.as_receipt(expected[name]):
            raise LedgerDamaged(f"sent idempotency receipt differs from committed row: {name}{SUFFIX}")
    for row in keyed:
        name = files.receipt_name(row)
        if expected[name] is not row or (name not in found and row.filename not in in_flight):
            raise LedgerDamaged(f"committed sent row is missing its idempotency receipt: {row.filename}")
