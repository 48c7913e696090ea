"""Recovery: the steps of publication read backwards, to find how far the last one came, then carried out."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

from tessera.messages import publish, records
from tessera.messages.boxes import Boxes
from tessera.messages.errors import LedgerDamaged
from tessera.messages.ledger import COMMITS, INDEX, KEYS, MESSAGES, PENDING, Intent, Ledger
from tessera.messages.publish import Publication
from tessera.messages.records import Index, Record
from tessera.runtime import Runtime

Recipients = Callable[[Record], AbstractContextManager[Boxes]]


def recover(
    ledger: Ledger, index: Index, recipients: Recipients, owner: str, runtime: Runtime
) -> tuple[Index, Record | None]:
    """Step 2: finish what is in flight. Gives the head as it is then, and the record if it was this call that
    published it; one that had been committed before is only cleaned up.

    `recipients` opens the boxes of a record's recipient, `owner` is the tag of the sender's temporary files.
    Raises `LedgerDamaged`, `PendingStuck` if the recipient cannot be found, `MessageCollision`, OSError.
    """
    intent = ledger.intent()
    _sweep(ledger, owner, everywhere=intent.open)
    committed = _committed(ledger, index, intent)
    if committed is not None:
        ledger.sent.settle(INDEX)  # whoever wrote it may have died before it was durable
        publish.carry_out(Publication(ledger, index, committed, None), runtime, "committed")
        return index, None
    if intent.record is None:
        return index, None
    intent.refuse_disagreement()
    one = Publication(ledger, index, intent.record, None)
    row = ledger.row(intent.record.filename)
    if row is not None:
        if row != intent.record:
            raise LedgerDamaged(f"active sent intent differs from sender row {row.filename}")
        publish.carry_out(one, runtime)  # its row proves that it was delivered
        return one.index, intent.record
    with recipients(intent.record) as one.recipient:
        _sweep_inbox(one.recipient, owner)
        publish.carry_out(one, runtime)
    return one.index, intent.record


def _committed(ledger: Ledger, index: Index, intent: Intent) -> Record | None:
    """The newest row, if what is in flight is its publication: only the cleaning up is left."""
    active, record = intent.active, intent.record
    tip = ledger.tip(index) if intent.open else None
    newest = None if tip is None else tip[1]
    if active is not None and newest is not None and newest.filename == active.filename:
        if records.digest(newest) != active.record_digest:
            raise LedgerDamaged(f"committed active intent differs from sender row {active.filename}")
        if record is not None and record != newest:
            raise LedgerDamaged("active sent intent differs from pending record")
        return newest
    if active is not None and record is None:
        raise LedgerDamaged(f"active sent intent {active.filename} has no recoverable pending record")
    if active is not None or record is None or ledger.row(record.filename) is None:
        return None
    if newest is None or newest.filename != record.filename:
        raise LedgerDamaged(f"committed pending intent is missing its active marker: {record.filename}")
    if newest != record:
        raise LedgerDamaged(f"committed pending intent differs from head tip: {record.filename}")
    return newest


def _sweep(ledger: Ledger, owner: str, *, everywhere: bool) -> None:
    """Take away the temporary files of dead processes. The large folders are looked at only when something is
    in flight: nobody dies in them otherwise.
    """
    ledger.sent.sweep(owner)
    for name in (PENDING, MESSAGES, COMMITS, KEYS) if everywhere else (PENDING,):
        ledger.made(name).sweep(owner)


def _sweep_inbox(recipient: Boxes, owner: str) -> None:
    if recipient.inbox is not None:
        recipient.inbox.sweep(owner)
