"""Figures that tell how a store is: for `tessera doctor`, which puts them in words, and for `/metrics`. They
have one source, so that the two cannot disagree.
"""

from __future__ import annotations

from tessera.limits import SECOND_US
from tessera.models import FileFigures, LateQueue, TimeFigures
from tessera.rows import Late, Numbers
from tessera.runtime import Runtime
from tessera.storage import probe
from tessera.storage.port import Transaction


def of_files(path: str) -> FileFigures:
    """Of the store's file and its disk; no store has to be open."""
    return FileFigures(wal_bytes=probe.wal_bytes(path), disk_free_bytes=probe.free_bytes(path))


def of_time(tx: Transaction, runtime: Runtime) -> TimeFigures:
    """A look: the clock, the reaper, and what time has come for."""
    numbers: Numbers = tx.one("numbers")
    reaped = tx.one("reaper_last_run")
    late: list[Late] = tx.all("late", now=tx.now)
    return TimeFigures(
        clock_behind_seconds=max(0, numbers.last_instant - runtime.now_us()) / SECOND_US,
        reaped_seconds_ago=None if reaped is None else (tx.now - reaped.value) / SECOND_US,
        late={
            one.queue: LateQueue(
                expired_leases=one.expired_leases, overdue_tasks=one.overdue_tasks,
                late_seconds=(tx.now - one.since) / SECOND_US,
            )
            for one in late
        },
    )  # fmt: skip
