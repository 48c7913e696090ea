"""What a full disk, a read-only file or a damaged one does: a clear refusal, nothing by half."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import apsw
import pytest

import tessera
from tessera.errors import Unavailable
from tessera.testing import World


def test_a_full_disk_is_told(tmp_path: Path, world: World) -> None:
    """When the file can grow no more a verb answers `unavailable`, leaves nothing by half, and the store goes
    on once there is room.
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
        connection.execute("pragma max_page_count = 1000000")
        store.enqueue(queue="q", kind="k", brief={"x": "y" * 100_000})

        assert store.counts(recount=True).queues["q"].ready == 1


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
