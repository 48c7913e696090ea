"""Whatever is missing, extra, substituted, corrupt or unreadable in a ledger refuses it, each for its reason.

The damages are in `damages.py`.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from messages.damages import (
    HEADS,
    INTENTS,
    KEYS,
    NODES,
    OTHER,
    ROWS,
    Damage,
    edited,
    in_flight,
    instead,
    row,
)  # fmt: skip
from messages.ground import ALICE, BOB, Sent, load, run, snapshot
from tessera.messages import Mail
from tessera.messages.errors import LedgerDamaged
from tessera.messages.wire import Partial, Since
from tessera.testing import World


@pytest.fixture
def ledger(mail: Mail, alice: Sent, world: World) -> Sent:
    """Alice's ledger with three rows, the second of them keyed."""
    for number, key in enumerate((None, "k", None)):
        mail.send(ALICE, BOB, f"message {number}", idempotency_key=key)
        world.pass_seconds(1)
    assert isinstance(mail.sent(ALICE).coverage, Since)
    return alice


ALL = [
    pytest.param(damage, why, id=f"{what}-{name.replace(' ', '_')}")
    for what, cases in {"head": HEADS, "row": ROWS, "node": NODES, "key": KEYS, "intent": INTENTS}.items()
    for name, (damage, why) in cases.items()
]


@pytest.mark.parametrize(("damage", "why"), ALL)
def test_a_damaged_ledger_is_refused(mail: Mail, ledger: Sent, damage: Damage, why: str) -> None:
    """The read refuses for that reason, says so again, and changes nothing; verification reports the same."""
    damage(ledger)
    before = snapshot(ledger.path)

    for _ in range(2):
        with pytest.raises(LedgerDamaged, match=why):
            mail.sent(ALICE)
    (report,) = mail.verify(ALICE)

    assert not report.ok
    assert report.error is not None
    assert snapshot(ledger.path) == before


@pytest.mark.parametrize("upto", ["active", "row", "node"])
def test_what_is_in_flight_explains_itself(mail: Mail, ledger: Sent, upto: str) -> None:
    """The row and the node of the publication in flight are explained by it, and are not listed."""
    in_flight(ledger, upto=upto)
    answer = mail.sent(ALICE)

    assert answer.coverage == Partial(ledger.head()["since"], 1)
    assert len(answer.messages) == 3


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        (lambda s, n: s.put_node({**n, "ordinal": 9}), "unexplained sent commit node"),
        (lambda s, n: s.put_node({**n, "previous": None}), "unexplained sent commit node"),
        (lambda s, n: s.put_node({**n, "rowDigest": "0" * 64}), "unexplained sent commit node"),
        (lambda s, n: edited(s.folder("messages") / f"{OTHER}.json", body="5"), "differs from uncommitted"),
        (lambda s, n: s.active.unlink(), "is missing its active marker"),
        (lambda s, n: s.put("messages/1800000009999-aaaaaa.md.json", b""), "unexplained sent record"),
    ],
)  # fmt: skip
def test_only_its_own_row_and_node_are_explained(
    mail: Mail, ledger: Sent, damage: Callable[[Sent, dict[str, object]], object], why: str
) -> None:
    """Beside what is in flight, another node, another row, or the lack of the pointer is still refused."""
    following = in_flight(ledger, upto="row")
    damage(ledger, following)

    with pytest.raises(LedgerDamaged, match=why):
        mail.sent(ALICE)


@pytest.mark.parametrize("name", ["pending", "messages", "commits", "keys", "."])
def test_temporary_files_are_invisible(mail: Mail, ledger: Sent, name: str) -> None:
    """A temporary file in any folder, whatever it holds, is no part of the ledger."""
    (ledger.path / name / ".message.tmp-1-2").write_bytes(b"half")

    assert isinstance(mail.sent(ALICE).coverage, Since)


