"""Faults of mail kept in files, that users of comparable systems reported. See docs/cases.md."""

from __future__ import annotations

import errno
import itertools
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from messages.damages import edited, row
from messages.ground import ALICE, BOB, CAROL, Sent, load, run
from messages.noted import Death, Failing
from messages.test_crashes import POINTS, mortal
from messages.test_races import PROCESSES, SENDS, crowd, told_by

from tessera import messages
from tessera.cli.message_views import certain_count
from tessera.errors import IdempotencyConflict, TesseraError, Unavailable
from tessera.messages import Mail, disk
from tessera.messages.errors import IncompleteCoverage, LedgerDamaged, MessageCollision
from tessera.messages.wire import Partial, Since
from tessera.messages.wire import Unavailable as NoLedger
from tessera.testing import DEATH, World


@pytest.fixture
def mail(tmp_path: Path, world: World) -> Iterator[Mail]:
    """A catalog with three agents."""
    with messages.open(tmp_path / "catalog", runtime=world.runtime()) as mail:
        for address in (ALICE, BOB, CAROL):
            mail.add_agent(address)
        yield mail


@pytest.fixture
def catalog(mail: Mail) -> Path:
    return Path(mail.catalog.path)


@pytest.fixture
def alice(catalog: Path) -> Sent:
    return Sent(catalog, ALICE)


@pytest.fixture
def bob(catalog: Path) -> Sent:
    return Sent(catalog, BOB)


def dies(mail: Mail, world: World, point: str, key: str | None = None) -> bool:
    """Send "hello" from Alice to Bob and die at a point, if that is on the way."""
    with messages.open(mail.catalog.path, runtime=mortal(world, point)) as one:
        try:
            one.send(ALICE, BOB, "hello", idempotency_key=key)
        except Death:
            return True
    return False


@pytest.mark.parametrize("one_sender", [False, True])
def test_l01_crowds(mail: Mail, catalog: Path, bob: Sent, one_sender: bool) -> None:
    """L01: however many send at once, nothing is lost or doubled, and no list ever shrinks."""
    senders = [ALICE] * PROCESSES if one_sender else [f"h.s{number}" for number in range(PROCESSES)]
    for sender in {*senders} - {ALICE}:
        mail.add_agent(sender)
    processes = crowd(catalog, senders)
    known: set[str] = set()
    with messages.open(catalog) as reader:
        while any(process.poll() is None for process in processes):
            listed = {one.filename for one in reader.sent(senders[0]).messages}
            assert known <= listed
            known = listed
    told = told_by(processes)

    assert len({*told}) == PROCESSES * SENDS == len(bob.inbox())
    assert sum(certain_count(mail.sent(sender)) for sender in {*senders}) == len(told)
    assert all(report.ok for report in mail.verify())


@pytest.mark.parametrize("point", POINTS)
def test_l03_locks_of_the_dead(mail: Mail, catalog: Path, point: str) -> None:
    """L03: a sender that dies at any step leaves no lock behind; the next one just goes on."""
    assert run(catalog, "send", BOB, "--as", ALICE, "-m", "hello", at=point).returncode == DEATH

    assert not isinstance(mail.sent(ALICE).coverage, NoLedger)
    mail.send(ALICE, CAROL, "next")
    assert isinstance(mail.sent(ALICE).coverage, Since)


def test_l03_locks_that_are_none(mail: Mail, alice: Sent) -> None:
    """L03: a directory in the lock's place is an error, for a reader too, and never an empty list."""
    mail.send(ALICE, BOB, "hello")
    (alice.path / ".lock").unlink()
    (alice.path / ".lock").mkdir()

    for act in (lambda: mail.sent(ALICE), lambda: mail.send(ALICE, BOB, "x")):
        with pytest.raises((LedgerDamaged, Unavailable)):
            act()


