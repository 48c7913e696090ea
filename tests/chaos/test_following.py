"""Whoever follows the log with `after=` is told all of it, however many nodes write."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

import tessera
from tessera.library import Tessera
from tessera.models import Event

NODES, LINES = (8, 110_000) if os.environ.get("TESSERA_LONG") == "1" else (4, 2_000)
PATIENCE_SECONDS = 900


def read_on(store: Tessera, read: list[Event], limit: int) -> bool:
    """Take the next page, if there is one; whether there was."""
    page = store.events(after=read[-1].seq if read else 0, limit=limit)
    read += page
    return bool(page)


def test_n03_postgres_a_follower_misses_nothing(dsn: str) -> None:
    """N03: several processes write to one log at once; who reads on from the last line seen, in pages small
    and large, is told every line once, in order, and time in it never falls.
    """
    with tessera.open(dsn) as store, tessera.open(dsn) as other:
        store.define_queue("log", lease_seconds=3_600, heartbeat_seconds=600)
        command = [sys.executable, "-m", "chaos.writer", dsn]
        writers = [
            subprocess.Popen([*command, f"node-{n}", str(LINES // NODES)], cwd=Path(__file__).parents[1])
            for n in range(NODES)
        ]
        followed: list[list[Event]] = [[], []]
        end = time.monotonic() + PATIENCE_SECONDS
        try:
            while any(writer.poll() is None for writer in writers):
                assert time.monotonic() < end
                found = [read_on(store, followed[0], 7), read_on(other, followed[1], 10_000)]
                if not any(found):
                    time.sleep(0.001)
            assert [writer.returncode for writer in writers] == [0] * NODES
        finally:
            for writer in writers:
                writer.kill()
                writer.wait()
        whole: list[Event] = []
        for read in (*followed, whole):
            while read_on(store, read, 10_000):
                pass

    assert len(whole) > LINES
    assert followed[0] == whole
    assert followed[1] == whole
    assert all(earlier.seq < later.seq and earlier.at <= later.at for earlier, later in pairwise(whole))
