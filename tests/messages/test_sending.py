"""What a send writes, what counts as the same send, and what the wire shows of it."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import msgspec
import pytest

from messages.ground import ALICE, BOB, CAROL, Sent, canonical, load, sha, snapshot
from tessera import messages
from tessera.errors import IdempotencyConflict, InvalidRequest, InvalidState, NotFound, Unavailable
from tessera.messages import AgentId, Mail
from tessera.messages.errors import MessageCollision
from tessera.messages.wire import Since
from tessera.messages.wire import Unavailable as NoLedger
from tessera.testing import World


def test_what_a_send_leaves(mail: Mail, alice: Sent, bob: Sent) -> None:
    """A send leaves exactly these files, to the byte, and nothing in flight."""
    filename = mail.send(ALICE, BOB, "hello", subject="s", tags=["a", "b"], idempotency_key="k")
    a, b = (mail.find(one).agent.id for one in (ALICE, BOB))
    text = f"---\nfrom: h.alice\nfrom-id: {a}\nsubject: s\ntags: a, b\nidempotency-key: k\n---\nhello\n"
    row = {
        "version": 2, "filename": filename, "ts": 1_800_000_000_000, "from": a, "to": b, "subject": "s",
        "inReplyTo": None, "tags": ["a", "b"], "priority": None, "idempotencyKey": "k", "body": "hello\n",
        "renderedMessage": text, "fromAddress": "h.alice", "toAddress": "h.bob", "fromKind": "agent",
        "toKind": "agent",
    }  # fmt: skip
    node = {
        "version": 1,
        "ordinal": 1,
        "previous": None,
        "filename": filename,
        "rowDigest": sha(canonical(row)),
    }
    receipt = {"version": 1, "to": b, "key": "k", "filename": filename, "recordDigest": sha(canonical(row))}
    head = {"version": 1, "since": 1_800_000_000_000, "count": 1, "tip": sha(canonical(node))}

    assert snapshot(alice.path) == {
        ".lock": b"",
        "index.json": canonical(head),
        f"messages/{filename}.json": canonical(row),
        f"commits/{sha(canonical(node))}.json": canonical(node),
        f"keys/{sha(canonical([b, 'k']))}.json": canonical(receipt),
    }
    assert bob.box("inbox", filename).read_bytes() == text.encode()
    assert not bob.path.exists()


def test_modes_follow_the_umask(mail: Mail, alice: Sent, bob: Sent) -> None:
    """Files and folders get the rights that the umask leaves, no more."""
    before = os.umask(0o027)
    try:
        filename = mail.send(ALICE, BOB, "hello")
    finally:
        os.umask(before)
    modes = {stat.S_IMODE(path.stat().st_mode) for path in alice.path.rglob("*") if path.is_file()}

    assert modes == {0o640}
    assert stat.S_IMODE(alice.folder("commits").stat().st_mode) == 0o750
    assert stat.S_IMODE(bob.box("inbox", filename).stat().st_mode) == 0o640


def test_reading_makes_nothing(mail: Mail, catalog: Path) -> None:
    """`sent` for an agent that never sent is unavailable, and the disk stays as it was."""
    before = snapshot(catalog)

    assert mail.sent(ALICE) == messages.wire.SentMessages(NoLedger(), [])
    assert mail.ls(ALICE) == []
    assert [report.ok for report in mail.verify()] == [True] * 3
    assert snapshot(catalog) == before
    assert not Sent(catalog, ALICE).path.exists()


def test_the_same_key_gives_the_first_filename(mail: Mail, bob: Sent, world: World) -> None:
    """A keyed send again, later and after the recipient deleted its copy, sends nothing."""
    first = mail.send(ALICE, BOB, "hello", subject="s", tags=["x", "y"], idempotency_key="k")
    bob.box("inbox", first).unlink()
    world.pass_seconds(3_600)

    assert mail.send(ALICE, BOB, "hello\n", subject=" s ", tags=["x ", "y"], idempotency_key="k") == first
    assert bob.inbox() == []
    assert len(mail.sent(ALICE).messages) == 1


@pytest.mark.parametrize(
    "other",
    [
        {"body": "hello\n\n"}, {"body": "Hello"}, {"subject": "t"}, {"subject": None}, {"tags": ["y", "x"]},
        {"tags": ["x"]}, {"in_reply_to": "1800000000000-aaaaaa.md"},
    ],
)  # fmt: skip
def test_the_same_key_with_other_content_is_refused(
    mail: Mail, alice: Sent, other: dict[str, object]
) -> None:
    """A key stands for one content: another body, subject, relation, or order of tags is a conflict."""
    said = {"body": "hello", "subject": "s", "tags": ["x", "y"]}
    mail.send(ALICE, BOB, **said, idempotency_key="k")
    before = snapshot(alice.path)

    with pytest.raises(IdempotencyConflict, match="reused with different content"):
        mail.send(ALICE, BOB, **{**said, **other}, idempotency_key="k")

    assert snapshot(alice.path) == before


def test_a_key_belongs_to_one_sender_and_one_recipient(mail: Mail) -> None:
    """The same key between other two is another key."""
    names = {
        mail.send(sender, to, f"{sender} {to}", idempotency_key="k")
        for sender, to in ((ALICE, BOB), (ALICE, CAROL), (BOB, ALICE), (BOB, CAROL))
    }

    assert len(names) == 4
    assert len(mail.sent(ALICE).messages) == len(mail.sent(BOB).messages) == 2


def test_a_key_outlives_a_change_of_address(mail: Mail) -> None:
    """Sender and recipient move; the retry under the same key is still the same operation."""
    first = mail.send(ALICE, BOB, "hello", idempotency_key="k")
    mail.move_agent(ALICE, "h.alice.new")
    mail.move_agent(BOB, "h.bob.new")

    assert mail.send("h.alice.new", "h.bob.new", "hello", idempotency_key="k") == first


def test_a_freed_address_is_another_agent(mail: Mail) -> None:
    """Whoever takes over a freed address gets its own messages, also under a used key."""
    first = mail.send(ALICE, BOB, "hello", idempotency_key="k")
    mail.move_agent(BOB, "h.old-bob")
    mail.add_agent(BOB)
    second = mail.send(ALICE, BOB, "hello", idempotency_key="k")

    assert second != first
    assert [row.filename for row in mail.ls("h.old-bob")] == [first]
    assert [row.filename for row in mail.ls(BOB)] == [second]


def test_without_a_key_the_same_twice_is_two(mail: Mail, bob: Sent) -> None:
    """Two equal messages without key are two messages."""
    assert mail.send(ALICE, BOB, "hello") != mail.send(ALICE, BOB, "hello")
    assert len(bob.inbox()) == 2


def test_a_clock_that_goes_back(mail: Mail, world: World, alice: Sent) -> None:
    """A clock put back before the head's instant gives no name before it, and no name twice."""
    mail.send(ALICE, BOB, "one")
    world.pass_seconds(-86_400)
    second, third = (mail.send(ALICE, BOB, "two") for _ in range(2))

    assert second != third
    assert all(row["ts"] >= alice.head()["since"] for row in alice.rows())
    assert isinstance(mail.sent(ALICE).coverage, Since)


