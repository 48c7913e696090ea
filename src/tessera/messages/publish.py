"""Publication in ten steps, each a function that finds its own work done if it was.

The order is the whole point: what a message will be is durable before anybody sees it, and it counts as sent
only after its recipient could. A process may die between any two lines; whoever comes next goes on from what
is on the disk, with the same filename and the same bytes. `states.PUBLICATION` is the table of the way.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from tessera.messages import ledger as files
from tessera.messages import records
from tessera.messages.boxes import Boxes
from tessera.messages.disk import Folder
from tessera.messages.errors import LedgerDamaged
from tessera.messages.ledger import ACTIVE, COMMITS, INDEX, KEYS, MESSAGES, PENDING, SUFFIX, Ledger
from tessera.messages.records import Document, Index, Record
from tessera.runtime import Runtime
from tessera.states import NEW, PUBLICATION, PUBLISHED


@dataclass(slots=True)
class Publication:
    """One message on its way. `recipient` is None where its row proves that it was delivered."""

    ledger: Ledger
    index: Index
    record: Record
    recipient: Boxes | None


def open_coverage(ledger: Ledger, runtime: Runtime) -> Index:
    """Step 1: the head, made if there is none yet: from here on nothing is sent that it does not cover.

    Raises `LedgerDamaged` for state without a head, or a head whose newest node or row is not whole; OSError.
    """
    ledger.make()
    index = ledger.index()
    if index is not None:
        ledger.tip(index)
        return index
    ledger.refuse_headless()
    index = Index(1, runtime.now_us() // 1_000, 0, None)
    ledger.sent.create(INDEX, records.canonical_bytes(index))
    runtime.reach("message.coverage")
    return index


def reserve(one: Publication) -> None:
    """Step 4: the pending record. Its name is its digest, so what is to be sent is fixed from here on."""
    name = records.digest(one.record) + SUFFIX
    _let_stand(one.ledger.made(PENDING), name, one.record, "pending sent record collision")


def activate(one: Publication) -> None:
    """Step 5: the pointer that allows this publication, and no other, to be half done."""
    _let_stand(one.ledger.sent, ACTIVE, files.as_active(one.record), "active sent intent collision")


def deliver(one: Publication) -> None:
    """Step 6: the recipient's copy. One that the recipient has archived by now is delivered."""
    if one.recipient is not None:
        one.recipient.deliver(one.record.filename, one.record.rendered_message.encode())


def record_row(one: Publication) -> None:
    """Step 7: the sender's row, the same bytes as the pending record."""
    folder = one.ledger.made(MESSAGES)
    _let_stand(folder, one.record.filename + SUFFIX, one.record, "sent record collision")


def link_node(one: Publication) -> None:
    """Step 8: the node that ties the row to the head as it is."""
    node = files.next_node(one.index, one.record)
    _let_stand(one.ledger.made(COMMITS), records.digest(node) + SUFFIX, node, "sent commit collision")


def commit_head(one: Publication) -> None:
    """Step 9: the head moves to the new node; from here on the message is sent."""
    node = files.next_node(one.index, one.record)
    if node.ordinal > records.U64_MAX:
        raise LedgerDamaged("sent commit count overflow")
    one.index = Index(1, one.index.since, node.ordinal, records.digest(node))
    one.ledger.sent.replace(INDEX, records.canonical_bytes(one.index))


def publish_receipt(one: Publication) -> None:
    """Step 9, for a keyed message: which row the key stands for."""
    if one.record.idempotency_key is not None:
        name = files.receipt_name(one.record) + SUFFIX
        receipt = files.as_receipt(one.record)
        _let_stand(one.ledger.made(KEYS), name, receipt, "sent idempotency-key collision")


def clear_pending(one: Publication) -> None:
    """Step 10: the pending record goes."""
    one.ledger.made(PENDING).remove(records.digest(one.record) + SUFFIX)


def clear_active(one: Publication) -> None:
    """Step 10: the pointer goes. Both removals are synced: the next publication must not meet this one."""
    one.ledger.sent.remove(ACTIVE)


STEPS: Final[dict[str | None, tuple[Callable[[Publication], None], str]]] = {
    NEW: (reserve, "reserved"),
    "reserved": (activate, "active"),
    "active": (deliver, "delivered"),
    "delivered": (record_row, "recorded"),
    "recorded": (link_node, "linked"),
    "linked": (commit_head, "committed"),
    "committed": (publish_receipt, "receipted"),
    "receipted": (clear_pending, "cleared"),
    "cleared": (clear_active, PUBLISHED),
}


def carry_out(one: Publication, runtime: Runtime, state: str | None = NEW) -> None:
    """All steps from a state to the end. Raises `LedgerDamaged`, `MessageCollision`, OSError; what was done
    until then stays, for the next one to go on from.
    """
    while state != PUBLISHED:
        step, after = STEPS[state]
        step(one)
        runtime.reach(PUBLICATION[state, after])
        state = after


def _let_stand(folder: Folder, name: str, document: Document, collision: str) -> None:
    """A file that is there, whole and durable, with exactly these bytes."""
    content = records.canonical_bytes(document)
    try:
        folder.create(name, content)
    except FileExistsError:
        if folder.read(name) != content:
            raise LedgerDamaged(f"{collision}: {folder.where(name)}") from None
        folder.settle(name)
