"""The files of one agent's `resources/sent`: each read strictly, none of them trusted.

index.json   the head: since when, how many rows, the newest node
active.json  the one publication in flight
pending/     the record it is to publish
messages/    rows: the records that were published
commits/     nodes: each ties a row to the node before
keys/        receipts: which row an idempotency key stands for
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from types import TracebackType
from typing import Final

from tessera.messages import forms, records
from tessera.messages.disk import Folder
from tessera.messages.errors import LedgerDamaged
from tessera.messages.records import Active, Index, Node, Receipt, Record

INDEX: Final = "index.json"
ACTIVE: Final = "active.json"
PENDING: Final = "pending"
MESSAGES: Final = "messages"
COMMITS: Final = "commits"
KEYS: Final = "keys"
ABANDONED: Final = "abandoned"
SUFFIX: Final = ".json"


@dataclass(frozen=True, slots=True)
class Intent:
    """What is in flight: the pointer, the record, both, or neither."""

    active: Active | None = None
    record: Record | None = None

    @property
    def open(self) -> bool:
        """Whether anything is in flight."""
        return self.active is not None or self.record is not None

    def refuse_disagreement(self) -> None:
        """Raise `LedgerDamaged` where the pointer is to another record than the one that is pending."""
        if self.active is not None and self.record is not None and self.active != as_active(self.record):
            raise LedgerDamaged("active sent intent differs from pending record")


class Ledger:
    """One sender's ledger. The folders below `sent` are opened when first needed and made only by writers."""

    def __init__(self, sent: Folder) -> None:
        self.sent = sent
        self._open: dict[str, Folder] = {}
        self._stack = ExitStack()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def make(self) -> None:
        """Make what is missing of the folders. Raises OSError."""
        for name in (PENDING, MESSAGES, COMMITS, KEYS):
            if name not in self._open:
                self._open[name] = self._stack.enter_context(self.sent.make_sub(name))

    def folder(self, name: str) -> Folder | None:
        """One of the folders, or None while nobody has made it. Raises OSError."""
        if name not in self._open:
            folder = self.sent.sub_or_none(name)
            if folder is None:
                return None
            self._open[name] = self._stack.enter_context(folder)
        return self._open[name]

    def made(self, name: str) -> Folder:
        """One of the folders, for a writer that has made them."""
        return self._open[name]

    def index(self) -> Index | None:
        """The head. Raises `LedgerDamaged`, OSError."""
        raw = self.sent.read_or_none(INDEX)
        return None if raw is None else records.parse(Index, raw, f"sent head {self.sent.where(INDEX)}")

    def refuse_headless(self) -> None:
        """Raise `LedgerDamaged` for state that a head should cover; there is none. Raises OSError."""
        if self.intent().open or any(self.names(name) for name in (MESSAGES, COMMITS, KEYS)):
            raise LedgerDamaged(f"sender state exists without a sent head: {self.sent.path}")

    def intent(self) -> Intent:
        """What is in flight; at most one record is. Raises `LedgerDamaged`, OSError."""
        raw = self.sent.read_or_none(ACTIVE)
        where = f"active sent intent {self.sent.where(ACTIVE)}"
        active = None if raw is None else records.parse(Active, raw, where)
        names = self.names(PENDING)
        if len(names) > 1:
            raise LedgerDamaged(f"multiple pending sent intents: {self.sent.where(PENDING)}")
        return Intent(active, self._pending(names[0]) if names else None)

    def _pending(self, name: str) -> Record:
        stem = _stem(name, "pending sent record")
        if not forms.is_digest(stem):
            raise LedgerDamaged(f"invalid pending sent record digest {name!r}")
        record = self._parsed(PENDING, name, Record, "pending sent record")
        assert record is not None
        if records.digest(record) != stem:
            raise LedgerDamaged(f"pending sent record digest mismatch: {name}")
        return record

    def row(self, filename: str) -> Record | None:
        """The row of a message, or None. Raises `LedgerDamaged`, OSError."""
        row = self._parsed(MESSAGES, filename + SUFFIX, Record, "sent record")
        if row is not None and row.filename != filename:
            raise LedgerDamaged(f"sent record filename does not match its payload: {filename}{SUFFIX}")
        return row

    def node(self, name: str) -> Node | None:
        """The node of a digest, or None. Raises `LedgerDamaged`, OSError."""
        node = self._parsed(COMMITS, name + SUFFIX, Node, "sent commit")
        if node is not None and records.digest(node) != name:
            raise LedgerDamaged(f"sent commit filename mismatch: {name}{SUFFIX}")
        return node

    def receipt(self, name: str) -> Receipt | None:
        """The receipt of a key's digest, or None. Raises `LedgerDamaged`, OSError."""
        receipt = self._parsed(KEYS, name + SUFFIX, Receipt, "sent idempotency receipt")
        if receipt is not None and records.key_digest(receipt.to, receipt.key) != name:
            raise LedgerDamaged(f"sent key filename mismatch: {name}{SUFFIX}")
        return receipt

    def names(self, folder: str) -> list[str]:
        """What is in one of the folders, without temporary names. Raises `LedgerDamaged`, OSError."""
        opened = self.folder(folder)
        return [] if opened is None else opened.names()

    def stems(self, folder: str, what: str) -> list[str]:
        """The same without the suffix that all of them must have."""
        return [_stem(name, what) for name in self.names(folder)]

    def tip(self, index: Index) -> tuple[Node, Record] | None:
        """The newest node with its row, both checked; None for an empty ledger. This costs the same however
        long the history is. Raises `LedgerDamaged`, OSError.
        """
        if index.tip is None:
            return None
        node = self.node(index.tip)
        if node is None:
            raise LedgerDamaged(f"missing sent commit node {index.tip}")
        if node.ordinal != index.count:
            raise LedgerDamaged(f"sent commit ordinal mismatch: {index.tip}")
        return node, self.committed_row(node)

    def committed_row(self, node: Node) -> Record:
        """The row that a node ties in. Raises `LedgerDamaged` if it is not there or is another one."""
        row = self.row(node.filename)
        if row is None:
            raise LedgerDamaged(f"missing committed sent record {node.filename}")
        if records.digest(row) != node.row_digest:
            raise LedgerDamaged(f"sent row digest mismatch: {node.filename}")
        return row

    def _parsed(self, folder: str, name: str, kind: type[records.Kind], what: str) -> records.Kind | None:
        opened = self.folder(folder)
        raw = None if opened is None else opened.read_or_none(name)
        return None if raw is None else records.parse(kind, raw, f"{what} {name}")


def _stem(name: str, what: str) -> str:
    if not name.endswith(SUFFIX):
        raise LedgerDamaged(f"unexpected {what} entry {name!r}")
    return name.removesuffix(SUFFIX)


def as_active(record: Record) -> Active:
    """The pointer to a record in flight."""
    return Active(1, record.filename, records.digest(record))


def next_node(index: Index, record: Record) -> Node:
    """The node that ties a record to all that went before."""
    return Node(1, index.count + 1, index.tip, record.filename, records.digest(record))


def as_receipt(record: Record) -> Receipt:
    """The receipt of a keyed record."""
    assert record.idempotency_key is not None
    return Receipt(1, record.to, record.idempotency_key, record.filename, records.digest(record))


def receipt_name(record: Record) -> str:
    """Where the receipt of a keyed record is kept, without suffix."""
    assert record.idempotency_key is not None
    return records.key_digest(record.to, record.idempotency_key)
