"""Verification: the whole ledger as a reader sees it, and what a reader passes over for others' sake."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct

from tessera.errors import TesseraError
from tessera.messages import collisions, forms, reading, rendering
from tessera.messages.agents import Subject
from tessera.messages.catalog import Catalog
from tessera.messages.errors import LedgerDamaged
from tessera.messages.records import Record
from tessera.messages.wire import Coverage


class AgentReport(Struct, frozen=True):
    """What verification found of one agent. A partial ledger is sound: its next send completes it."""

    id: str
    address: str | None
    ok: bool
    coverage: Coverage | None
    messages: int
    error: str | None


class Report(Struct, frozen=True):
    """`verify --json`."""

    ok: bool
    agents: list[AgentReport]
    faults: list[str]


def verify(catalog: Catalog, subjects: Iterable[Subject]) -> Iterator[AgentReport]:
    """The report of each agent, as it is found."""
    contested = catalog.contested()
    for subject in subjects:
        yield _report(catalog, subject, contested)


def _report(catalog: Catalog, subject: Subject, contested: collisions.Contested) -> AgentReport:
    agent = subject.agent
    try:
        history = reading.read(catalog, subject)
        for row in history.rows:
            _audit(row, agent.known_id, contested)
    except TesseraError as error:
        return AgentReport(agent.known_id, agent.bus_address, False, None, 0, error.detail)
    return AgentReport(agent.known_id, agent.bus_address, True, history.coverage, len(history.rows), None)


def _audit(row: Record, owner: str, contested: collisions.Contested) -> None:
    """Whether a row agrees with itself: a whole chain of rows that lie would pass a reader."""
    says = rendering.parse(row.rendered_message)
    sender = collisions.attribute(row.from_, row.from_kind, row.version, owner, contested)
    wrong = [
        name
        for name, agrees in {
            "ts": row.ts == forms.filename_ms(row.filename),
            "from": sender.id == owner,
            "subject": row.subject == says.subject,
            "inReplyTo": row.in_reply_to == says.in_reply_to,
            "tags": row.tags == says.tags,
            "idempotencyKey": row.idempotency_key == says.idempotency_key,
            "body": row.body == says.body,
        }.items()
        if not agrees
    ]
    if wrong:
        raise LedgerDamaged(f"sent record {row.filename} contradicts itself: {', '.join(wrong)}")
