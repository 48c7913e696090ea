"""A sender dies anywhere, for real; whoever comes next finds one message, whole, under one name."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from messages.ground import ALICE, BOB, Sent, run
from messages.noted import Death, Noted
from tessera import messages
from tessera.messages import Mail, disk
from tessera.messages.wire import Partial, Since, Unavailable
from tessera.runtime import Runtime, real_runtime
from tessera.states import PUBLICATION
from tessera.testing import DEATH, World

WAY = [point for (_, after), point in PUBLICATION.items() if after != "abandoned"]
POINTS = ["message.coverage", *WAY]
UNLISTED = {"message.pending", "message.active", "message.recipient", "message.row", "message.node"}
COMMITTED = ["message.head", "message.key", "message.pending_cleanup", "message.active_cleanup"]
LONG = "TESSERA_LONG" in os.environ


@pytest.mark.parametrize("keyed", [True, False], ids=["keyed", "unkeyed"])
@pytest.mark.parametrize("point", POINTS)
def test_every_point(mail: Mail, catalog: Path, alice: Sent, bob: Sent, point: str, keyed: bool) -> None:
    """The process dies at the point. Until the next send, a read says honestly how much there is; the retry
    gives one message with the bytes of the first try, or, without a key after the commit, a second one.
    """
    args = ["send", BOB, "--as", ALICE, "-m", "hello", *(["--idempotency-key", "k"] if keyed else [])]
    died = run(catalog, *args, at=point)
    assert (died.returncode, died.stdout) == (DEATH, "")
    first = bob.inbox() or [name.removesuffix(".json") for name in alice.names("messages")]

    before = mail.sent(ALICE)
    listed = [row.filename for row in before.messages]
    assert isinstance(before.coverage, Since if point.endswith(("coverage", "active_cleanup")) else Partial)
    assert listed == (first if point in COMMITTED else [])

    with messages.open(catalog) as later:
        second = later.send(ALICE, BOB, "hello", idempotency_key="k" if keyed else None)
        after = later.sent(ALICE)
    expected = sorted({*first, second})
    assert len(expected) == (2 if point in COMMITTED and not keyed else 1)
    assert isinstance(after.coverage, Since)
    assert [row.filename for row in after.messages] == expected == bob.inbox()
    assert (alice.names("pending"), alice.active.exists()) == ([], False)
    assert [one.ok for one in mail.verify(ALICE)] == [True]


def mortal(world: World, point: str) -> Runtime:
    """A runtime that ends what it serves at a crash point."""
    real = world.runtime()

    def reach(name: str) -> None:
        if name == point:
            raise Death

    return replace(real, reach=reach)


@pytest.mark.parametrize("first", POINTS)
def test_dying_again_inside_recovery(mail: Mail, catalog: Path, world: World, first: str) -> None:
    """Recovery itself may die at every point, and the next one after it: the message stays one, and each read
    between is honest.
    """
    sent = Sent(catalog, ALICE)
    with messages.open(catalog, runtime=mortal(world, first)) as one, pytest.raises(Death):
        one.send(ALICE, BOB, "hello", idempotency_key="k")
    for second in WAY:
        with messages.open(catalog, runtime=mortal(world, second)) as one:
            try:
                one.send(ALICE, BOB, "hello", idempotency_key="k")
            except Death:
                assert not isinstance(mail.sent(ALICE).coverage, Unavailable)
                assert [report.ok for report in mail.verify(ALICE)] == [True]
    filename = mail.send(ALICE, BOB, "hello", idempotency_key="k")

    assert [row["filename"] for row in sent.rows()] == [filename] == Sent(catalog, BOB).inbox()
    assert len(sent.names("commits")) == len(sent.names("keys")) == 1
    assert mail.sent(ALICE).coverage == Since(sent.head()["since"])


@pytest.mark.parametrize("point", [point for point in POINTS if point not in COMMITTED[1:]])
def test_another_message_after_a_death(mail: Mail, catalog: Path, world: World, point: str) -> None:
    """If something else is sent next, the interrupted message goes out first, and both are listed."""
    with messages.open(catalog, runtime=mortal(world, point)) as one, pytest.raises(Death):
        one.send(ALICE, BOB, "first")
    world.pass_seconds(1)
    mail.send(ALICE, "h.carol", "second")
    bodies = [row.body for row in mail.sent(ALICE, include_body=True).messages]

    assert bodies == (["second\n"] if point == "message.coverage" else ["first\n", "second\n"])
    assert len(Sent(catalog, BOB).inbox()) == len(bodies) - 1


@pytest.mark.parametrize("point", sorted(UNLISTED))
def test_what_is_left_of_dead_processes_is_swept(
    mail: Mail, alice: Sent, bob: Sent, world, point: str
) -> None:
    """Temporary files of a dead sender are invisible, and go with its next send; another sender's stay."""
    with messages.open(mail.catalog.path, runtime=mortal(world, point)) as one, pytest.raises(Death):
        one.send(ALICE, BOB, "hello")
    owner = messages.catalog.owner_tag(mail.find(ALICE))
    mine = [alice.path / f".message.tmp-{owner}-1"]
    mine += [
        alice.folder(name) / f".message.tmp-{owner}-1" for name in ("pending", "messages", "commits", "keys")
    ]
    if point not in ("message.row", "message.node"):  # a row says that the inbox is done with
        mine += [bob.box("inbox", f".message.tmp-{owner}-1")]
    other = bob.box("inbox", ".message.tmp-0123456789abcdef-1")
    for path in (*mine, other):
        path.write_bytes(b"half")
    assert mail.sent(ALICE).coverage == Partial(alice.head()["since"], 1)

    mail.send(ALICE, BOB, "hello")

    assert [path for path in mine if path.exists()] == []
    assert other.exists()