def test_l05_names_after_a_restored_copy(mail: Mail, alice: Sent, bob: Sent, world: World) -> None:
    """L05: with an older copy restored and the clock put back, no name or copy of before is touched."""
    mail.send(ALICE, BOB, "one")
    shutil.copytree(alice.path, alice.home / "copy")
    later = [mail.send(ALICE, BOB, f"later {number}") for number in range(3)]
    before = {name: bob.box("inbox", name).read_bytes() for name in bob.inbox()}
    shutil.rmtree(alice.path)
    (alice.home / "copy").rename(alice.path)
    world.pass_seconds(-3_600)
    fresh = [mail.send(ALICE, BOB, f"again {number}") for number in range(3)]

    assert not {*fresh} & {*later}
    assert {name: bob.box("inbox", name).read_bytes() for name in before} == before
    assert len(mail.sent(ALICE).messages) == 4


@pytest.mark.parametrize("damage", ["delete", "roll back"])
def test_l05_a_head_that_went_back(mail: Mail, alice: Sent, damage: str) -> None:
    """L05: a head that is deleted or put back leaves rows that nothing explains, and is refused."""
    mail.send(ALICE, BOB, "one")
    old = alice.index.read_bytes()
    mail.send(ALICE, BOB, "two")
    if damage == "delete":
        alice.index.unlink()
    else:
        alice.index.write_bytes(old)

    with pytest.raises(LedgerDamaged, match=r"without a sent head|unexplained sent record"):
        mail.sent(ALICE)


@pytest.mark.parametrize(
    ("number", "first"), [(errno.ENOSPC, 1), (errno.EDQUOT, 2), (errno.EIO, 3), (errno.EROFS, 4)]
)
def test_l07_half_written(
    mail: Mail, catalog: Path, bob: Sent, monkeypatch: pytest.MonkeyPatch, number: int, first: int
) -> None:
    """L07: wherever the disk refuses, the caller hears of it, no half record counts, and a retry goes on."""
    for nth in itertools.count(first, 4):
        failing = Failing(nth, number, lasting=True)
        before = {*bob.inbox()}
        with monkeypatch.context() as patch, messages.open(catalog) as hurt:
            patch.setattr(disk, "os", failing)
            try:
                hurt.send(ALICE, BOB, f"message {nth}", idempotency_key=f"k{nth}")
            except Unavailable:
                assert failing.failed
        if not failing.failed:
            break
        assert all(report.ok for report in mail.verify())
        begun = {*bob.inbox()} - before
        name = mail.send(ALICE, BOB, f"message {nth}", idempotency_key=f"k{nth}")
        assert begun <= {name}
        assert {*bob.inbox()} - before == {name}
        assert list(catalog.rglob(".message.tmp-*")) == []
    assert certain_count(mail.sent(ALICE)) == 1 + (nth - first) // 4 > 6


@pytest.mark.parametrize("gone", ["node", "row", "head", "node and row", "the head goes back"])
def test_l08_an_end_that_is_cut_off(mail: Mail, alice: Sent, gone: str) -> None:
    """L08: whatever is missing at the end shows, unless the head and all below it are rewritten together."""
    mail.send(ALICE, BOB, "one")
    old = alice.index.read_bytes()
    mail.send(ALICE, BOB, "two")
    (tip, node), _ = alice.chain()
    if "node" in gone:
        (alice.folder("commits") / f"{tip}.json").unlink()
    if "row" in gone:
        (alice.folder("messages") / f"{node['filename']}.json").unlink()
    if "goes back" in gone:
        alice.index.write_bytes(old)
    elif "head" in gone:
        alice.index.unlink()

    with pytest.raises(LedgerDamaged):
        mail.sent(ALICE)
    if gone == "node and row":  # the documented root of trust: nobody claims more
        alice.index.write_bytes(old)
        assert certain_count(mail.sent(ALICE)) == 1


