"""Inbox and archive, answers and conversations."""

from __future__ import annotations

from pathlib import Path

import pytest

from messages.ground import ALICE, BOB, CAROL, Sent, snapshot
from tessera.errors import InvalidState, NotFound
from tessera.messages import AgentId, Mail
from tessera.messages.errors import LedgerDamaged, MessageCollision
from tessera.testing import World

FOREIGN = "1700000000000-aaaaaa.md"


def test_what_is_listed(mail: Mail, bob: Sent, world: World) -> None:
    """The inbox by filename, filters strict; other names, temporary files and folders are no messages."""
    one = mail.send(ALICE, BOB, "one")
    world.pass_seconds(1)
    two = mail.send(CAROL, BOB, "two", subject="s")
    for name in ("note.md", ".message.tmp-1-2", "1700000000000-AAAAAA.md", "x"):
        bob.box("inbox", name).write_bytes(b"\xff")
    (bob.home / "resources" / "inbox" / "folder").mkdir()

    assert [row.filename for row in mail.ls(BOB)] == [one, two]
    assert [row.filename for row in mail.ls(BOB, since=1_800_000_000_000)] == [two]
    assert [row.filename for row in mail.ls(BOB, from_=ALICE)] == [one]
    assert mail.ls(BOB, from_="alice") == []
    assert [row.body for row in mail.ls(BOB, include_body=True)] == ["one\n", "two\n"]
    assert mail.ls(BOB, archive=True) == []


def test_archiving(mail: Mail, bob: Sent) -> None:
    """A message moves once; again changes nothing; the archive wins over a copy that comes back."""
    one = mail.send(ALICE, BOB, "one")
    content = bob.box("inbox", one).read_bytes()
    mail.archive(BOB, one)
    mail.archive(BOB, one)

    assert (mail.ls(BOB), bob.inbox()) == ([], [])
    assert bob.box("archive", one).read_bytes() == content
    bob.box("inbox", one).write_bytes(content)
    before = snapshot(bob.home)
    assert mail.ls(BOB) == []
    assert snapshot(bob.home) == before
    mail.archive(BOB, one)
    assert bob.inbox() == []


def test_archiving_never_overwrites(mail: Mail, bob: Sent) -> None:
    """Other bytes under the name in the archive stay, and so does the message."""
    one = mail.send(ALICE, BOB, "one")
    bob.box("archive", one).write_bytes(b"other")

    with pytest.raises(MessageCollision):
        mail.archive(BOB, one)

    assert bob.box("archive", one).read_bytes() == b"other"
    assert bob.inbox() == [one]


@pytest.mark.parametrize("name", ["../../agent.json", FOREIGN, "", "x/y", "1700000000000-aaaaaa.md\n"])
def test_messages_that_are_not_there(mail: Mail, name: str) -> None:
    """A name that is none, or that no box holds, is not found, and is never a path."""
    for act in (mail.read, mail.archive, mail.thread):
        with pytest.raises(NotFound):
            act(BOB, name)
    with pytest.raises(NotFound):
        mail.reply(BOB, name, "x")


def test_reading(mail: Mail, bob: Sent) -> None:
    """A message is read from the inbox, else from the archive, and reading moves nothing."""
    one = mail.send(ALICE, BOB, "one", subject="s", tags=["a"])
    read = mail.read(BOB, one)
    with pytest.raises(NotFound, match="in the archive"):
        mail.read(BOB, one, archive=True)
    mail.archive(BOB, one)

    assert (read.row.subject, read.row.tags, read.row.body) == ("s", ["a"], "one\n")
    assert read.raw == bob.box("archive", one).read_bytes()
    assert mail.read(BOB, one) == mail.read(BOB, one, archive=True) == read


def test_a_message_that_is_no_text(mail: Mail, bob: Sent) -> None:
    """A message that is not UTF-8 is named, and can be archived out of the way."""
    bob.box("inbox", FOREIGN).write_bytes(b"\xff")
    with pytest.raises(LedgerDamaged, match=rf"{FOREIGN} is not UTF-8"):
        mail.ls(BOB)
    mail.archive(BOB, FOREIGN)

    assert mail.ls(BOB) == []


