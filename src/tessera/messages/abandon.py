"""Giving up a message that can never be finished, so that its sender's later ones may go out."""

from __future__ import annotations

from contextlib import suppress

from msgspec import Struct

from tessera.errors import InvalidState, NotFound, Unavailable
from tessera.messages import lock, records
from tessera.messages.agents import Subject
from tessera.messages.boxes import Boxes
from tessera.messages.catalog import RESOURCES, SENT, Catalog
from tessera.messages.errors import Unattributed
from tessera.messages.ledger import ABANDONED, ACTIVE, PENDING, SUFFIX, Ledger
from tessera.messages.records import Record
from tessera.messages.sending import recipient_of


class Lost(Struct, frozen=True):
    """What is given up. `delivered` is None where nobody can look."""

    filename: str
    to: str
    subject: str | None
    body: str
    delivered: bool | None


def look(catalog: Catalog, sender: Subject) -> Lost:
    """The message in flight that `abandon` would give up. Raises as it does."""
    return _with_ledger(catalog, sender, move=False)


def abandon(catalog: Catalog, sender: Subject) -> Lost:
    """Move the message in flight to `sent/abandoned` and say what was lost.

    A copy that its recipient has already stays there. Raises `NotFound` if nothing is in flight,
    `InvalidState` if the message has its row already, for then the next send finishes it, `LedgerDamaged`,
    `Unavailable`.
    """
    return _with_ledger(catalog, sender, move=True)


def _with_ledger(catalog: Catalog, sender: Subject, *, move: bool) -> Lost:
    try:
        with (
            catalog.folder(sender, catalog.temps_of(sender)) as home,
            home.sub(RESOURCES) as resources,
            resources.sub(SENT) as sent,
            lock.exclusive(sent, catalog.runtime),
            Ledger(sent) as ledger,
        ):
            record = _in_flight(ledger)
            delivered = _delivered(catalog, record)
            if move:
                _move(ledger, record)
                catalog.runtime.reach("message.abandoned")
            return Lost(record.filename, record.to, record.subject, record.body, delivered)
    except FileNotFoundError as error:
        raise NotFound(f"agent {sender.agent.shown} has never sent anything") from error
    except OSError as error:
        raise Unavailable(f"the message in flight could not be given up: {error.strerror}") from error


def _in_flight(ledger: Ledger) -> Record:
    intent = ledger.intent()
    if intent.record is None:
        raise NotFound("no message is in flight")
    intent.refuse_disagreement()
    if ledger.row(intent.record.filename) is not None:
        raise InvalidState(f"message {intent.record.filename} was delivered: the next send finishes it")
    return intent.record


def _delivered(catalog: Catalog, record: Record) -> bool | None:
    with suppress(LookupError, InvalidState, Unattributed, OSError):
        to = recipient_of(record, catalog.book(), catalog.contested(), catalog.path)
        with catalog.folder(to) as home, Boxes.open(home) as boxes:
            return boxes.has(record.filename)
    return None


def _move(ledger: Ledger, record: Record) -> None:
    """The pointer goes first: a pending record without it is whole, a pointer without a record is not."""
    pending = ledger.folder(PENDING)
    assert pending is not None
    ledger.sent.remove(ACTIVE)
    with ledger.sent.make_sub(ABANDONED, sync=True) as abandoned:
        pending.move_to(records.digest(record) + SUFFIX, abandoned)