@pytest.mark.parametrize("order", list(itertools.permutations(["read", "send", "verify"])), ids="-".join)
def test_l09_readers_and_recovery_agree(mail: Mail, world: World, order: tuple[str, ...]) -> None:
    """L09: after a crash anywhere, and another inside recovery, no order of acts ever finds damage."""
    acts: dict[str, Callable[[], object]] = {
        "read": lambda: mail.sent(ALICE).coverage,
        "send": lambda: mail.send(ALICE, BOB, "next"),
        "verify": lambda: [report.ok for report in mail.verify()],
    }
    for point, second in zip(POINTS, [*POINTS[3:], *POINTS[:3]], strict=True):
        dies(mail, world, point)
        dies(mail, world, second)
        for act in order:
            answer = acts[act]()
            assert answer == [True] * 3 if act == "verify" else answer != NoLedger()
        assert isinstance(mail.sent(ALICE).coverage, Since)


def test_l10_archived_before_the_sender_came_back(mail: Mail, bob: Sent, world: World) -> None:
    """L10: the recipient archives a message whose sender died: recovery takes the same bytes as delivered."""
    dies(mail, world, "message.recipient", "k")
    (name,) = bob.inbox()
    mail.archive(BOB, name)
    content = bob.box("archive", name).read_bytes()
    bob.box("archive", name).write_bytes(b"other")
    with pytest.raises(MessageCollision):
        mail.send(ALICE, BOB, "hello", idempotency_key="k")
    bob.box("archive", name).write_bytes(content)

    assert mail.send(ALICE, BOB, "hello", idempotency_key="k") == name
    assert bob.inbox() == []


def test_l12_what_a_key_stands_for(mail: Mail, alice: Sent, world: World) -> None:
    """L12: a key stands for one content to one recipient's id, also after a crash before its receipt."""
    dies(mail, world, "message.head", "k")
    assert alice.names("keys") == []
    (first,) = [one.filename for one in mail.sent(ALICE).messages]
    mail.move_agent(BOB, "h.moved")

    assert mail.send(ALICE, "h.moved", "hello", idempotency_key="k") == first
    assert len(alice.names("keys")) == 1
    assert mail.send(ALICE, CAROL, "hello", idempotency_key="k") != first
    tagged = mail.send(ALICE, CAROL, "t", tags=["a", "b"], idempotency_key="l")
    assert mail.send(ALICE, CAROL, "t\n", tags=["a", "b"], idempotency_key="l") == tagged
    for other in ({"body": "t\n\n"}, {"tags": ["b", "a"]}, {"subject": ""}):
        with pytest.raises(IdempotencyConflict):
            mail.send(ALICE, CAROL, **{"body": "t", "tags": ["a", "b"], **other}, idempotency_key="l")
    mail.add_agent(BOB)
    assert mail.send(ALICE, BOB, "hello", idempotency_key="k") != first


def test_l13_how_much_a_list_claims(mail: Mail, alice: Sent, world: World) -> None:
    """L13: a list is complete, honestly partial, or not available; a number is told only if it is certain."""

    def count() -> int | str:
        try:
            return certain_count(mail.sent(ALICE))
        except TesseraError as refusal:
            return refusal.code

    assert (mail.sent(ALICE).coverage, count()) == (NoLedger(), IncompleteCoverage.code)
    dies(mail, world, "message.coverage")
    since = alice.head()["since"]
    assert (mail.sent(ALICE).coverage, count()) == (Since(since), 0)
    dies(mail, world, "message.active")
    assert (mail.sent(ALICE).coverage, count()) == (Partial(since, 1), IncompleteCoverage.code)
    name = mail.send(ALICE, BOB, "hello")
    ts = load(row(alice, 0))["ts"]
    assert [one.filename for one in mail.sent(ALICE, since=ts - 1).messages] == [name]
    assert mail.sent(ALICE, since=ts).messages == []
    edited(alice.folder("commits") / f"{alice.chain()[0][0]}.json", ordinal=2)
    assert count() == LedgerDamaged.code
