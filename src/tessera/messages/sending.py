"""Sending: who writes to whom, what exactly is to be published, and whether it was published before."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from msgspec import UNSET

from tessera import limits
from tessera.errors import IdempotencyConflict, InvalidRequest, InvalidState, Unavailable
from tessera.messages import collisions, forms, lock, publish, records, rendering
from tessera.messages.agents import Book, Subject
from tessera.messages.boxes import Boxes
from tessera.messages.catalog import RESOURCES, SENT, Catalog, owner_tag
from tessera.messages.errors import LedgerDamaged, PendingStuck, Unattributed
from tessera.messages.ledger import Ledger, receipt_name
from tessera.messages.publish import Publication
from tessera.messages.records import Index, Record
from tessera.messages.recover import recover


@dataclass(frozen=True, slots=True)
class Draft:
    """What somebody wants to say. The texts are as given; `checked` refuses what cannot be sent."""

    body: str
    subject: str | None = None
    in_reply_to: str | None = None
    tags: Sequence[str] = ()
    idempotency_key: str | None = None

    def checked(self) -> None:
        """Refuse (`InvalidRequest`) what a header line cannot carry unchanged, and what exceeds a limit."""
        forms.require_key(self.idempotency_key)
        forms.require_line(self.subject, "subject")
        forms.require_line(self.in_reply_to, "in_reply_to")
        if len(self.tags) > limits.MESSAGE_TAGS_MAX:
            raise InvalidRequest(f"tags: more than {limits.MESSAGE_TAGS_MAX}")
        for place, tag in enumerate(self.tags):
            forms.require_line(tag, f"tags[{place}]")
            if "," in tag or not tag.strip():
                raise InvalidRequest(f"tags[{place}]: a tag is a word without comma")
        try:
            size = len(self.body.encode())
        except UnicodeEncodeError as error:
            raise InvalidRequest("body: a lone surrogate is no Unicode text") from error
        if size > limits.MESSAGE_BODY_BYTES_MAX:
            raise InvalidRequest(f"body: larger than {limits.MESSAGE_BODY_BYTES_MAX:,} bytes")


@dataclass(frozen=True, slots=True)
class Sender:
    """An agent that sends now, with its open ledger and the head as it is."""

    catalog: Catalog
    subject: Subject
    ledger: Ledger
    index: Index
    contested: collisions.Contested = field(default_factory=dict)


def send(catalog: Catalog, book: Book, sender: Subject, to: Subject, draft: Draft) -> str:
    """Publish a message from one agent to another and give its filename.

    A keyed message that was sent before gives the filename of then; the same key with other content is
    `IdempotencyConflict`. Without a key, a message that an interrupted send had begun is finished instead of
    being sent twice. Raises `PendingStuck`, `LedgerDamaged`, `MessageCollision`; `Unavailable` for trouble
    with the disk, after which sending the same again goes on from there.
    """
    draft.checked()
    for subject in (sender, to):
        _require_current(subject)
    try:
        with (
            _at_work(catalog, book, sender) as (at_work, recovered),
            catalog.folder(to, catalog.temps_of(sender)) as home,
            Boxes.make(home) as boxes,
        ):
            record = _record(at_work, to, draft, boxes)
            earlier = _earlier(at_work, record, recovered)
            if earlier is not None:
                return earlier
            one = Publication(at_work.ledger, at_work.index, record, boxes)
            publish.carry_out(one, catalog.runtime)
            return record.filename
    except OSError as error:
        detail = f"the message may not be sent yet: {error.strerror}; sending it again goes on from there"
        raise Unavailable(detail) from error


def _require_current(subject: Subject) -> None:
    if subject.agent.id is None:
        raise InvalidState(f"agent {subject.agent.shown} has no id yet: run `tessera message migrate-ids`")
    if subject.agent.retired:
        raise InvalidState(f"agent {subject.agent.known_id} is retired")


@contextmanager
def _at_work(catalog: Catalog, book: Book, sender: Subject) -> Iterator[tuple[Sender, Record | None]]:
    """Steps 1 and 2 under the sender's lock, and the ledger as it is then."""
    with (
        catalog.folder(sender, catalog.temps_of(sender)) as home,
        home.make_sub(RESOURCES) as resources,
        resources.make_sub(SENT) as sent,
        lock.exclusive(sent, catalog.runtime),
        Ledger(sent) as ledger,
    ):
        if ledger.index() is None:  # nobody can say who made these folders, nor how far he came
            home.sync()
            resources.sync()
        contested = catalog.contested()
        recipients = _Recipients(catalog, book, sender, contested)
        index = publish.open_coverage(ledger, catalog.runtime)
        index, recovered = recover(ledger, index, recipients, owner_tag(sender), catalog.runtime)
        yield Sender(catalog, sender, ledger, index, contested), recovered


