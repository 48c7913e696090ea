"""Many processes at once: every message is one row and one copy, every read complete or says it is not."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
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
    return let_go([start([*command, sender, str(SENDS)]) for sender in senders])


def begun(command: Sequence[str], times: int) -> list[subprocess.Popen[str]]:
    """So many processes of one command, all let go at once."""
    return let_go([start(command) for _ in range(times)])


def start(command: Sequence[str]) -> subprocess.Popen[str]:
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def let_go(processes: list[subprocess.Popen[str]]) -> list[subprocess.Popen[str]]:
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


def test_threads_of_one_process(mail: Mail, catalog: Path) -> None:
    """Threads that share one open catalog send as processes do, and leave no file open."""
    told: list[str] = []
    with messages.open(catalog) as shared:
        before = len(os.listdir("/proc/self/fd"))

        def work() -> None:
            told.extend(shared.send(ALICE, BOB, "x") for _ in range(SENDS))

        threads = [threading.Thread(target=work) for _ in range(PROCESSES)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(os.listdir("/proc/self/fd")) == before

    assert sorted(told) == Sent(catalog, BOB).inbox()
    assert len(mail.sent(ALICE).messages) == PROCESSES * SENDS


ADDER = """
import sys
from tessera import messages
from tessera.errors import InvalidState
sys.stdin.read()
with messages.open(sys.argv[1]) as mail:
    for number in range(5):
        try:
            sys.stdout.write(mail.add_agent(f"h.new-{number}").agent.id + "\\n")
        except InvalidState:
            pass
"""


def test_one_address_for_many(mail: Mail, catalog: Path) -> None:
    """Of many processes that add an agent at one address, one does; the others are refused."""
    command = [sys.executable, "-c", ADDER, str(catalog)]
    told = told_by(begun(command, PROCESSES))

    assert len(told) == len({*told}) == 5
    assert sorted(one.agent.known_id for one in mail.agents().subjects[3:]) == sorted(told)
    assert mail.agents().faults == []


KEYED = SENDER.replace('f"{sender} {number}")', '"the same", idempotency_key=f"k{number}")')


def test_the_same_key_from_many_processes(mail: Mail, catalog: Path) -> None:
    """All are told the same name for the same key, and the recipient has it once."""
    command = [sys.executable, "-c", KEYED, str(catalog), ALICE, str(SENDS)]
    told = told_by(begun(command, 4))

    assert len(told) == 4 * SENDS
    assert sorted({*told}) == Sent(catalog, BOB).inbox()
    assert len({*told}) == SENDS
