"""Operations: files shared by processes, migrations, copies, restores, callers that go away."""

from __future__ import annotations

import asyncio
import random
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import apsw
import pytest
from cases.crews import DRAIN, ended_well, started
from cases.races import rounds
from crash import upgrade
from verbs.bench import Bench

import tessera
from tessera.errors import StaleLease, TesseraError, Unavailable
from tessera.models import AskCounts, Claim, DefineQueue, Raw, Submit, TaskSpec
from tessera.rules.grants import OWNER
from tessera.storage.loop import LoopEngine
from tessera.storage.migrate import migrations
from tessera.surface import SURFACE
from tessera.testing import World, die_at

VERBS = {name: row.run() for name, row in SURFACE.items()}


def test_o01_no_process_is_told_that_the_store_is_locked(bench: Bench) -> None:
    """O01: eight processes claim and hand in on one file while readers page the log, and no call fails."""
    tasks = [bench.enqueue() for _ in rounds(160, 4_000)]
    processes = [started(DRAIN, str(bench.path), f"p{n}") for n in range(8)]
    stop, failed = threading.Event(), []

    def page() -> None:
        after = 0
        while not stop.is_set():
            try:
                lines = bench.store.events(after, 50)
            except TesseraError as refusal:
                failed.append(refusal)
                return
            after = lines[-1].seq if lines else 0

    readers = [threading.Thread(target=page) for _ in range(2)]
    for reader in readers:
        reader.start()
    ended_well(processes)
    stop.set()
    for reader in readers:
        reader.join()

    assert failed == []
    assert bench.store.counts().queues["q"].done == len(tasks)
    assert bench.store.verify().findings == []


