"""backup: whole, checked, consistent while others work, and never in the way of what is there."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import tessera
from tessera.errors import InvalidRequest, NotFound, TesseraError, Unavailable
from tessera.testing import open_on_loop
from upkeep import busy
from upkeep.conftest import Town
from upkeep.town import contents, sql

FULL = """
import resource, sys, tessera
with tessera.open(sys.argv[1]) as store:
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]),) * 2)
    try:
        store.backup(sys.argv[2], force=True)
    except tessera.TesseraError as refusal:
        sys.exit(f"{refusal.code}: {refusal.detail}")
"""


def names(folder: Path) -> set[str]:
    """What is in a folder, but for the store's own files."""
    return {one.name for one in folder.iterdir() if not one.name.startswith("store.db")}


def test_a_backup_is_the_store(here: Town) -> None:
    """A backup is one file that holds every row of the store, for its owner's eyes, and opens as a store."""
    with here.open() as store:
        made = store.backup(here.folder / "b.db")
        last = store.events(limit=10_000)[-1]
    copy = made.file

    assert contents(copy) == contents(here.path)
    assert (made.bytes, made.verified.ok) == (os.stat(copy).st_size, True)
    assert (made.last_seq, made.last_event_at) == (last.seq, last.at)
    assert names(here.folder) == {"b.db"}
    assert stat.S_IMODE(os.stat(copy).st_mode) == 0o600
    with here.open(copy) as store:
        assert store.task("held").state == "leased"
        assert store.verify().ok


def test_a_backup_needs_nothing_beside_it(here: Town) -> None:
    """A backup in a folder that may not be written can be looked at: it needs no log of its own."""
    folder = here.folder / "shelf"
    folder.mkdir()
    with here.open() as store:
        store.backup(folder / "b.db")
    folder.chmod(0o500)
    try:
        restored = here.restore(str(folder / "b.db"), str(here.folder / "new.db"))
        assert names(folder) == {"b.db"}
    finally:
        folder.chmod(0o700)

    assert restored.epoch.leases_ended == 1