def test_a_clock_that_no_filename_can_tell(mail: Mail, world: World, alice: Sent) -> None:
    """A clock in another age is refused before anything is in flight."""
    world.now_us = 5_000_000

    with pytest.raises(InvalidRequest, match="which no filename can tell"):
        mail.send(ALICE, BOB, "one")

    assert alice.names("pending") == []


def test_a_copy_with_other_bytes_is_a_collision(mail: Mail, alice: Sent, bob: Sent, world: World) -> None:
    """If something else stands under the message's name when recovery would deliver, that is refused, in
    the inbox and in the archive; the file stays as it is.
    """
    from messages.noted import Death
    from messages.test_crashes import mortal

    dying = mortal(world, "message.active")
    with messages.open(mail.catalog.path, runtime=dying) as one, pytest.raises(Death):
        one.send(ALICE, BOB, "hello")
    filename = load(alice.active)["filename"]
    for box, why in (("inbox", "collision with different bytes"), ("archive", "archived message differs")):
        bob.box(box, filename).write_bytes(b"other")
        with pytest.raises(MessageCollision, match=why):
            mail.send(ALICE, BOB, "hello")
        assert bob.box(box, filename).read_bytes() == b"other"
        bob.box(box, filename).unlink()

    assert mail.send(ALICE, BOB, "hello") == filename


