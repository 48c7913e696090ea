"""The power goes between any two steps: no copy is unexplained, no head names what is lost."""

from __future__ import annotations

import os
import random
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from messages.ground import ALICE, BOB, Sent, canonical, sha
from messages.noted import Death, Disk, Noted
from messages.test_crashes import mortal
from tessera import messages
from tessera.messages import Mail, disk
from tessera.messages.wire import Since
from tessera.testing import World

LONG = "TESSERA_LONG" in os.environ
CUTS = 1_000 if LONG else 60


@pytest.fixture(autouse=True)
def _no_real_syncs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The power is cut in the story alone: nothing here waits for the real disk."""
    monkeypatch.setattr(disk, "os", Noted())


def story(mail: Mail, world: World, noted: Noted) -> None:
    """Four sends, one of them a process that died first, an archiving, and what each was told."""

    def told(filename: str) -> None:
        noted.notes.append(("answer", filename))

    told(mail.send(ALICE, BOB, "one", idempotency_key="k"))
    dying = mortal(world, "message.node")
    with messages.open(mail.catalog.path, runtime=dying) as one, pytest.raises(Death):
        one.send(ALICE, BOB, "two")
    told(mail.send(ALICE, BOB, "three", idempotency_key="l"))
    first = mail.sent(ALICE).messages[0].filename
    mail.archive(BOB, first)
    told(mail.send(ALICE, BOB, "four"))
    told(mail.send(BOB, ALICE, "five"))


def test_cut_anywhere(
    mail: Mail, catalog: Path, world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At each cut the ledgers read, hold every answered message, explain every copy; the next send works."""
    before = tmp_path / "before"
    shutil.copytree(catalog, before)
    noted = Noted()
    with monkeypatch.context() as patch:
        patch.setattr(disk, "os", noted)
        with messages.open(catalog, runtime=world.runtime()) as observed:
            story(observed, world, noted)
    chance = random.Random(7)
    notes = [tuple(rebased(part, catalog, before) for part in note) for note in noted.notes]
    places = range(len(notes)) if LONG else sorted(chance.sample(range(len(notes)), CUTS))
    for place in places:
        cut(before, notes[:place], tmp_path / "left", chance)


