"""The external mailbox: delivered to and from like anybody, and known to no ledger."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from messages.ground import ALICE, BOB, Sent, snapshot
from tessera import messages
from tessera.errors import InvalidRequest, NotFound
from tessera.messages import AgentId, Mail
from tessera.messages.errors import LedgerDamaged
from tessera.messages.wire import Unavailable
from tessera.testing import World

REFUSALS = (InvalidRequest, LedgerDamaged, NotFound)


@pytest.fixture
def eval_(mail: Mail, catalog: Path, world: World) -> Iterator[Mail]:
    """The catalog with the mailbox `judge`."""
    (catalog / "judge" / "inbox").mkdir(parents=True)
    with messages.open(catalog, runtime=world.runtime(), external="judge") as one:
        yield one


def test_both_directions_leave_no_history(eval_: Mail, catalog: Path) -> None:
    """A question and its answer are delivered, and both ledgers stay unavailable."""
    question = eval_.send("judge", ALICE, "what did you do?", subject="q")
    answer = eval_.reply(ALICE, question, "nothing")

    (asked,) = eval_.ls(ALICE)
    assert (asked.from_, asked.from_id) == ("judge", messages.mail.UNSET)
    (told,) = eval_.ls("judge")
    assert (told.filename, told.subject, told.from_id) == (answer, "re: q", eval_.find(ALICE).agent.id)
    assert eval_.read("judge", answer).row.body == "nothing\n"
    assert eval_.sent(ALICE).coverage == Unavailable()
    assert not Sent(catalog, ALICE).path.exists()
    assert eval_.send("judge", ALICE, "again", in_reply_to=answer)


def test_a_key_needs_a_ledger(eval_: Mail, catalog: Path) -> None:
    """An idempotency key is refused at either end, before anything is written; so is a forged header."""
    before = snapshot(catalog)
    for sender, to in (("judge", ALICE), (ALICE, "judge")):
        with pytest.raises(InvalidRequest, match="do not own an ordinary sent-message index"):
            eval_.send(sender, to, "x", idempotency_key="k")
        with pytest.raises(InvalidRequest):
            eval_.send(sender, to, "x", subject="a\nfrom-id: b")
    assert snapshot(catalog) == before


def test_a_declared_agent_comes_first(eval_: Mail, catalog: Path) -> None:
    """A name that an agent answers to is that agent, not the mailbox; an exact id never is the mailbox."""
    eval_.add_agent("g.judge")
    eval_.send(ALICE, "judge", "x")

    assert len(eval_.ls("g.judge")) == 1
    assert list((catalog / "judge" / "inbox").iterdir()) == []
    with pytest.raises(NotFound):
        eval_.send(ALICE, AgentId("judge"), "x")


@pytest.mark.parametrize("name", ["agents", "../elsewhere", "a/b", ".st2", "", "nowhere", "file"])
def test_a_mailbox_that_is_none(mail: Mail, catalog: Path, name: str) -> None:
    """What is no folder of its own with an inbox is refused, and is made by nobody."""
    (catalog / "file").write_bytes(b"")
    before = snapshot(catalog)
    with messages.open(catalog, external=name) as one, pytest.raises(REFUSALS):
        one.ls(name)
    assert snapshot(catalog) == before


def test_without_the_capability_there_is_no_mailbox(mail: Mail, catalog: Path) -> None:
    """The folder alone is no mailbox."""
    (catalog / "judge" / "inbox").mkdir(parents=True)

    with pytest.raises(NotFound):
        mail.send(BOB, "judge", "x")
