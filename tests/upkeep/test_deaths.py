"""A death or a power cut at any step of a backup or a restore leaves the old or the new, whole."""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from crash import points
from powercut.disk import NotedDisk, Story

import tessera
from tessera.storage import files, wal
from tessera.testing import World, die_at
from upkeep.conftest import Town
from upkeep.town import contents

ENGINE = ["commit.before", "commit.written", "commit.synced"]
BACKUP = ["backup.copied", "backup.checked", "backup.placed"]
RESTORE = [
    "restore.copied",
    "restore.read",
    "restore.written",
    "restore.synced",
    "restore.placing",
    "restore.placed",
]
CUTS = 400 if os.environ.get("TESSERA_LONG") == "1" else 25


def tessera_at(store: str, *words: str) -> list[str]:
    """A command on a store."""
    return [sys.executable, "-m", "tessera.cli.main", *words, "--store", store]


def is_restored(path: str) -> bool:
    """Whether the store is a restored one; it must be whole either way."""
    with tessera.open(path) as store:
        assert store.verify().findings == []
        return any(event.type == "store_restored" for event in store.events(limit=10_000))


def test_every_point_is_died_at() -> None:
    """The points of the source are those that are walked here."""
    named = {point for point in points.named_in() if point.startswith(("backup.", "restore."))}
    assert named == {*BACKUP, *RESTORE}


@pytest.mark.parametrize("point", BACKUP)
@pytest.mark.parametrize("older", [True, False])
def test_a_death_in_a_backup(here: Town, point: str, older: bool) -> None:
    """The file is what it was, or the whole backup; the store goes on, and so does the next backup."""
    file = here.folder / "b.db"
    if older:
        here.backup("b.db")
        with here.open() as store:
            store.enqueue(queue="q", kind="k", brief={}, task_id="later")
    before = file.read_bytes() if older else None
    die_at(point, tessera_at(here.path, "backup", str(file), *(["--force"] if older else [])))
    whole = contents(here.path)

    if point == "backup.placed":
        assert contents(str(file)) == whole
    else:
        assert (file.read_bytes() if file.exists() else None) == before
    with here.open() as store:
        assert contents(store.backup(file, force=True).file) == whole


@pytest.mark.parametrize("point", [*RESTORE, *ENGINE])
def test_a_death_in_a_restore(here: Town, point: str) -> None:
    """The store is what it was, or the whole restored one; the restore can be made again."""
    file = here.backup("b.db")
    with here.open() as store:
        store.enqueue(queue="q", kind="k", brief={}, task_id="later")
    before = contents(here.path)
    die_at(point, tessera_at(here.path, "restore", file, "--force"))

    if point == "restore.placed":
        assert is_restored(here.path)
    else:
        assert contents(here.path) == before
    here.restore(file, force=True)
    assert is_restored(here.path)


@pytest.mark.parametrize("point", [point for point in RESTORE if point != "restore.placed"])
def test_a_death_in_a_restore_to_a_new_place(here: Town, point: str) -> None:
    """Nothing stands at the place, or the whole store; the restore can be made again."""
    file, place = here.backup("b.db"), str(here.folder / "new.db")
    die_at(point, tessera_at(place, "restore", file))
    assert not os.path.exists(place)
    here.restore(file, place)
    assert is_restored(place)


@pytest.mark.parametrize("point", ["restore.synced", "restore.placing"])
def test_a_death_while_a_damaged_store_is_put_aside(here: Town, point: str) -> None:
    """What was there is still there under its own name or the new one, and the restore can be made again."""
    file, damaged = here.backup("b.db"), b"\x5a" * 50_000
    Path(here.path).write_bytes(damaged)
    die_at(point, tessera_at(here.path, "restore", file, "--force"))
    assert Path(here.path).read_bytes() == damaged
    here.restore(file, force=True)

    assert is_restored(here.path)
    assert any(one.read_bytes() == damaged for one in here.folder.glob("store.db.damaged-*"))


@pytest.fixture
def story(monkeypatch: pytest.MonkeyPatch) -> Iterator[Story]:
    """What happens on the disk from here on."""
    story = Story()
    disk = NotedDisk(story)
    monkeypatch.setattr(wal, "fdatasync", disk.fdatasync)
    monkeypatch.setattr(files, "fsync", disk.fdatasync)
    yield story
    disk.unregister()


def test_a_power_cut_in_a_restore(story: Story, tmp_path: Path) -> None:
    """Wherever the power goes while a store is replaced, it is the old or the restored one, and once the
    restore was answered it is the restored one.
    """
    (tmp_path / "town").mkdir()
    here = Town(tmp_path / "town")
    file = here.backup("b.db")
    with here.open() as store:
        store.enqueue(queue="q", kind="k", brief={}, task_id="later")
    begun = len(story.entries)
    here.restore(file, force=True)
    story.answered("restored")
    end, chance = len(story.entries), random.Random(20261130)
    met = set()
    for cut in sorted({*random.Random(7).sample(range(begun, end), min(CUTS, end - begun)), end}):
        left = tmp_path / f"cut-{cut}"
        left.mkdir()
        story.leave(cut, left, chance)
        (left / "b.db").unlink(missing_ok=True)
        restored = is_restored(str(left / "store.db"))
        met.add(restored)
        with tessera.open(str(left / "store.db")) as store:
            assert restored != any(task.task_id == "later" for task in store.tasks(limit=1_000).tasks)
        assert restored or not story.answers(cut)

    assert met == {True, False}


def test_a_power_cut_after_a_backup(story: Story, tmp_path: Path) -> None:
    """By the time a backup gets its name, all of it is on the disk."""
    (tmp_path / "town").mkdir()
    here = Town(tmp_path / "town")
    left = tmp_path / "left"
    left.mkdir()

    def reach(point: str) -> None:
        if point == "backup.checked":
            (made,) = here.folder.glob("*.partial")
            kept[made.name] = made.read_bytes()
            story.leave(len(story.entries), left, random.Random(1))

    kept: dict[str, bytes] = {}
    runtime = replace(World().runtime(), reach=reach)
    tessera.upkeep.backup(here.path, str(here.folder / "b.db"), runtime)

    ((name, content),) = kept.items()
    assert (left / name).read_bytes() == content
