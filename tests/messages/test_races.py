"""Many processes at once: every message is one row and one copy, every read complete or says it is not."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from messages.ground import ALICE, BOB, Sent
from tessera import messages
from tessera.messages import Mail
from tessera.messages.wire import Partial, Since, Unavailable

LONG = "TESSERA_LONG" in os.environ
PROCESSES, SENDS = (20, 50) if LONG else (6, 8)

SENDER = """
import sys
from tessera import messages
catalog, sender, sends = sys.argv[1:]
with messages.open(catalog) as mail:
    sys.stdin.read()  # all begin at once
    for number in range(int(sends)):
        sys.stdout.write(mail.send(sender, "h.bob", f"{sender} {number}") + "\\n")
"""


def crowd(catalog: Path, senders: Sequence[str]) -> list[subprocess.Popen[str]]:
    """A process for each sender, all let go at once."""
    command = [sys.executable, "-c", SENDER, str(catalog)]
    processes = [
        subprocess.Popen(
            [*command, sender, str(SENDS)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for sender in senders
    ]
    for process in processes:
        assert process.stdin is not None
        process.stdin.close()
    return processes


def told_by(processes: Sequence[subprocess.Popen[str]]) -> list[str]:
    """What the processes were answered, once all have ended."""
    told = []
    for process in processes:
        assert process.stdout is not None
        told += process.stdout.read().split()
        process.stdout.close()
        assert process.wait(timeout=60) == 0
    return told


def test_many_senders_to_one_recipient(mail: Mail, catalog: Path) -> None:
    """Each sender's ledger holds what it was told, the inbox holds all of it."""
    senders = [f"h.sender-{number}" for number in range(PROCESSES)]
    for sender in senders:
        mail.add_agent(sender)
    processes = crowd(catalog, senders)
    seen = 0
    while any(process.poll() is None for process in processes):
        rows = mail.ls(BOB)
        assert len(rows) >= seen
        seen = len(rows)
    told = told_by(processes)

    assert sorted(told) == Sent(catalog, BOB).inbox()
    assert len({*told}) == PROCESSES * SENDS
    for sender in senders:
        answer = mail.sent(sender)
        assert isinstance(answer.coverage, Since)
        assert len(answer.messages) == SENDS
    assert all(report.ok for report in mail.verify())


def test_many_processes_as_one_sender(mail: Mail, catalog: Path) -> None:
    """Meanwhile a reader sees a history that only grows, and is complete whenever it says so."""
    processes = crowd(catalog, [ALICE] * PROCESSES)
    seen: set[str] = set()
    with messages.open(catalog) as reader:
        while any(process.poll() is None for process in processes):
            answer = reader.sent(ALICE)
            now = {row.filename for row in answer.messages}
            assert seen <= now
            assert isinstance(answer.coverage, Since | Partial) or not now
            seen = now
    told = told_by(processes)
    answer = mail.sent(ALICE)

    assert isinstance(answer.coverage, Since)
    assert not isinstance(answer.coverage, Unavailable)
    assert sorted(told) == sorted(row.filename for row in answer.messages) == Sent(catalog, BOB).inbox()
    assert Sent(catalog, ALICE).head()["count"] == PROCESSES * SENDS
    assert all(report.ok for report in mail.verify(ALICE))


KEYED = SENDER.replace('f"{sender} {number}")', '"the same", idempotency_key=f"k{number}")')


def test_the_same_key_from_many_processes(mail: Mail, catalog: Path) -> None:
    """All are told the same name for the same key, and the recipient has it once."""
    command = [sys.executable, "-c", KEYED, str(catalog), ALICE, str(SENDS)]
    processes = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(4)
    ]
    for process in processes:
        assert process.stdin is not None
        process.stdin.close()
    told = told_by(processes)

    assert len(told) == 4 * SENDS
    assert sorted({*told}) == Sent(catalog, BOB).inbox()
    assert len({*told}) == SENDS