def test_a_new_filename_is_never_a_known_one(mail: Mail, bob: Sent) -> None:
    """A name that the recipient's boxes hold is not drawn; if all that are drawn are held, none is sent."""
    taken = [f"1800000000000-{suffix}.md" for suffix in ("aaaaaa", "bbbbbb")]
    draws = iter([*taken, "1800000000000-cccccc.md"])
    drawn = messages.sending.forms.fresh_filename
    try:
        messages.sending.forms.fresh_filename = lambda now_ms, secret: next(draws, taken[0])
        bob.box("inbox", taken[0]).write_bytes(b"x")
        bob.box("archive", taken[1]).write_bytes(b"y")
        assert mail.send(ALICE, BOB, "hello") == "1800000000000-cccccc.md"
        with pytest.raises(Unavailable, match="no unused message filename"):
            mail.send(ALICE, BOB, "hello")
    finally:
        messages.sending.forms.fresh_filename = drawn


def test_who_may_not_send_or_get(mail: Mail, alice: Sent) -> None:
    """An unknown agent, a retired one, and a display name are refused before anything is written."""
    mail.retire_agent(CAROL)
    with pytest.raises(NotFound, match=r"no agent 'h.nobody' found in catalog"):
        mail.send(ALICE, "h.nobody", "x")
    with pytest.raises(InvalidState, match="is retired"):
        mail.send(ALICE, CAROL, "x")
    with pytest.raises(InvalidState, match="is retired"):
        mail.send(AgentId(mail.find(CAROL).agent.known_id), BOB, "x")
    with pytest.raises(NotFound):
        mail.send(ALICE, AgentId(BOB), "x")

    assert not alice.path.exists()


def test_sent_on_the_wire(mail: Mail, world: World) -> None:
    """Rows by time and filename, `to` and never `from`; the body only if asked for; both filters."""
    one = mail.send(ALICE, BOB, "one", subject="s")
    world.pass_seconds(1)
    two = mail.send(ALICE, CAROL, "two", idempotency_key="k")
    bob_id, carol_id = (mail.find(agent).agent.known_id for agent in (BOB, CAROL))
    answer = json.loads(msgspec.json.encode(mail.sent(ALICE)))

    assert list(answer) == ["coverage", "messages"]
    assert answer["coverage"] == {"_tag": "since", "since": 1_800_000_000_000}
    assert answer["messages"] == [
        {"filename": one, "ts": 1_800_000_000_000, "to": bob_id, "subject": "s", "inReplyTo": None,
         "tags": [], "priority": None, "toAddress": "h.bob", "toKind": "agent"},
        {"filename": two, "ts": 1_800_000_001_000, "to": carol_id, "subject": None, "inReplyTo": None,
         "tags": [], "priority": None, "idempotencyKey": "k", "toAddress": "h.carol", "toKind": "agent"},
    ]  # fmt: skip
    assert [row.body for row in mail.sent(ALICE, include_body=True).messages] == ["one\n", "two\n"]
    assert [row.filename for row in mail.sent(ALICE, to=bob_id).messages] == [one]
    assert mail.sent(ALICE, to=BOB).messages == []
    assert [row.filename for row in mail.sent(ALICE, since=1_800_000_000_000).messages] == [two]
    assert len(mail.sent(ALICE, since=1_799_999_999_999).messages) == 2
    assert mail.sent(ALICE, since=2**64 - 1).messages == []


def test_empty_is_not_absent(mail: Mail, bob: Sent) -> None:
    """An empty subject stays empty and an absent one null, in the ledger and in the inbox; an empty key of a
    foreign message is told, an absent one is left out.
    """
    mail.send(ALICE, BOB, "x", subject="")
    mail.send(ALICE, BOB, "y")
    bob.box("inbox", "1700000000000-aaaaaa.md").write_text("---\nidempotency-key:\nstream:\n---\nz\n")
    foreign, *ours = json.loads(msgspec.json.encode(mail.ls(BOB)))

    assert {row.subject for row in mail.sent(ALICE).messages} == {"", None}
    assert {row["subject"] for row in ours} == {"", None}
    assert (foreign["idempotencyKey"], foreign["stream"], "eventId" in foreign) == ("", "", False)


def test_unrelated_boxes_do_not_matter(mail: Mail, alice: Sent, bob: Sent, catalog: Path) -> None:
    """The list of what was sent needs no recipient's box, nor a sound one anywhere."""
    mail.send(ALICE, BOB, "one")
    for path in (bob.home / "resources" / "inbox").iterdir():
        path.unlink()
    (bob.home / "resources" / "inbox").rmdir()
    (bob.home / "resources" / "inbox").write_bytes(b"")

    assert len(mail.sent(ALICE).messages) == 1
    assert len(mail.ls(ALICE)) == 0