def test_o01_a_store_that_stays_locked_is_told_as_unavailable(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """O01: behind a lock that stays, a verb that writes is told so before it has read or done anything."""
    lease = bench.leased()
    holder = apsw.Connection(str(bench.path))
    holder.execute("begin immediate")
    bench.store._door._engine._writer.connection.set_busy_timeout(50)
    with pytest.raises(Unavailable, match="lock") as refusal:
        bench.store.submit(lease.task_id, lease.fencing_token, 1, "key")
    holder.execute("rollback")

    assert refusal.value.definite
    assert bench.store.results(lease.task_id) == []
    assert not bench.store.submit(lease.task_id, lease.fencing_token, 1, "key").replayed


@pytest.mark.parametrize("number", rounds(3, 50))
def test_o02_a_store_is_made_once(tmp_path: Path, number: int) -> None:
    """O02: six processes that start on an empty folder at once make one store, in WAL mode."""
    path = str(tmp_path / "s.db")
    code = "import sys, tessera; sys.stdin.readline(); tessera.open(sys.argv[1]).close()"
    ended_well([started(code, path) for _ in range(6)])

    connection = apsw.Connection(path)
    assert connection.execute("pragma journal_mode").get == "wal"
    assert [row[0] for row in connection.execute("select version from migrations")] == [
        version for version, *_ in migrations()
    ]
    assert connection.execute("select count(*) from meta where name = 'store_id'").get == 1


def test_o03_a_migration_is_made_once(tmp_path: Path) -> None:
    """O03: of processes that open an older store at once one dies in the middle of the migration; the others
    end it, each step is there once, the data is whole, and the old version is refused clearly.
    """
    path, folder = str(tmp_path / "s.db"), tmp_path / "migrations"
    with tessera.open(path) as store:
        store.define_queue("q")
        store.enqueue(queue="q", kind="k", brief={"kept": True}, task_id="t")
    folder.mkdir()
    for version, name, text in [
        *migrations(), (len(migrations()) + 1, "colour", "alter table queues add column colour text;"),
        (len(migrations()) + 2, "shapes", "create table shapes (name text) strict;"),
    ]:  # fmt: skip
        (folder / f"{version:04d}_{name}.sql").write_text(text, encoding="utf-8")
    command = [sys.executable, upgrade.__file__, path, str(folder)]
    die_at("migrate.written:2", command)
    processes = [subprocess.Popen(command) for _ in range(6)]

    assert [process.wait(60) for process in processes] == [0] * 6
    connection = apsw.Connection(path)
    columns = [row[1] for row in connection.execute("pragma table_info(queues)")]
    assert columns.count("colour") == 1
    assert connection.execute("select brief from briefs").fetchall() == [('{"kept":true}',)]
    assert connection.execute("pragma integrity_check").get == "ok"
    with pytest.raises(Unavailable, match="newer Tessera"):
        tessera.open(path)


def test_o04_a_backup_holds_what_is_still_in_the_log(bench: Bench, tmp_path: Path) -> None:
    """O04: a copy made while claims go on has every task committed before, though none had left the log; it
    is sound, and its counts are its tasks'.
    """
    bench.store._door._engine._writer.connection.execute("pragma wal_autocheckpoint = 0")
    tasks = {bench.enqueue() for _ in range(100)}
    processes = [started(DRAIN, str(bench.path), f"p{n}") for n in range(2)]
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()
    file = bench.store.backup(tmp_path / "copy.db").file
    ended_well(processes)

    with tessera.open(file, runtime=World().runtime()) as copy:
        assert {task.task_id for task in copy.tasks(limit=1_000).tasks} == tasks
        assert copy.counts(recount=True).agree
        assert copy.verify().findings == []


def test_o05_a_bad_backup_touches_nothing(bench: Bench, tmp_path: Path) -> None:
    """O05: a copy that was cut short or changed is noticed, and refused before the store is touched."""
    for _ in range(50):
        bench.enqueue(brief={"x": "y" * 2_000})
    cut, changed = (Path(bench.store.backup(tmp_path / name).file) for name in ("cut.db", "changed.db"))
    cut.write_bytes(cut.read_bytes()[:40_960])
    changed.write_bytes(changed.read_bytes().replace(b"y" * 100, b"y" * 99 + b"z"))
    before = bench.store.events(limit=10_000)
    bench.store.close()
    for bad in (cut, changed):
        with pytest.raises(Unavailable):
            tessera.restore(bad, str(bench.path), force=True)

    assert bench.reopened().events(limit=10_000) == before


def test_o06_a_restore_revives_no_token(bench: Bench, tmp_path: Path) -> None:
    """O06: a store that runs is not restored over; once it is, logs that are left of another do not get in,
    and holders of leases that the backup knows or does not know are refused.
    """
    task_id = bench.enqueue()
    backed_up = bench.store.backup(tmp_path / "b.db").file
    holder = bench.claim()
    with pytest.raises(Unavailable, match="in use"):
        tessera.restore(backed_up, str(bench.path), force=True)
    log = Path(f"{bench.path}-wal").read_bytes()
    bench.store.close()
    bench.path.unlink()
    Path(f"{bench.path}-wal").write_bytes(log)
    restored = tessera.restore(backed_up, str(bench.path), runtime=bench.world.runtime())
    store = bench.reopened()
    again = store.claim("q", "w")

    assert again.task_id == task_id
    assert again.fencing_token > restored.epoch.epoch > holder.fencing_token
    with pytest.raises(StaleLease):
        store.submit(task_id, holder.fencing_token, "old", "old")
    assert store.verify().findings == []


def test_o08_callers_that_go_away_leave_nothing_by_half(tmp_path: Path) -> None:
    """O08: calls that are cancelled at random moments happen whole or not at all, and hold up nobody."""
    chance = random.Random(20261130)

    async def scene() -> Any:
        engine = LoopEngine(
            str(tmp_path / "s.db"), tessera.runtime.real_runtime(), asyncio.get_running_loop()
        )
        try:
            await engine.submit(VERBS["define_queue"], OWNER, DefineQueue(name="q"))

            async def work(number: int) -> None:
                spec = TaskSpec(queue="q", kind="k", brief=Raw(b"{}"))
                await engine.submit(VERBS["enqueue"], OWNER, spec)
                lease = await engine.submit(VERBS["claim"], OWNER, Claim(queue="q", worker="w"))
                if hasattr(lease, "task_id"):
                    held = {"task_id": lease.task_id, "fencing_token": lease.fencing_token}
                    ask = Submit(**held, output=Raw(b"1"), idempotency_key=f"k{number}")
                    await engine.submit(VERBS["submit"], OWNER, ask)

            for number in rounds(150, 1_000):
                caller = asyncio.ensure_future(work(number))
                for _ in range(chance.randrange(12)):
                    await asyncio.sleep(0)
                caller.cancel()
                await asyncio.gather(caller, return_exceptions=True)
            return await engine.read(VERBS["counts"], OWNER, AskCounts(recount=True))
        finally:
            engine.close()

    counts = asyncio.run(scene())
    assert counts.agree
    with tessera.open(str(tmp_path / "s.db")) as store:
        assert store.verify().findings == []