@dataclass(frozen=True, slots=True)
class _Recipients:
    """Opens the boxes of whoever an interrupted message was to go to."""

    catalog: Catalog
    book: Book
    sender: Subject
    contested: collisions.Contested

    @contextmanager
    def __call__(self, record: Record) -> Iterator[Boxes]:
        """The boxes. Raises `PendingStuck` if nobody can say whose, or they are gone."""
        try:
            to = recipient_of(record, self.book, self.contested, self.catalog.path)
        except (LookupError, InvalidState, Unattributed) as error:
            raise stuck(record, str(error)) from error
        try:
            home = self.catalog.folder(to, self.catalog.temps_of(self.sender))
        except FileNotFoundError as error:
            raise stuck(record, f"the folder {to.place} is gone") from error
        with home, Boxes.make(home, sync=True) as boxes:
            yield boxes


def recipient_of(record: Record, book: Book, contested: collisions.Contested, catalog: str) -> Subject:
    """The agent that a record was addressed to, by exact id. Raises LookupError if it is not there any more,
    `Unattributed` if its legacy bytes denote more than one, `InvalidState` if it is no agent.
    """
    party = collisions.attribute(record.to, record.to_kind, record.version, None, contested)
    if party.id is None:
        raise Unattributed(f"{record.to!r} is a legacy bus identity that a migration reassigned")
    if party.kind != "agent":
        raise InvalidState(f"{record.to!r} is a {party.kind} address")
    found = [one for one in book.subjects if one.agent.known_id == party.id]
    if len(found) != 1:
        raise LookupError(f"{len(found)} agents have the id {party.id!r} in catalog {catalog}")
    return found[0]


def stuck(record: Record, why: str) -> PendingStuck:
    """The refusal that names an interrupted message and the way out."""
    return PendingStuck(
        f"an interrupted message {record.filename} to {record.to!r} cannot be finished: {why}. "
        "Restore its recipient, or give it up with `tessera message abandon`"
    )


def _record(at_work: Sender, to: Subject, draft: Draft, boxes: Boxes) -> Record:
    """Step 3: endpoints, filename and exact bytes. What the record says is what a reader of the rendered text
    would read.
    """
    agent, recipient = at_work.subject.agent, to.agent
    rendered = rendering.render(
        agent.shown, draft.body, from_id=agent.id, subject=draft.subject, in_reply_to=draft.in_reply_to,
        tags=[tag.strip() for tag in draft.tags], idempotency_key=draft.idempotency_key,
    )  # fmt: skip
    says = rendering.parse(rendered)
    filename = _unused_filename(at_work, boxes)
    return Record(
        version=2, filename=filename, ts=forms.filename_ms(filename),
        from_=agent.known_id, to=recipient.known_id,
        subject=says.subject, in_reply_to=says.in_reply_to, tags=says.tags, priority=says.priority,
        idempotency_key=says.idempotency_key, body=says.body, rendered_message=rendered,
        from_address=agent.bus_address or UNSET, to_address=recipient.bus_address or UNSET,
        from_kind="agent", to_kind="agent",
    )  # fmt: skip


def _unused_filename(at_work: Sender, boxes: Boxes) -> str:
    """A filename of now that neither the sender nor the recipient has seen. A clock that was put back does
    not reach behind the head's promise.
    """
    runtime = at_work.catalog.runtime
    for _ in range(limits.MESSAGE_NAMES_MAX):
        now_ms = max(runtime.now_us() // 1_000, at_work.index.since)
        filename = forms.fresh_filename(now_ms, runtime.token())
        if at_work.ledger.row(filename) is None and not boxes.has(filename):
            return filename
    raise Unavailable("no unused message filename was found; try again", definite=True)


def _earlier(at_work: Sender, record: Record, recovered: Record | None) -> str | None:
    """The filename of the same operation, if this message was published before: under its key ever, without a
    key only by the recovery that just ran.
    """
    if record.idempotency_key is None:
        same = recovered is not None and _same_operation(at_work, recovered, record)
        return recovered.filename if recovered is not None and same else None
    receipt = at_work.ledger.receipt(receipt_name(record))
    if receipt is None:
        return None
    row = at_work.ledger.row(receipt.filename)
    if row is None or records.digest(row) != receipt.record_digest:
        raise LedgerDamaged(f"sent key record mismatch: {receipt.filename}")
    if not _same_operation(at_work, row, record):
        raise IdempotencyConflict("message idempotency key reused with different content")
    return row.filename


def _same_operation(at_work: Sender, earlier: Record, record: Record) -> bool:
    """Whether two records say the same between the same two: addresses and the text as rendered may differ,
    since agents move.
    """
    return _operation(at_work, earlier) == _operation(at_work, record)


def _operation(at_work: Sender, record: Record) -> tuple[object, ...]:
    owner = at_work.subject.agent.known_id
    contested = at_work.contested
    return (
        collisions.attribute(record.from_, record.from_kind, record.version, owner, contested),
        collisions.attribute(record.to, record.to_kind, record.version, None, contested),
        record.subject, record.in_reply_to, record.tags, record.priority, record.idempotency_key, record.body,
    )  # fmt: skip
