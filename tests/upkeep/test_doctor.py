"""doctor: each thing that can be wrong with a store, found, said in words, with what to do."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import namedtuple
from pathlib import Path

import apsw
import pytest

import tessera
from tessera import diagnosis
from tessera.models import Advice, Diagnosis
from tessera.storage import locks
from tessera.storage.migrate import migrations
from tessera.testing import World
from upkeep.conftest import Town
from upkeep.town import contents, sql

QUICK = 0.05  # seconds of patience with a lock


def look(here: Town, path: str | None = None) -> Diagnosis:
    """A diagnosis on the town's clock."""
    return diagnosis.doctor(path or here.path, here.world.runtime(), patience_seconds=QUICK)


def act(found: Diagnosis) -> list[Advice]:
    """What needs somebody; each such thing says what to do."""
    needed = [one for one in found.advice if one.level == "act"]
    assert found.ok == (not needed)
    assert all(one.do for one in needed)
    return needed


def only(found: Diagnosis, subject: str, words: str) -> Advice:
    """The only thing that needs somebody is of this subject and says this."""
    (one,) = act(found)
    assert (one.subject, words in one.says) == (subject, True), one
    return one


def test_a_well_store_needs_nothing(here: Town) -> None:
    """A store that is well is said to be, subject by subject, and nothing of it is changed."""
    before = contents(here.path)
    found = look(here)

    assert found.ok
    assert [one.subject for one in found.advice] == [
        "file", "disk", "pages", "log", "locks", "clock", "reaper",
    ]  # fmt: skip
    assert {one.level for one in found.advice} == {"fine"}
    assert contents(here.path) == before


def test_a_look_leaves_nothing_beside_the_store(here: Town) -> None:
    """A diagnosis and a backup leave a closed store one file, byte for byte, and the log of a process that
    died where it was.
    """
    before = Path(here.path).read_bytes()
    look(here)
    tessera.upkeep.backup(here.path, str(here.folder / "b.db"), here.world.runtime())
    assert {one.name for one in here.folder.iterdir()} == {"store.db", "b.db"}
    assert Path(here.path).read_bytes() == before

    code = f"import os, tessera; s = tessera.open({here.path!r}); s.define_queue('late'); os._exit(9)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 9
    log = Path(f"{here.path}-wal").read_bytes()
    assert look(here).ok
    tessera.upkeep.backup(here.path, str(here.folder / "b.db"), here.world.runtime(), force=True)
    assert log
    assert Path(f"{here.path}-wal").read_bytes() == log
    with here.open(str(here.folder / "b.db")) as store:
        assert "late" in {queue.name for queue in store.queues()}


def test_no_store(here: Town) -> None:
    """A path without a file or a folder is told, and no store is made of it."""
    only(look(here, str(here.folder / "no.db")), "file", "no store at")
    only(look(here, str(here.folder / "no" / "no.db")), "file", "no folder")
    only(look(here, str(here.folder)), "file", "is no file")

    assert not (here.folder / "no.db").exists()


def test_foreign_files(here: Town) -> None:
    """Text, another program's database and a newer version's store are told apart."""
    folder = here.folder
    (folder / "text").write_text("a shopping list " * 1_000)
    apsw.Connection(str(folder / "foreign")).execute("create table theirs (a)")
    only(look(here, str(folder / "text")), "file", "not a SQLite file")
    only(look(here, str(folder / "foreign")), "file", "no Tessera store")
    sql(here.path, f"insert into migrations values ({len(migrations()) + 1}, 'later', 0)")
    assert "upgrade" in (only(look(here), "file", "newer Tessera").do or "")


