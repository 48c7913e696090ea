"""The messages room as its users meet it: one open catalog, and what can be asked of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TypeAlias

from msgspec import UNSET, UnsetType

from tessera.errors import NotFound
from tessera.messages import (
    abandon,
    addresses,
    boxes,
    collisions,
    external,
    forms,
    reading,
    registry,
    rendering,
    sending,
    threads,
    verify,
    wire,
)  # fmt: skip
from tessera.messages.addresses import AgentId
from tessera.messages.agents import Book, Subject
from tessera.messages.boxes import Boxes
from tessera.messages.catalog import Catalog
from tessera.messages.errors import LedgerDamaged, Unattributed
from tessera.messages.records import Record
from tessera.messages.sending import Draft
from tessera.runtime import Runtime, real_runtime

Endpoint: TypeAlias = Subject | str  # an agent, or the external mailbox by its name


@dataclass(frozen=True, slots=True)
class Message:
    """One received message: what it says, and its bytes as they arrived."""

    row: wire.MessageRow
    raw: bytes


class Mail:
    """Crash-safe mail between the agents of a catalog.

    An agent is named by its address (`str`) or by its exact id (`AgentId`). Everything may raise `NotFound`
    and `AmbiguousAgent` for a name, `LedgerDamaged` for what is not whole on the disk, and `Unavailable`.
    """

    def __init__(
        self, path: str | Path, *, runtime: Runtime | None = None, external: str | None = None
    ) -> None:
        """Open a catalog; `external` names the mailbox that no ledger knows. Nothing is made."""
        self.catalog = Catalog(path, runtime or real_runtime())
        self._external = external or None

    def __enter__(self) -> Mail:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the catalog."""
        self.catalog.close()

    def send(
        self, sender: str, to: str, body: str, *, subject: str | None = None, in_reply_to: str | None = None,
        tags: Sequence[str] = (), idempotency_key: str | None = None,
    ) -> str:  # fmt: skip
        """Send a message and give its filename; see `sending.send`."""
        draft = Draft(body, subject, in_reply_to, tags, idempotency_key)
        draft.checked()
        book = self.catalog.book()
        return self._send(book, self._endpoint(book, sender), self._endpoint(book, to), draft)

    def reply(
        self, sender: str, filename: str, body: str, *, subject: str | None = None,
        idempotency_key: str | None = None,
    ) -> str:  # fmt: skip
        """Answer a message of one's own inbox or archive; its sender is found by id, wherever it lives now.

        Without a subject the answer takes the message's, after `re: `. Raises `Unattributed` if nobody can
        say who wrote, besides what `send` raises.
        """
        book = self.catalog.book()
        me = self._endpoint(book, sender)
        says = self._found(me, filename)
        if subject is None and says.subject is not None:
            subject = forms.one_line(says.subject)
            subject = subject if subject[:3].lower() == "re:" else forms.one_line(f"re: {subject}")
        draft = Draft(body, subject, filename, (), idempotency_key)
        return self._send(book, me, self._author(book, says, filename), draft)

    def sent(
        self, wanted: str, *, include_body: bool = False, since: int | None = None, to: str | None = None
    ) -> wire.SentMessages:
        """What an agent has sent, by time, and what that covers. `since` (ms) is strict, `to` is compared
        with the recipient as the row keeps it.
        """
        contested = self.catalog.contested()
        history = reading.read(self.catalog, self.catalog.find(wanted))
        rows = [_sent_row(record, include_body, contested) for record in history.rows
                if since is None or record.ts > since]  # fmt: skip
        return wire.SentMessages(history.coverage, [row for row in rows if to is None or row.to == to])

    def ls(
        self, wanted: str, *, archive: bool = False, include_body: bool = False, from_: str | None = None,
        since: int | None = None,
    ) -> list[wire.MessageRow]:  # fmt: skip
        """What is in an agent's inbox, or archive, oldest first. `since` (ms) is strict."""
        endpoint = self._endpoint(self.catalog.book(), wanted)
        rows = []
        with self._boxes(endpoint) as opened:
            for filename in opened.listed(archive=archive):
                content = opened.message(filename, archive=archive)
                if content is not None and (since is None or forms.filename_ms(filename) > since):
                    rows.append(_row(filename, boxes.parsed(content, filename), include_body))
        return [row for row in rows if from_ is None or row.from_ == from_]

    def read(self, wanted: str, filename: str, *, archive: bool = False) -> Message:
        """One message of the inbox, or else of the archive; of the archive alone if told so."""
        endpoint = self._endpoint(self.catalog.book(), wanted)
        with self._boxes(endpoint) as opened:
            content = _content(opened, filename, archive=archive)
        return Message(_row(filename, boxes.parsed(content, filename), True), content)

    def archive(self, wanted: str, filename: str) -> None:
        """Put a message of the inbox away; again changes nothing."""
        endpoint = self._endpoint(self.catalog.book(), wanted)
        _require_filename(filename)
        with self._boxes(endpoint, make=True) as opened:
            opened.put_away(filename)

    def thread(self, wanted: str, filename: str) -> threads.Thread:
        """The conversation that a message of one's own boxes belongs to."""
        self._found(self._endpoint(self.catalog.book(), wanted), filename)
        return threads.gather(self.catalog, filename)

    def verify(self, wanted: str | None = None) -> Iterator[verify.AgentReport]:
        """The report of one agent, or of each agent in turn."""
        subjects = self.catalog.book().subjects if wanted is None else [self.catalog.find(wanted)]
        return verify.verify(self.catalog, subjects)

    def stuck(self, sender: str) -> abandon.Lost:
        """The message in flight that `abandon` would give up."""
        return abandon.look(self.catalog, self.catalog.find(sender))

    def abandon(self, sender: str) -> abandon.Lost:
        """Give up the message in flight; see `abandon.abandon`."""
        return abandon.abandon(self.catalog, self.catalog.find(sender))

    def agents(self) -> Book:
        """Every agent, and the declarations that cannot be read."""
        return self.catalog.book()

    def find(self, wanted: str) -> Subject:
        """One agent."""
        return self.catalog.find(wanted)

    def shown(self, wanted: str) -> str:
        """How people see an agent, or the external mailbox."""
        endpoint = self._endpoint(self.catalog.book(), wanted)
        return endpoint.agent.shown if isinstance(endpoint, Subject) else endpoint

    def add_agent(self, bus_address: str, *, name: str | None = None, id: str | None = None) -> Subject:
        """Declare a new agent at `HOST.ADDRESS`; see `registry.add`."""
        return registry.add(self.catalog, bus_address, name, id)

    def move_agent(self, wanted: str, bus_address: str) -> Subject:
        """Give an agent another address; see `registry.move`."""
        return registry.move(self.catalog, wanted, bus_address)

    def retire_agent(self, wanted: str) -> Subject:
        """Take an agent out of service; see `registry.retire`."""
        return registry.retire(self.catalog, wanted)

    def migrate_ids(self) -> list[Subject]:
        """Give ids to agents that have none; see `registry.migrate_ids`."""
        return registry.migrate_ids(self.catalog)

    def _send(self, book: Book, sender: Endpoint, to: Endpoint, draft: Draft) -> str:
        if isinstance(sender, Subject) and isinstance(to, Subject):
            return sending.send(self.catalog, book, sender, to, draft)
        return external.send(self.catalog, sender, to, draft)

    def _endpoint(self, book: Book, wanted: str) -> Endpoint:
        """A declared agent first; only a name that no agent has can be the external mailbox."""
        try:
            return addresses.resolve(book, wanted, self.catalog.path)
        except NotFound:
            if wanted == self._external and not isinstance(wanted, AgentId):
                return wanted
            raise

    def _author(self, book: Book, says: rendering.Parsed, filename: str) -> Endpoint:
        """Who wrote a message of one's inbox."""
        if says.from_id is not None:
            return addresses.resolve(book, AgentId(says.from_id), self.catalog.path)
        if not says.from_:
            raise Unattributed(f"message {filename} has no `from` to reply to")
        if collisions.attribute(says.from_, None, 1, None, self.catalog.contested()).id is None:
            detail = (
                f"{says.from_!r} is a historical address with no attributable subject: it is not replied to"
            )
            raise Unattributed(detail)
        try:
            return addresses.resolve(book, AgentId(says.from_), self.catalog.path)
        except NotFound:
            if says.from_ == self._external:
                return says.from_
            raise

    @contextmanager
    def _boxes(self, endpoint: Endpoint, *, make: bool = False) -> Iterator[Boxes]:
        try:
            if not isinstance(endpoint, Subject):
                with external.open_boxes(self.catalog, endpoint) as opened:
                    yield opened
                return
            with (
                self.catalog.folder(endpoint) as home,
                Boxes.make(home) if make else Boxes.open(home) as opened,
            ):
                yield opened
        except OSError as error:
            name = endpoint.agent.shown if isinstance(endpoint, Subject) else endpoint
            raise LedgerDamaged(f"the boxes of {name} cannot be used: {error.strerror}") from error

    def _found(self, endpoint: Endpoint, filename: str) -> rendering.Parsed:
        with self._boxes(endpoint) as opened:
            return boxes.parsed(_content(opened, filename), filename)


