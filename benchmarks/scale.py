"""What one claim costs as the store grows: ready tasks, delayed tasks ahead, filters that match few.

Prints ratios against a queue of 1,000 ready tasks measured in the same run; the claims of each store are
measured in turns, so that a slow phase of the machine meets them all. Only the verb's own work is timed
(reads, checks, writes), with no disk sync, which is the same at every size.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tessera.models import Claim, DefineQueue
from tessera.rules.grants import OWNER
from tessera.runtime import real_runtime
from tessera.steps import briefs
from tessera.storage.direct import DirectEngine
from tessera.storage.sqlite import Job, Writer
from tessera.verbs.claim import claim
from tessera.verbs.define_queue import define_queue

SCENES = {
    "1,000 ready": (1_000, 0),
    "100,000 ready": (100_000, 0),
    "1,000,000 ready": (1_000_000, 0),
    "1,000 ready, 1,000,000 delayed ahead": (1_000, 1_000_000),
}
FILTERS = {
    "any": {},
    "one kind in 100,000": {"kinds": ["rare"]},
    "2 kinds x 2 effects": {"kinds": ["k1", "k2"], "effect_classes": ["read", "write-internal"]},
    "no such kind": {"kinds": ["none"]},
}
ROUNDS, CLAIMS = 15, 8
BRIEF = '{"goal":"' + "x" * 300 + '"}'
ADD = """insert into tasks (task_id, queue, lane, state, priority, created_at, updated_at, due, not_before)
  with recursive g (i) as (select 1 union all select i + 1 from g where i < ?1)
  select ?2 || printf('%08d', i), 1, 1 + i % 3, 0, i % 5, ?3 + i, ?3, ?4 + i, ?4 + i from g"""


def store(folder: str, ready: int, delayed: int) -> Writer:
    """A store with one queue: three lanes, and a rare one with one task in 100,000, at least 10."""
    path = str(Path(folder) / f"{ready}-{delayed}.db")
    engine = DirectEngine(path, real_runtime())
    engine.submit(
        define_queue, OWNER, DefineQueue(name="q", lease_seconds=3_600, heartbeat_seconds=600)
    ).result()
    engine.close()
    writer = Writer(path, real_runtime())
    execute, now = writer.execute, writer.clock.instant()
    execute("pragma synchronous = off")
    execute("begin")
    lanes = (("k0", 0), ("k1", 1), ("k2", 2), ("rare", 0))
    for lane, (kind, effect) in enumerate(lanes, 1):
        execute("insert into lanes values (?, 1, ?, ?)", (lane, kind, effect))
    if delayed:
        execute(ADD, (delayed, "d", now - 5_000_000, now + 3_600_000_000))
    execute(ADD, (ready, "t", now - 2_000_000, None))
    rare = max(CLAIMS + 2, ready // 100_000)
    execute("update tasks set lane = 4 where serial > (select max(serial) from tasks) - ?", (rare,))
    execute(
        "insert into briefs (serial, sha256, brief) select serial, ?, ? from tasks where due is null",
        (briefs.digest(BRIEF), BRIEF),
    )
    execute("update counts set ready = ?", (ready + delayed,))
    execute("commit")
    execute("analyze")
    execute("pragma wal_checkpoint(truncate)").fetchall()
    return writer


def costs(writer: Writer, filters: dict[str, list[str]]) -> Iterator[float]:
    """Microseconds of one claim, several times; each batch is undone, so that the store stays as it was."""
    ask = Claim(queue="q", worker="w", **filters)
    while True:
        writer.begin()
        start = time.perf_counter()
        for _ in range(CLAIMS):
            writer.attempt([Job(claim, (OWNER, ask))])
        yield (time.perf_counter() - start) / CLAIMS * 1e6
        writer.rollback()


def main() -> None:
    """Build the stores, measure in turns, print medians and ratios."""
    with tempfile.TemporaryDirectory(prefix="tessera-scale-") as folder:
        writers = {}
        for name, (ready, delayed) in SCENES.items():
            sys.stdout.write(f"building: {name}\n")
            writers[name] = store(folder, ready, delayed)
        for label, filters in FILTERS.items():
            takers = {name: costs(writer, filters) for name, writer in writers.items()}
            measured: dict[str, list[float]] = {name: [] for name in SCENES}
            for _ in range(ROUNDS):
                for name, taker in takers.items():
                    measured[name].append(next(taker))
            for taker in takers.values():
                taker.close()
            for writer in writers.values():
                writer.rollback()
            base = median(measured["1,000 ready"])
            sys.stdout.write(f"\nclaim, {label}\n")
            for name, times in measured.items():
                sys.stdout.write(
                    f"  {name:38} best {min(times):7.1f}  median {median(times):7.1f} us   "
                    f"{median(times) / base:5.2f} x\n"
                )


def median(times: list[float]) -> float:
    """The middle one."""
    return sorted(times)[len(times) // 2]


if __name__ == "__main__":
    main()