def test_an_older_store_is_worth_a_note(here: Town, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store of an older version needs nobody: it is brought up to date when it is opened."""
    known = migrations()
    monkeypatch.setattr("tessera.storage.probe.migrations", lambda: [*known, (len(known) + 1, "more", "")])
    found = look(here)

    assert found.ok
    assert any(one.level == "note" and "older version" in one.says for one in found.advice)


def test_what_an_upgrade_has_left(here: Town) -> None:
    """Records that the index does not have yet are a note, until a reap has indexed them."""
    sql(here.path, "insert into meta (name, value) values ('catch_up', '[0,\"\",\"\"]')")
    assert [(one.level, one.do) for one in look(here).advice if one.subject == "nouns"] == [
        ("note", "run the service, which indexes them, or tessera reap")
    ]
    with here.open() as store:
        store.reap()
    assert not [one for one in look(here).advice if one.subject == "nouns"]


@pytest.mark.parametrize(
    ("barred", "mode", "words"),
    [
        ("store.db", os.R_OK, "may not be read"),
        ("store.db", os.W_OK, "may not be written by this user"),
        ("", os.W_OK, "the folder of"),
    ],
)
def test_permissions(here: Town, monkeypatch: pytest.MonkeyPatch, barred: str, mode: int, words: str) -> None:
    """A file or folder that the system does not let this user read or write is told."""
    barred_path = here.folder / barred
    monkeypatch.setattr(os, "access", lambda path, asked: (Path(path), asked) != (barred_path, mode))

    only(look(here), "file", words)


def test_damaged_pages(here: Town) -> None:
    """Damage is told with what to do; what is in the file is not looked at then."""
    connection = apsw.Connection(here.path)
    connection.execute("pragma wal_checkpoint(truncate)").fetchall()
    root = connection.execute("select rootpage from sqlite_schema where name = 'tasks_of_parent'").get
    connection.close()
    with Path(here.path).open("r+b") as file:
        file.seek((root - 1) * 4096)
        file.write(b"\x5a" * 4096)
    needed = act(look(here))

    assert [one.subject for one in needed] in (["pages"], ["file"])
    assert "damaged" in needed[0].says
    assert "tessera restore" in (needed[0].do or "")


def test_little_room(here: Town, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that is nearly full is told before verbs fail."""
    room = namedtuple("room", "f_bavail f_frsize")(1_000, 4_096)
    monkeypatch.setattr(os, "statvfs", lambda folder: room)

    only(look(here), "disk", "3.9 MiB are free")


def test_a_lock_that_is_held(here: Town) -> None:
    """A process that holds the write lock is told, by its id where the system says it."""
    code = (
        f"import apsw; c = apsw.Connection({here.path!r}); c.execute('begin immediate'); "
        "print('held', flush=True); input()"
    )
    with here.open():
        other = subprocess.Popen(
            [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert other.stdout.readline() == "held\n"
        found = only(look(here), "locks", "write lock has been held")
        holders = locks.holders(here.path)
        other.communicate("\n")
        assert look(here).ok
    if holders.known:
        assert str(other.pid) in found.says
        assert holders.writing == {other.pid}
        assert holders.present == {other.pid, os.getpid()}


def test_a_reader_that_keeps_the_log_long(here: Town, monkeypatch: pytest.MonkeyPatch) -> None:
    """A log that has grown large is told, with who keeps it from shrinking."""
    monkeypatch.setattr(diagnosis, "WAL_BYTES_LARGE", 50_000)
    code = (
        f"import apsw; c = apsw.Connection({here.path!r}); c.execute('begin'); "
        "c.execute('select count(*) from events').fetchall(); print('reads', flush=True); input()"
    )
    with here.open() as store:
        other = subprocess.Popen(
            [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert other.stdout.readline() == "reads\n"
        for number in range(40):
            store.enqueue(queue="q", kind="k", brief={"n": number})
        found = only(look(here), "log", "write-ahead log holds")
        known = locks.holders(here.path).known
        other.communicate("\n")
    if known:
        assert str(other.pid) in found.says


def test_a_clock_behind(here: Town) -> None:
    """A clock that stands behind the store's last instant is told, with what that stops."""
    here.world.now_us -= 7_000_000
    found = only(look(here), "clock", "7 s behind")

    assert "lapses" in (found.do or "")


def test_what_is_late(here: Town) -> None:
    """What has just fallen due is worth a note; what nobody has settled for a minute needs the reaper."""
    here.world.pass_seconds(90)  # `held` has missed its heartbeats
    found = look(here)
    assert found.ok
    assert [one.level for one in found.advice if one.subject == "late"] == ["note"]
    here.world.pass_seconds(3_000)  # the released child may start, too
    late, reaper = act(look(here))
    with here.open() as store:
        store.reap()

    assert "1 expired leases and 1 overdue tasks" in late.says
    assert "last ran 3090 s ago" in reaper.says
    assert look(here).ok


def test_what_was_left_behind(here: Town) -> None:
    """What a copy that was cut off left beside the store is worth a note."""
    (here.folder / "store.db.1.partial").write_text("")
    found = look(here)

    assert found.ok
    assert any("store.db.1.partial" in one.says for one in found.advice if one.level == "note")


def test_the_public_name(here: Town) -> None:
    """`tessera.doctor` takes a store's URL."""
    world = World()
    world.now_us = here.world.now_us
    assert tessera.doctor(f"sqlite:///{here.path}", runtime=world.runtime()).store == here.path


def test_a_system_without_a_table_of_locks(here: Town, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the system tells nothing about locks, nothing is made up."""
    monkeypatch.setattr(locks, "TABLE", here.folder / "none")

    assert locks.holders(here.path) == locks.Holders()
    assert locks.told_of(here.path) == ""
    assert look(here).ok
