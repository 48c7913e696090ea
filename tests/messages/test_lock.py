"""The lock of a ledger: one writer or many readers, gone with its holder, never waited for without end."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from messages.ground import ALICE, BOB, Sent
from messages.noted import Noted
from tessera import messages
from tessera.errors import Unavailable
from tessera.messages import Mail, disk
from tessera.messages.wire import Since
from tessera.runtime import real_runtime
from tessera.testing import World

HOLDER = """
import fcntl, os, sys, signal
fd = os.open(sys.argv[1], os.O_RDWR)
fcntl.flock(fd, int(sys.argv[2]))
sys.stdout.write("held\\n"); sys.stdout.flush()
sys.stdin.read()
"""


@pytest.fixture
def hold():
    """Start a process that holds a lock until it is killed."""
    started = []

    def start(path: Path, mode: int) -> subprocess.Popen[str]:
        process = subprocess.Popen([sys.executable, "-c", HOLDER, str(path), str(mode)],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)  # fmt: skip
        started.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def test_a_held_lock_is_named_after_a_while(mail: Mail, alice: Sent, bob: Sent, hold) -> None:
    """A writer that never ends refuses reads and sends after a time, with its process id; then nothing has
    changed.
    """
    mail.send(ALICE, BOB, "one")
    holder = hold(alice.path / ".lock", fcntl.LOCK_EX)
    for act in (lambda: mail.sent(ALICE), lambda: mail.send(ALICE, BOB, "two"), lambda: mail.abandon(ALICE)):
        with pytest.raises(Unavailable, match=rf"process {holder.pid} holds the lock .*\.lock") as refusal:
            act()
        assert refusal.value.definite
    assert len(bob.inbox()) == 1


def test_readers_share_it_and_hold_up_writers(mail: Mail, alice: Sent, hold) -> None:
    """Beside a reader another one reads, and a writer waits."""
    mail.send(ALICE, BOB, "one")
    hold(alice.path / ".lock", fcntl.LOCK_SH)

    assert isinstance(mail.sent(ALICE).coverage, Since)
    with pytest.raises(Unavailable):
        mail.send(ALICE, BOB, "two")


def test_it_goes_with_its_holder(mail: Mail, alice: Sent, hold) -> None:
    """After the holder is killed the next send goes out."""
    mail.send(ALICE, BOB, "one")
    holder = hold(alice.path / ".lock", fcntl.LOCK_EX)
    holder.send_signal(signal.SIGKILL)
    holder.wait()

    assert mail.send(ALICE, BOB, "two")


def test_signals_do_not_end_the_wait(mail: Mail, catalog: Path, alice: Sent, hold) -> None:
    """Signals that arrive while a send waits for the lock change nothing: it goes out when that is free."""
    mail.send(ALICE, BOB, "one")
    holder = hold(alice.path / ".lock", fcntl.LOCK_EX)
    rung = []

    def ring(*_: object) -> None:
        rung.append(1)
        if len(rung) == 5:
            holder.kill()

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
    try:
        with messages.open(catalog, runtime=real_runtime()) as waiting:
            assert waiting.send(ALICE, BOB, "two")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert len(rung) >= 5


def test_a_lock_that_was_replaced_counts_as_the_new_one(mail: Mail, alice: Sent, hold) -> None:
    """Somebody removed the lock's file while it was held: whoever comes makes a new one and holds that."""
    mail.send(ALICE, BOB, "one")
    hold(alice.path / ".lock", fcntl.LOCK_EX)
    os.unlink(alice.path / ".lock")

    assert mail.send(ALICE, BOB, "two")
    assert (alice.path / ".lock").exists()


def test_a_lock_that_is_replaced_during_the_wait(
    mail: Mail, alice: Sent, catalog: Path, world: World, hold
) -> None:
    """The file somebody waits for is put aside, and another process holds the new one: that counts."""
    mail.send(ALICE, BOB, "one")
    path = alice.path / ".lock"
    first = hold(path, fcntl.LOCK_EX)
    second = []

    def sleep(seconds: float) -> None:
        if not second:
            path.unlink()
            path.touch()
            second.append(hold(path, fcntl.LOCK_EX))
            first.kill()
            first.wait()
        world.pass_seconds(seconds)

    runtime = replace(world.runtime(), sleep=sleep)
    with messages.open(catalog, runtime=runtime) as waiting, pytest.raises(Unavailable) as refusal:
        waiting.send(ALICE, BOB, "two")

    assert f"process {second[0].pid} holds" in refusal.value.detail


class Meanwhile(Noted):
    """A disk on which something happens right after a ledger's head was opened for the first time."""

    def __init__(self, act: Callable[[], object]) -> None:
        super().__init__()
        self.act: Callable[[], object] | None = act

    def open(self, name: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        fd = super().open(name, flags, mode, dir_fd=dir_fd)
        if name == "index.json" and self.act is not None:
            act, self.act = self.act, None
            act()
        return fd


def test_a_writer_that_comes_while_nobody_holds_the_lock(
    mail: Mail, alice: Sent, catalog: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reader that began without a lock meets a writer's new row, and reads again under the lock."""
    mail.send(ALICE, BOB, "one")
    os.unlink(alice.path / ".lock")

    def second() -> None:
        with messages.open(catalog) as writer:
            writer.send(ALICE, BOB, "two")

    monkeypatch.setattr(disk, "os", Meanwhile(second))
    with messages.open(catalog) as reader:
        answer = reader.sent(ALICE)

    assert isinstance(answer.coverage, Since)
    assert len(answer.messages) == 2


def test_a_ledger_without_lock_is_read_without_one(mail: Mail, alice: Sent) -> None:
    """A copy of a ledger without the lock's file is read, and the file is not made."""
    mail.send(ALICE, BOB, "one")
    os.unlink(alice.path / ".lock")

    assert len(mail.sent(ALICE).messages) == 1
    assert not (alice.path / ".lock").exists()