def test_recovery_does_not_bring_back_what_was_archived(mail: Mail, bob: Sent, world: World) -> None:
    """The recipient archives a message whose sender died right after its delivery: it does not come again."""
    with (
        messages.open(mail.catalog.path, runtime=mortal(world, "message.recipient")) as one,
        pytest.raises(Death),
    ):
        one.send(ALICE, BOB, "hello", idempotency_key="k")
    (filename,) = bob.inbox()
    mail.archive(BOB, filename)

    assert mail.send(ALICE, BOB, "hello", idempotency_key="k") == filename
    assert bob.inbox() == []
    assert bob.box("archive", filename).exists()


class ArchivingMeanwhile(Noted):
    """A disk on which the recipient archives the message just before the sender delivers it again."""

    def __init__(self, act: Callable[[], None]) -> None:
        super().__init__()
        self.act = act

    def link(self, src: str, dst: str, **options: Any) -> None:
        if self._at(dst, options["dst_dir_fd"]).endswith(f"inbox/{dst}"):
            self.act()
        super().link(src, dst, **options)


def test_recovery_and_archiving_at_once(
    mail: Mail, bob: Sent, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The recipient archives between the sender's look and its delivery: the new copy goes again."""
    dying = mortal(world, "message.recipient")
    with messages.open(mail.catalog.path, runtime=dying) as one, pytest.raises(Death):
        one.send(ALICE, BOB, "hello", idempotency_key="k")
    (name,) = bob.inbox()
    racing = ArchivingMeanwhile(lambda: bob.box("inbox", name).rename(bob.box("archive", name)))
    with monkeypatch.context() as patch:
        patch.setattr(disk, "os", racing)
        with messages.open(mail.catalog.path) as later:
            assert later.send(ALICE, BOB, "hello", idempotency_key="k") == name

    assert bob.inbox() == []
    assert bob.box("archive", name).exists()


def test_recovery_with_a_row_does_not_deliver_again(mail: Mail, bob: Sent, world: World) -> None:
    """A row proves the delivery: a copy that the recipient has removed since stays removed."""
    with messages.open(mail.catalog.path, runtime=mortal(world, "message.row")) as one, pytest.raises(Death):
        one.send(ALICE, BOB, "hello")
    (filename,) = bob.inbox()
    bob.box("inbox", filename).unlink()

    assert mail.send(ALICE, BOB, "hello") == filename
    assert bob.inbox() == []


SENDER = """
import sys
from tessera import messages
with messages.open(sys.argv[1]) as mail:
    for number in range(10**6):
        key = f"{sys.argv[2]}-{number}" if number % 2 else None
        filename = mail.send("h.alice", "h.bob", f"{sys.argv[2]} {number}", idempotency_key=key)
        sys.stdout.write(filename + "\\n")
        sys.stdout.flush()
"""


def test_killed_at_any_moment(mail: Mail, catalog: Path, alice: Sent, bob: Sent) -> None:
    """Senders are killed while they send. Whatever they were told is in the ledger, the recipient holds
    nothing that no ledger knows, and one more send makes everything complete.
    """
    chance = random.Random(20261130)
    told: list[str] = []
    for round_ in range(200 if LONG else 12):
        with subprocess.Popen([sys.executable, "-c", SENDER, str(catalog), str(round_)],
                              stdout=subprocess.PIPE, text=True) as process:  # fmt: skip
            assert process.stdout is not None
            told += [process.stdout.readline().strip() for _ in range(chance.randrange(1, 4))]
            try:
                process.wait(timeout=chance.uniform(0, 0.06))
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
            told += process.stdout.read().split()
        history = mail.sent(ALICE)
        assert {*told} <= {row.filename for row in history.messages}
        known = {row["filename"] for row in alice.rows()} | alice.pending_filenames()
        assert {*bob.inbox()} <= known
    with messages.open(catalog, runtime=real_runtime()) as later:
        later.send(ALICE, BOB, "the last")
    assert isinstance(mail.sent(ALICE).coverage, Since)
    assert [row["filename"] for row in alice.rows()] == bob.inbox()
    assert [one.ok for one in mail.verify()] == [True, True, True]
