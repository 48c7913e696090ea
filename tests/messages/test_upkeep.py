"""Giving up what is stuck, and verifying what is said to be sent."""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path

import pytest

from messages.damages import relinked, row
from messages.ground import ALICE, BOB, CAROL, Sent, canonical, load, sha, snapshot
from messages.noted import Death, Noted
from messages.test_crashes import mortal
from tessera import messages
from tessera.errors import InvalidState, NotFound
from tessera.messages import Mail, disk
from tessera.messages.errors import PendingStuck
from tessera.messages.wire import Partial, Since
from tessera.testing import World


def interrupted(mail: Mail, world: World, point: str) -> None:
    """Alice's message to Bob, cut off at a point."""
    dying = mortal(world, point)
    with messages.open(mail.catalog.path, runtime=dying) as one, pytest.raises(Death):
        one.send(ALICE, BOB, "hello", subject="s")


@pytest.mark.parametrize("point", ["message.pending", "message.active", "message.recipient"])
def test_a_message_whose_recipient_is_gone(
    mail: Mail, alice: Sent, bob: Sent, world: World, point: str
) -> None:
    """It refuses every later send, by name, until it is abandoned; then it is kept aside, others go out."""
    interrupted(mail, world, point)
    shutil.rmtree(bob.home)
    for _ in range(2):
        with pytest.raises(PendingStuck, match=r"0 agents have the id .*tessera message abandon"):
            mail.send(ALICE, CAROL, "later")
    assert isinstance(mail.sent(ALICE).coverage, Partial)
    (name,) = alice.names("pending")
    content = (alice.folder("pending") / name).read_bytes()
    looked = mail.stuck(ALICE)
    assert alice.names("pending") == [name]

    lost = mail.abandon(ALICE)

    assert lost == looked
    assert (lost.subject, lost.body, lost.delivered) == ("s", "hello\n", None)
    assert (alice.names("pending"), alice.active.exists()) == ([], False)
    assert (alice.folder("abandoned") / name).read_bytes() == content
    later = mail.send(ALICE, CAROL, "later")
    assert [row.filename for row in mail.sent(ALICE).messages] == [later]
    assert isinstance(mail.sent(ALICE).coverage, Since)


def test_what_abandoning_says_of_the_copy(mail: Mail, world: World) -> None:
    """Whether the recipient has the message is told, and its copy stays."""
    interrupted(mail, world, "message.active")
    assert mail.abandon(ALICE).delivered is False
    interrupted(mail, world, "message.recipient")
    lost = mail.abandon(ALICE)

    assert lost.delivered is True
    assert [row.filename for row in mail.ls(BOB)] == [lost.filename]


def test_what_is_not_abandoned(mail: Mail, world: World, alice: Sent) -> None:
    """Nothing in flight, nothing ever sent, and a message that has its row already."""
    with pytest.raises(NotFound, match="has never sent anything"):
        mail.abandon(ALICE)
    assert not alice.path.exists()
    mail.send(ALICE, BOB, "one")
    with pytest.raises(NotFound, match="no message is in flight"):
        mail.abandon(ALICE)
    interrupted(mail, world, "message.row")
    with pytest.raises(InvalidState, match="the next send finishes it"):
        mail.abandon(ALICE)
    mail.send(ALICE, BOB, "two")
    assert len(mail.sent(ALICE).messages) == 3


def test_a_death_while_abandoning(
    mail: Mail, alice: Sent, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever the process dies, the ledger is whole: the message is in flight still, or given up."""
    for nth in range(1, 20):
        interrupted(mail, world, "message.active")
        noted = Noted(nth)
        with monkeypatch.context() as patch, suppress(Death):
            patch.setattr(disk, "os", noted)
            with messages.open(mail.catalog.path) as dying:
                dying.abandon(ALICE)
        if isinstance(mail.sent(ALICE).coverage, Partial):
            assert mail.abandon(ALICE).subject == "s"
        assert isinstance(mail.sent(ALICE).coverage, Since)
        assert len(alice.names("abandoned")) == nth
        if noted.left > 0:
            break
    assert nth > 5


def lie(sent: Sent, **changes: object) -> None:
    """Let the newest row say something else, with a chain of true digests around it."""
    path = row(sent, -1)
    record = {**load(path), **changes}
    path.write_bytes(canonical(record))
    relinked(sent, 0, rowDigest=sha(canonical(record)))


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"ts": 1}, "ts"), ({"from": "somebody"}, "from"), ({"subject": "t"}, "subject"),
        ({"body": "b"}, "body"), ({"tags": ["a"]}, "tags"), ({"inReplyTo": "x"}, "inReplyTo"),
        ({"renderedMessage": "x"}, "subject, body"),
    ],
)  # fmt: skip
def test_rows_that_lie(mail: Mail, alice: Sent, changes: dict[str, object], field: str) -> None:
    """A row that contradicts itself passes a reader, as the format has it, and not verification."""
    mail.send(ALICE, BOB, "one", subject="s")
    lie(alice, **changes)
    (report,) = mail.verify(ALICE)

    assert len(mail.sent(ALICE).messages) == 1
    assert not report.ok
    assert report.error == f"sent record {alice.rows()[0]['filename']} contradicts itself: {field}"


def test_verification_changes_nothing(mail: Mail, catalog: Path, world: World) -> None:
    """A catalog is verified agent by agent; one in flight is sound; one damaged does not hide others."""
    mail.send(CAROL, BOB, "one")
    interrupted(mail, world, "message.row")
    Sent(catalog, CAROL).index.unlink()
    before = snapshot(catalog)
    reports = {report.address: report for report in mail.verify()}

    assert [reports[agent].ok for agent in (ALICE, BOB, CAROL)] == [True, True, False]
    assert isinstance(reports[ALICE].coverage, Partial)
    assert snapshot(catalog) == before


def test_the_trust_root_is_the_head(mail: Mail, alice: Sent) -> None:
    """Whoever can rewrite the head and all that hangs on it is believed: nothing here claims more."""
    mail.send(ALICE, BOB, "one")
    mail.send(ALICE, BOB, "two")
    (newest, _), (older, _) = alice.chain()
    last = load(alice.folder("commits") / f"{newest}.json")["filename"]
    (alice.folder("commits") / f"{newest}.json").unlink()
    (alice.folder("messages") / f"{last}.json").unlink()
    alice.put_head(count=1, tip=older)

    assert len(mail.sent(ALICE).messages) == 1
    assert [report.ok for report in mail.verify(ALICE)] == [True]