def test_answering(mail: Mail) -> None:
    """The answer goes to the sender's id wherever it lives now; `re:` once; tags stay behind; keys work."""
    one = mail.send(ALICE, BOB, "one", subject="Plan", tags=["a"])
    mail.move_agent(ALICE, "h.moved")
    mail.add_agent(ALICE)
    two = mail.reply(BOB, one, "two", idempotency_key="k")
    assert mail.reply(BOB, one, "two", idempotency_key="k") == two
    mail.archive("h.moved", two)
    three = mail.reply("h.moved", two, "three", subject="Other")
    four = mail.reply("h.moved", two, "four")

    (row,) = mail.sent(BOB).messages
    assert (row.to, row.in_reply_to, row.subject) == (mail.find("h.moved").agent.id, one, "re: Plan")
    assert (row.tags, row.idempotency_key) == ([], "k")
    assert mail.ls(ALICE) == []
    assert [mail.read(BOB, name).row.subject for name in (three, four)] == ["Other", "re: Plan"]


@pytest.mark.parametrize(
    ("subject", "answer"),
    [("RE: x", "RE: x"), ("Re:x", "Re:x"), ("  re: x", "re: x"), ("", "re:"), ("éé", "re: éé"),
     ("a\x1b[2Jb", "re: a [2Jb"), ("x" * 2_000, "re: " + "x" * 996)],
)  # fmt: skip
def test_the_subject_of_an_answer(mail: Mail, bob: Sent, subject: str, answer: str) -> None:
    """It is taken over once, made safe for a header, whatever the other one wrote."""
    author = mail.find(ALICE).agent.id
    bob.box("inbox", FOREIGN).write_text(f"---\nfrom: x\nfrom-id: {author}\nsubject: {subject}\n---\nx\n")
    name = mail.reply(BOB, FOREIGN, "y")

    assert mail.read(ALICE, name).row.subject == answer


def test_an_answer_to_nobody(mail: Mail, bob: Sent) -> None:
    """A sender that is retired or unknown is not answered; nothing else is tried."""
    one = mail.send(CAROL, BOB, "one")
    mail.retire_agent(CAROL)
    with pytest.raises(InvalidState, match="is retired"):
        mail.reply(BOB, one, "x")
    bob.box("inbox", FOREIGN).write_text(f"---\nfrom: {ALICE}\nfrom-id: gone\n---\nx\n")
    with pytest.raises(NotFound, match="no agent 'gone'"):
        mail.reply(BOB, FOREIGN, "x")


def test_conversations(mail: Mail, world: World) -> None:
    """From any of its messages the whole conversation is found, in time or as a tree, archived or not."""

    def after(name: str) -> str:
        world.pass_seconds(1)
        return name

    root = after(mail.send(ALICE, BOB, "root", subject="s"))
    left = after(mail.reply(BOB, root, "left"))
    right = after(mail.send(BOB, CAROL, "right", in_reply_to=root))
    deep = after(mail.reply(ALICE, left, "deep"))
    after(mail.send(ALICE, BOB, "something else"))
    mail.archive(BOB, root)

    for agent, name in ((BOB, root), (ALICE, left), (CAROL, right), (BOB, deep)):
        thread = mail.thread(agent, name)
        assert [post.filename for post in thread.posts] == [root, left, right, deep]
        assert [(post.filename, post.depth) for post in thread.tree] == [
            (root, 0),
            (left, 1),
            (deep, 2),
            (right, 1),
        ]
        assert thread.unreadable == []


def test_a_circle_of_answers_ends(mail: Mail, bob: Sent) -> None:
    """Messages that answer each other in a circle are each told once."""
    other = FOREIGN.replace("aaaaaa", "bbbbbb")
    bob.box("inbox", FOREIGN).write_text(f"---\nin-reply-to: {other}\n---\nx")
    bob.box("inbox", other).write_text(f"---\nin-reply-to: {FOREIGN}\n---\nx")

    assert {post.filename for post in mail.thread(BOB, FOREIGN).posts} == {FOREIGN, other}


def test_a_conversation_beside_what_cannot_be_read(mail: Mail, catalog: Path) -> None:
    """Other boxes that cannot be read are named, not passed over in silence."""
    one = mail.send(ALICE, BOB, "one")
    Sent(catalog, CAROL).box("inbox", FOREIGN).write_bytes(b"\xff")
    box = catalog / "agents/h/alice/resources/archive"
    box.rmdir()
    box.write_bytes(b"")
    thread = mail.thread(BOB, one)

    assert [post.filename for post in thread.posts] == [one]
    assert len(thread.unreadable) == 2


def test_an_agent_without_boxes(mail: Mail, catalog: Path) -> None:
    """Boxes that nobody made yet are empty; the first delivery makes them."""
    for path in sorted((catalog / "agents/h/bob/resources").rglob("*"), reverse=True):
        path.rmdir()
    (catalog / "agents/h/bob/resources").rmdir()

    assert mail.ls(BOB) == []
    name = mail.send(ALICE, BOB, "x")
    assert [row.filename for row in mail.ls(AgentId(mail.find(BOB).agent.known_id))] == [name]