def test_the_pending_record_of_the_newest_row_is_only_to_be_removed(mail: Mail, ledger: Sent) -> None:
    """It covers everything already; the read leaves it, also without the key's receipt; the next send takes
    it away and writes the receipt.
    """
    mail.send(ALICE, BOB, "keyed", idempotency_key="last")
    newest = load(row(ledger, 3))
    ledger.put_pending(newest)
    keyed = {name: load(ledger.folder("keys") / name)["key"] for name in ledger.names("keys")}
    (lost,) = [name for name, key in keyed.items() if key == "last"]
    (ledger.folder("keys") / lost).unlink()

    assert isinstance(mail.sent(ALICE).coverage, Since)
    assert len(ledger.names("pending")) == 1
    assert mail.send(ALICE, BOB, "keyed", idempotency_key="last") == newest["filename"]
    assert ledger.names("pending") == []
    assert lost in ledger.names("keys")


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        (HEADS["missing"][0], "without a sent head"),
        (HEADS["rolled back"][0], "unexplained sent record"),
        (HEADS["corrupt"][0], "reading sent head"),
        (HEADS["to a lost node"][0], "missing sent commit node"),
        (HEADS["with one too many"][0], "sent commit ordinal mismatch"),
        (ROWS["the newest missing"][0], "missing committed sent record"),
        (lambda s: edited(row(s, 2), body="b"), "sent row digest mismatch"),
        (INTENTS["two"][0], "multiple pending"),
        (INTENTS["for an older row"][0], "missing its active marker"),
        (INTENTS["a pointer alone, to nothing"][0], "no recoverable pending record"),
        (INTENTS["a pointer alone, to an older row"][0], "no recoverable pending record"),
        (INTENTS["with the pointer to another"][0], "differs"),
    ],
)  # fmt: skip
def test_a_send_refuses_what_it_would_build_on(
    mail: Mail, ledger: Sent, bob: Sent, damage: Damage, why: str
) -> None:
    """Damage at the end where a send would go on refuses it, and nothing is delivered."""
    damage(ledger)
    before, copies = snapshot(ledger.path), bob.inbox()
    if "unexplained" in why:  # a send looks at the end alone; the read after it tells
        mail.send(ALICE, BOB, "on a head that was put back")
        with pytest.raises(LedgerDamaged, match=why):
            mail.sent(ALICE)
        return

    with pytest.raises(LedgerDamaged, match=why):
        mail.send(ALICE, BOB, "more")

    assert (snapshot(ledger.path), bob.inbox()) == (before, copies)


AS_NOBODY = """
import os
from tessera.cli import main, message, message_mail, message_upkeep, message_views
from tessera import messages
if os.getuid() == 0:  # whom no right is denied
    os.setuid(65534)
main.main(["message", "sent", "h.alice"])
"""


@pytest.mark.parametrize("place", ["lock", "row", "head", "folder", "home"])
def test_what_may_not_be_read_is_no_empty_list(mail: Mail, ledger: Sent, place: str, catalog: Path) -> None:
    """Without the right to read, another user's command fails with an error, and prints no list."""
    path = {"lock": ledger.path / ".lock", "row": row(ledger), "head": ledger.index,
            "folder": ledger.folder("commits"), "home": ledger.path}[place]  # fmt: skip
    for folder in (*catalog.rglob("*"), catalog, *catalog.parents):
        if folder.is_dir() and str(folder) != "/" and os.access(folder, os.W_OK) and "pytest" in str(folder):
            folder.chmod(0o755)
    path.chmod(0)
    ran = run(catalog, code=AS_NOBODY)

    assert (ran.returncode, ran.stdout) == (1, "")
    assert "error: ledger_damaged: " in ran.stderr
    assert "Permission denied" in ran.stderr


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo, lambda path: path.symlink_to("elsewhere")])
def test_a_lock_that_is_none(mail: Mail, ledger: Sent, make: Callable[[Path], object]) -> None:
    """A directory, a pipe or a link in the lock's place refuses reading and sending."""
    instead(ledger.path / ".lock", make)

    with pytest.raises(LedgerDamaged):
        mail.sent(ALICE)
    with pytest.raises(Exception, match=r"lock is no regular file|may not be sent yet"):
        mail.send(ALICE, BOB, "x")