def test_cut_after_a_death(
    mail: Mail, catalog: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process dies before it could sync what it wrote, the next one goes on from it, and the power goes:
    what the second built on is as durable as what it built.
    """
    mail.send(ALICE, BOB, "the first makes the folders")
    before, chance = tmp_path / "before", random.Random(11)
    shutil.copytree(catalog, before)
    for nth in range(1, 200, 1 if LONG else 3):
        dying, living = Noted(nth), Noted()
        for noted in (dying, living):
            with monkeypatch.context() as patch, suppress(Death):
                patch.setattr(disk, "os", noted)
                with messages.open(catalog) as observed:
                    noted.notes.append(("answer", observed.send(ALICE, BOB, "hello", idempotency_key="k")))
        if dying.left > 0:
            break
        notes = [tuple(rebased(part, catalog, before) for part in note)
                 for note in dying.notes + living.notes]  # fmt: skip
        for place in {len(notes), *(chance.randrange(len(dying.notes), len(notes)) for _ in range(3))}:
            cut(before, notes[:place], tmp_path / "left", chance)
        shutil.rmtree(catalog)
        shutil.copytree(before, catalog)
    assert nth > 40


def test_cut_while_a_catalog_begins(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From no catalog at all: an agent that was answered for is there after a cut, and so is its mail."""
    live, before = tmp_path / "live", tmp_path / "before"
    live.mkdir()
    before.mkdir()
    noted = Noted()
    with monkeypatch.context() as patch:
        patch.setattr(disk, "os", noted)
        with messages.open(live / "state" / "catalog", runtime=world.runtime()) as mail:
            for address in (ALICE, BOB):
                noted.notes.append(("answer", mail.add_agent(address).agent.known_id))
            noted.notes.append(("answer", mail.send(ALICE, BOB, "hello")))
    notes = [tuple(rebased(part, live, before) for part in note) for note in noted.notes]
    chance = random.Random(3)
    for place in range(len(notes) + 1):
        power = Disk(before)
        for note in notes[:place]:
            if note[0] != "answer":
                power.play(note)
        power.leave(tmp_path / "left", chance)
        answered = [note[1] for note in notes[:place] if note[0] == "answer"]
        with messages.open(tmp_path / "left" / "state" / "catalog") as mail:
            for agent in answered[:2]:
                assert mail.find(messages.AgentId(agent))
            if answered[2:]:
                assert [row.filename for row in mail.sent(ALICE).messages] == answered[2:]
                assert [row.filename for row in mail.ls(BOB)] == answered[2:]
        shutil.rmtree(tmp_path / "left")
    assert len(answered) == 3


def cut(before: Path, notes: list[tuple[Any, ...]], left: Path, chance: random.Random) -> None:
    """Cut the power after these notes, and look at what is left."""
    power = Disk(before)
    for note in notes:
        if note[0] != "answer":
            power.play(note)
    power.leave(left, chance)
    check(left, [note[1] for note in notes if note[0] == "answer"])
    shutil.rmtree(left)


def rebased(part: Any, old: Path, new: Path) -> Any:
    """A path of the story, told of the copy that was made before it."""
    return part.replace(str(old), str(new), 1) if isinstance(part, str) else part


def check(left: Path, answered: list[str]) -> None:
    """What a cut left is sound, and goes on."""
    with messages.open(left) as mail:
        rows: set[str] = set()
        for sender, recipient in ((ALICE, BOB), (BOB, ALICE)):
            rows |= {row.filename for row in mail.sent(sender).messages}
            sent = Sent(left, sender)
            known = {row["filename"] for row in sent.rows()}
            known |= sent.pending_filenames()
            boxes = [*mail.ls(recipient), *mail.ls(recipient, archive=True)]
            assert {row.filename for row in boxes} <= known
        assert {*answered} <= rows
        for sender, recipient in ((ALICE, BOB), (BOB, ALICE)):
            mail.send(sender, recipient, "after the cut")
            assert isinstance(mail.sent(sender).coverage, Since)
        assert all(report.ok for report in mail.verify())


def test_the_order_of_what_is_made_durable(
    mail: Mail, monkeypatch: pytest.MonkeyPatch, catalog: Path
) -> None:
    """Every file is synced before it has its name, every name before the next step, in order."""
    mail.send(ALICE, BOB, "the first makes the folders")
    noted = Noted()
    with monkeypatch.context() as patch:
        patch.setattr(disk, "os", noted)
        with messages.open(catalog) as observed:
            filename = observed.send(ALICE, BOB, "hello", idempotency_key="k")
    prefix = f"{catalog}/agents/h/"
    told = [tuple(part.removeprefix(prefix) for part in note) for note in noted.notes if note[0] != "write"]
    steps = []
    while told:
        named = [note for note in told[:4] if note[0] in ("link", "rename")]
        if named:
            temp, name = named[0][1:]
            folder = os.path.dirname(name)
            drop = [] if named[0][0] == "rename" else [("unlink", temp)]
            expected = [("create", temp), ("fsync", temp), named[0], *drop, ("fsync", folder)]
        else:
            name = told[0][1]
            expected = [("unlink", name), ("fsync", os.path.dirname(name))]
        assert told[: len(expected)] == expected
        del told[: len(expected)]
        steps.append(name.replace(filename, "FILE"))

    alice = Sent(catalog, ALICE)
    (row,) = [row for row in alice.rows() if row["idempotencyKey"] == "k"]
    node, _ = alice.chain()[0]
    sent = "alice/resources/sent"
    pending = f"{sent}/pending/{sha(canonical(row))}.json"
    assert steps == [
        pending, f"{sent}/active.json", "bob/resources/inbox/FILE", f"{sent}/messages/FILE.json",
        f"{sent}/commits/{node}.json", f"{sent}/index.json", f"{sent}/keys/{alice.names('keys')[0]}",
        pending, f"{sent}/active.json",
    ]  # fmt: skip