def _require_filename(filename: str) -> None:
    if not forms.is_filename(filename):
        raise NotFound(f"{filename!r} is no message filename")


def _content(opened: Boxes, filename: str, *, archive: bool = False) -> bytes:
    _require_filename(filename)
    content = None if archive else opened.message(filename)
    if content is None:
        content = opened.message(filename, archive=True)
    if content is None:
        raise NotFound(f"no message {filename!r} in the {'archive' if archive else 'inbox or the archive'}")
    return content


def _sent_row(record: Record, include_body: bool, contested: collisions.Contested) -> wire.SentMessageRow:
    party = collisions.attribute(record.to, record.to_kind, record.version, None, contested)
    return wire.SentMessageRow(
        record.filename, record.ts, party.shown, record.subject, record.in_reply_to, record.tags,
        record.priority, _present(record.idempotency_key), record.body if include_body else UNSET,
        record.to_address if party.id is not None else record.to, record.to_kind,
    )  # fmt: skip


def _row(filename: str, says: rendering.Parsed, include_body: bool) -> wire.MessageRow:
    return wire.MessageRow(
        filename, forms.filename_ms(filename), says.from_, says.subject, says.in_reply_to, says.tags,
        says.priority, _present(says.from_id), _present(says.idempotency_key), _present(says.stream),
        _present(says.event_id), _present(says.event_key), says.body if include_body else UNSET,
    )  # fmt: skip


def _present(value: str | None) -> str | UnsetType:
    """What is absent is left out; what is empty is told."""
    return UNSET if value is None else value
