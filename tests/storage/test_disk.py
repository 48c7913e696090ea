"""What a full disk, a read-only file or a damaged one does: a clear refusal, nothing by half."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import apsw
import pytest

import tessera
from tessera.errors import Unavailable
from tessera.testing import World

HOLDS_THE_CHECKPOINT_LOCK = """
import fcntl, sys
with open(sys.argv[1], "r+b") as file:
    fcntl.lockf(file, fcntl.LOCK_EX, 1, 121)
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_full_disk_is_told(tmp_path: Path, world: World, caplog: pytest.LogCaptureFixture) -> None:
    """When the file can grow no more a verb answers `unavailable`, leaves nothing by half and one line in the
    process's log, and the store goes on once there is room.
    """
    with tessera.open(str(tmp_path / "s.db"), runtime=world.runtime()) as store:
        store.define_queue("q")
        connection = store._door._engine._writer.connection
        pages = connection.execute("pragma page_count").get
        connection.execute(f"pragma max_page_count = {pages}")
        with pytest.raises(Unavailable, match="disk is full"):
            store.enqueue(queue="q", kind="k", brief={"x": "y" * 100_000})
        assert store.counts(recount=True).agree
        assert store.counts().queues["q"].ready == 0
        assert [len(record.getMessage().splitlines()) for record in caplog.records] == [1]
        assert caplog.records[0].exc_info is None
        connection.execute("pragma max_page_count = 1000000")
        store.enqueue(queue="q", kind="k", brief={"x": "y" * 100_000})

        assert store.counts(recount=True).queues["q"].ready == 1


def test_many_small_commits_keep_the_log_short(
    tmp_path: Path, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Commits that write the same pages over and over have them moved from the log, which starts anew."""
    monkeypatch.setattr("tessera.storage.checkpoints.CHECKPOINT_COMMITS", 8)
    with tessera.open(str(tmp_path / "s.db"), runtime=world.runtime()) as store:
        store.define_queue("q")
        sizes = []
        for _ in range(64):
            store.pause_queue("q")
            sizes.append((tmp_path / "s.db-wal").stat().st_size)
        assert sizes[-1] == sizes[15] > 0


def test_a_log_that_cannot_be_moved_is_told(
    tmp_path: Path, world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A commit stands even if moving the log fails after it; the failure is in the process's log."""
    monkeypatch.setattr("tessera.storage.checkpoints.CHECKPOINT_COMMITS", 1)
    unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)
    with tessera.open(str(tmp_path / "s.db"), runtime=world.runtime()) as store:
        store.define_queue("q")
        resource.setrlimit(resource.RLIMIT_FSIZE, ((tmp_path / "s.db").stat().st_size, unlimited[1]))
        try:
            store.enqueue(queue="q", kind="k", brief={"x": "y" * 100_000})
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)
        assert "could not be checkpointed" in caplog.text
        assert store.counts(recount=True).queues["q"].ready == 1


def test_a_log_that_another_process_moves_is_no_trouble(
    tmp_path: Path, world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """While another process moves the log nobody else can, and nobody is told: it is being done."""
    monkeypatch.setattr("tessera.storage.checkpoints.CHECKPOINT_COMMITS", 1)
    with tessera.open(str(tmp_path / "s.db"), runtime=world.runtime()) as store:
        store.define_queue("q")
        moved = (tmp_path / "s.db").stat().st_size
        program = [sys.executable, "-c", HOLDS_THE_CHECKPOINT_LOCK, str(tmp_path / "s.db-shm")]
        with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
            assert other.stdout is not None
            other.stdout.readline()
            store.enqueue(queue="q", kind="k", brief={"x": "y" * 100_000})
            assert (tmp_path / "s.db").stat().st_size == moved
            other.communicate()
        assert caplog.records == []
        store.pause_queue("q")
        assert (tmp_path / "s.db").stat().st_size > moved


def test_a_damaged_file_is_told(tmp_path: Path) -> None:
    """A store whose pages are overwritten answers `unavailable` and says what to do."""
    path = tmp_path / "s.db"
    with tessera.open(str(path)) as store:
        store.define_queue("q")
        for number in range(200):
            store.enqueue(queue="q", kind="k", brief={"n": number})
    apsw.Connection(str(path)).execute("pragma wal_checkpoint(truncate)").fetchall()
    blob = bytearray(path.read_bytes())
    blob[8 * 4096 :] = b"\x5a" * (len(blob) - 8 * 4096)
    path.write_bytes(bytes(blob))

    with pytest.raises(Unavailable, match="damaged"):
        read_all(str(path))


def read_all(path: str) -> None:
    """Open the store and look at everything in it."""
    with tessera.open(path) as store:
        store.counts(recount=True)
        store.tasks(limit=1_000)


def test_a_killed_process_leaves_a_whole_store(tmp_path: Path) -> None:
    """A process that dies without closing leaves everything it was answered, and a store that opens."""
    path = str(tmp_path / "s.db")
    code = (
        f"import os, tessera; s = tessera.open({path!r}); s.define_queue('q');"
        "[s.enqueue(queue='q', kind='k', brief={}) for _ in range(20)]; os._exit(9)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 9

    with tessera.open(path) as store:
        assert store.counts(recount=True).queues["q"].ready == 20
        assert store.counts(recount=True).agree