def test_backups_while_threads_and_processes_work(here: Town) -> None:
    """What was answered before a backup began is in it, and every backup is a consistent store, whoever
    works on the store meanwhile.
    """
    processes = [
        subprocess.Popen(
            [sys.executable, busy.__file__, here.path, f"p{n}"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        ) for n in range(2)
    ]  # fmt: skip
    answered: list[str] = [process.stdout.readline().strip() for process in processes]
    stop = threading.Event()
    with tessera.open(here.path) as store:

        def work(name: str) -> None:
            number = 0
            while not stop.is_set():
                number += 1
                task_id = store.enqueue(queue="q", kind=name, brief={}, task_id=f"{name}-{number}")
                lease = store.claim("q", name, kinds=[name])
                store.submit(task_id, lease.fencing_token, number, f"{name}-{number}")
                answered.append(task_id)

        threads = [threading.Thread(target=work, args=(f"t{n}",)) for n in range(3)]
        for thread in threads:
            thread.start()
        before = []
        for round_number in range(4):
            for process in processes:
                answered.append(process.stdout.readline().strip())
            before.append(set(answered))
            made = store.backup(here.folder / f"{round_number}.db")
            assert made.verified.ok
        stop.set()
        for thread in threads:
            thread.join()
    for process in processes:
        process.communicate("\n")
        assert process.returncode == 0
    for round_number, known in enumerate(before):
        kept = contents(str(here.folder / f"{round_number}.db"))["results"]
        assert {f"{task_id}" for task_id in known} <= {row[1] for row in kept}


def test_a_backup_on_the_loop(here: Town) -> None:
    """The engine of event loops is backed up like the other."""
    with open_on_loop(here.path, runtime=here.world.runtime()) as store:
        store.enqueue(queue="q", kind="k", brief={}, task_id="new")
        file = store.backup(here.folder / "b.db").file

    assert contents(file) == contents(here.path)


def test_an_existing_file_is_kept(here: Town) -> None:
    """A file that exists is replaced only with `force`."""
    file = here.folder / "b.db"
    file.write_text("mine")
    with here.open() as store:
        with pytest.raises(InvalidRequest, match="exists"):
            store.backup(file)
        assert file.read_text() == "mine"
        store.backup(file, force=True)

    assert contents(str(file)) == contents(here.path)


def test_a_file_that_comes_meanwhile_is_kept(here: Town) -> None:
    """A file that somebody makes while the copy is made is not replaced either."""
    file = here.folder / "b.db"
    with here.open() as store, pytest.raises(InvalidRequest, match="exists"):
        store.backup(file, tell=lambda what, done, of: file.write_text("mine"))

    assert file.read_text() == "mine"
    assert names(here.folder) == {"b.db"}


def refused(here: Town, kind: type[TesseraError], words: str, file: Path, **how: Any) -> None:
    """A backup that must be refused and must leave nothing."""
    before = names(here.folder)
    with here.open() as store, pytest.raises(kind, match=words):
        store.backup(file, **how)
    assert names(here.folder) == before
    with here.open() as store:
        assert store.verify().ok


def test_a_store_is_not_backed_up_onto_itself(here: Town) -> None:
    """Under its own name, another of its names or that of its log, not even with `force`."""
    (here.folder / "link.db").symlink_to(here.path)
    os.link(here.path, here.folder / "twin.db")
    for name in ("store.db", "link.db", "twin.db", "store.db-wal", "store.db-shm", "store.db-journal"):
        refused(here, InvalidRequest, "onto itself", here.folder / name, force=True)


def test_places_that_take_no_backup(here: Town) -> None:
    """A folder, a folder that is not there, and a file that is in use as a store are refused in words."""
    refused(here, InvalidRequest, "is a folder", here.folder)
    refused(here, InvalidRequest, "NUL", here.folder / "b\0.db")
    refused(here, InvalidRequest, "no folder", here.folder / "missing" / "b.db")
    with here.open(str(here.folder / "other.db")):
        refused(here, InvalidRequest, "used as a store", here.folder / "other.db", force=True)


def test_a_store_that_is_not_there(here: Town) -> None:
    """Backing up a path where no store is makes none."""
    with pytest.raises(NotFound):
        tessera.upkeep.backup(str(here.folder / "no.db"), str(here.folder / "b.db"), here.world.runtime())
    assert names(here.folder) == set()


def test_an_unsound_store(here: Town) -> None:
    """A store in which something is wrong is copied only when that is asked for, and the answer says so."""
    sql(here.path, "update counts set ready = 77 where queue = 1")
    file = here.folder / "b.db"
    with here.open() as store:
        with pytest.raises(Unavailable, match="queue q counts 77 ready") as refusal:
            store.backup(file)
        assert refusal.value.definite
        assert names(here.folder) == set()
        assert not store.backup(file, unsound=True).verified.ok

    assert contents(str(file)) == contents(here.path)


@pytest.mark.parametrize("spoil", [lambda blob: blob[:-4096], lambda blob: blob[:9_000] + b"\x00" * 40_000])
def test_a_bad_copy_gets_no_name(here: Town, spoil: Callable[[bytes], bytes]) -> None:
    """A copy that the disk has cut short or spoilt is noticed and thrown away."""

    def reach(point: str) -> None:
        if point == "backup.copied":
            (made,) = here.folder.glob("*.partial")
            made.write_bytes(spoil(made.read_bytes()))

    runtime = replace(here.world.runtime(), reach=reach)
    with pytest.raises(Unavailable):
        tessera.upkeep.backup(here.path, str(here.folder / "b.db"), runtime)

    assert names(here.folder) == set()


@pytest.mark.parametrize("room", [0, 4_096, 100_000])
def test_a_full_disk(here: Town, room: int) -> None:
    """A disk that does not take the copy is told, leaves no file, and an older backup as it was."""
    file = here.folder / "b.db"
    file.write_text("an older one")
    with here.open() as store:  # so much that it does not fit
        store.enqueue(queue="q", kind="k", brief={"x": "y" * 200_000})
    ran = subprocess.run(
        [sys.executable, "-c", FULL, here.path, str(file), str(room)],
        capture_output=True,
        text=True,
        check=False,
    )

    assert ran.returncode == 1
    assert ran.stderr.startswith("unavailable: ")
    assert names(here.folder) == {"b.db"}
    assert file.read_text() == "an older one"


def test_a_store_elsewhere_is_kept_where_it_is() -> None:
    """Through a service's URL nothing is verified, copied, restored or diagnosed: its machine is named."""
    url = "http://127.0.0.1:1"
    with tessera.open(url, key="none") as store:
        for act in (
            store.verify,
            lambda: store.backup("b.db"),
            lambda: tessera.restore("b.db", url),
            lambda: tessera.doctor(url),
        ):
            with pytest.raises(InvalidRequest, match="own machine"):
                act()
