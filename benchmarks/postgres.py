"""Durable claims and submits on PostgreSQL, beside the least that a queue could do there and other queues.

    python -m benchmarks.postgres [ROUNDS] [pairs | claims | snapshot]

One server, which syncs; everything in turns, medians of the rounds, ratios within one run. `claims` measures
only what a claim costs at 1,000 and at 1,000,000 ready tasks, `snapshot` only claims under a snapshot that is
held open. TESSERA_TEST_DSN names another server.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg

import tessera
from benchmarks import plain, postgres_plain
from benchmarks.queue import library, median, pairs_of
from tessera.library import Tessera
from tessera.runtime import real_runtime
from tessera.steps import briefs
from tessera.storage.postgres.engine import PostgresLoopEngine
from tessera.testing_postgres import Server, database

SECONDS = 2.0
TASKS = 40_000
BATCH = 100
DEPTHS = (1_000, 1_000_000)
CLAIMS = 150  # of each depth in a round
SNAPSHOT_CLAIMS = 20_000
ADD = """insert into tasks (task_id, queue, lane, state, priority, created_at, updated_at)
  select 't' || lpad(i::text, 8, '0'), 1, 1 + i %% 3, 0, i %% 5, %(at)s + i, %(at)s
  from generate_series(1, %(tasks)s::int) i"""
DEAD = """select relname, n_live_tup, n_dead_tup from pg_stat_user_tables
  where n_dead_tup > 0 order by n_dead_tup desc limit 5"""


def fill(dsn: str, tasks: int) -> None:
    """A store with one queue of ready tasks in three lanes."""
    with tessera.open(dsn) as store:
        store.define_queue("q", lease_seconds=3_600, heartbeat_seconds=600)
    with psycopg.connect(dsn, autocommit=True) as connection:
        for lane in range(1, 4):
            connection.execute("insert into lanes (lane, queue, kind, effect) values (%s, 1, %s, 0)",
                               (lane, f"k{lane}"))  # fmt: skip
        at = time.time_ns() // 1_000 - 2 * tasks
        connection.execute(ADD, {"at": at, "tasks": tasks})
        connection.execute("insert into briefs select serial, %s, %s from tasks",
                           (briefs.digest(plain.BRIEF), plain.BRIEF))  # fmt: skip
        connection.execute("insert into count_slots (queue, slot, ready) values (1, 0, %s) on conflict "
                           "(queue, slot) do update set ready = excluded.ready", (tasks,))  # fmt: skip
        connection.execute("vacuum analyze")
        connection.execute("checkpoint")


@contextmanager
def server() -> Iterator[str]:
    """The server to measure on."""
    if given := os.environ.get("TESSERA_TEST_DSN"):
        yield given
        return
    with Server(settings={"shared_buffers": "256MB", "max_wal_size": "4GB"}) as own:
        yield own.dsn


def at_once(store: Tessera, callers: int, act: Callable[[Tessera, float], int]) -> float:
    """How often threads that begin together do something in a second, all of them together."""
    done = [0] * callers
    start = time.perf_counter()

    def work(index: int) -> None:
        done[index] = act(store, start + SECONDS)

    threads = [threading.Thread(target=work, args=(index,)) for index in range(callers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(done) / (time.perf_counter() - start)


def batches(store: Tessera, end: float) -> int:
    """Batches of claims and submits."""
    done, output = 0, {"items": [1, 2, 3], "score": 0.5, "summary": "y" * 300}
    while time.perf_counter() < end:
        leases = store.claim_batch("q", "w", BATCH)
        store.submit_batch(
            [
                dict(task_id=lease.task_id, fencing_token=lease.fencing_token, output=output,
                     idempotency_key=f"{lease.task_id}:{lease.fencing_token}")
                for lease in leases
            ]
        )  # fmt: skip
        done += len(leases)
    return done


def ours(dsn: str, callers: int, act: Callable[[Tessera, float], int]) -> float:
    """The rate of threads that share one open store."""
    with database(dsn) as own:
        fill(own, TASKS)
        with tessera.open(own) as store:
            store.claim("q", "first")  # connections and statements are there before the clock runs
            return at_once(store, callers, act)


def node(dsn: str, callers: int) -> float:
    """The rate of callers on one event loop, as a node's requests are."""

    async def run(own: str) -> float:
        engine = PostgresLoopEngine(own, real_runtime(), asyncio.get_running_loop())
        await pairs_of(engine, callers, 0.3, [])  # connections and statements are there before the clock runs
        start = time.perf_counter()
        done = await pairs_of(engine, callers, SECONDS, [])
        rate = done / (time.perf_counter() - start)
        engine.close()
        return rate

    with database(dsn) as own:
        fill(own, TASKS)
        return asyncio.run(run(own))


def side_by_side(dsn: str, rounds: int) -> None:
    """Pairs a second of everybody."""
    from benchmarks import postgres_peers  # an extra that the other measurements do without

    rates: dict[str, list[float]] = {}
    for _ in range(rounds):
        with database(dsn) as theirs:
            postgres_plain.fill(theirs, 4 * TASKS)
            for callers in (8, 64):
                rate = postgres_plain.callers(theirs, SECONDS, callers) / SECONDS
                rates.setdefault(f"bare loop, {callers} callers", []).append(rate)
        with database(dsn) as theirs:  # a fresh one, as ours are
            postgres_plain.fill(theirs, 4 * TASKS)
            rate = postgres_plain.batched(theirs, SECONDS) / SECONDS
            rates.setdefault("bare, batches of 100", []).append(rate)
        for name, rate in postgres_peers.measure(dsn, SECONDS).items():
            rates.setdefault(f"{name}, 8 workers", []).append(rate)
        for callers in (8, 64):
            rates.setdefault(f"Tessera, {callers} callers", []).append(node(dsn, callers))
        rates.setdefault("Tessera, 8 threads (library)", []).append(ours(dsn, 8, library))
        rates.setdefault("Tessera, batches of 100", []).append(ours(dsn, 1, batches))
    rate_of = {name: median(values) for name, values in rates.items()}
    for name, rate in rate_of.items():
        say(f"  {name:28} {rate:9,.0f} tasks/s")
    for label, above, below, wanted in (
        ("8 callers by the bare loop", "Tessera, 8 callers", "bare loop, 8 callers", "at least 0.35"),
        ("64 callers by the bare loop", "Tessera, 64 callers", "bare loop, 64 callers", "at least 0.7"),
        ("batches by bare batches", "Tessera, batches of 100", "bare, batches of 100", "at least 0.3"),
        ("8 callers by procrastinate", "Tessera, 8 callers", "procrastinate, 8 workers", "above 1"),
        ("8 callers by pgqueuer", "Tessera, 8 callers", "pgqueuer, 8 workers", "above 1"),
    ):  # fmt: skip
        say(f"{label:34} {rate_of[above] / rate_of[below]:6.2f}   ({wanted})")


def claims(dsn: str, rounds: int) -> None:
    """What a claim costs at each depth: with its sync, which is the same at every depth, and without."""
    for synced in ("on", "off"):
        with database(dsn) as shallow, database(dsn) as deep:
            stores = []
            for own, depth in zip((shallow, deep), DEPTHS, strict=True):
                fill(own, depth)
                with psycopg.connect(own, autocommit=True) as connection:
                    name = connection.info.dbname
                    connection.execute(f'alter database "{name}" set synchronous_commit = {synced}')
                stores.append(tessera.open(own))
            times: list[list[float]] = [[], []]
            for _ in range(rounds):
                for store, into in zip(stores, times, strict=True):
                    into += timed(store, CLAIMS)
            for store in stores:
                store.close()
            costs = [median(one) * 1e6 for one in times]
            say(f"claim, synchronous_commit {synced:3}: {costs[0]:7.0f} us at {DEPTHS[0]:,} ready, "
                f"{costs[1]:7.0f} us at {DEPTHS[1]:,}: {costs[1] / costs[0]:.2f}  (at most 1.5)")  # fmt: skip


def timed(store: Tessera, number: int) -> list[float]:
    """Seconds of each of so many claims; what was claimed is given back."""
    times, held = [], []
    for _ in range(number):
        start = time.perf_counter()
        lease = store.claim("q", "w")
        times.append(time.perf_counter() - start)
        assert lease is not None
        held.append(lease)
    for lease in held:
        store.release(lease.task_id, lease.fencing_token)
    return times


def snapshot(dsn: str) -> None:
    """Claims while nobody looks, then while one transaction keeps looking at how it was."""
    rates = []
    for is_held in (False, True):
        with database(dsn) as own:
            fill(own, 2 * SNAPSHOT_CLAIMS)
            with tessera.open(own) as store, psycopg.connect(own) as reader:
                if is_held:
                    reader.execute("set transaction isolation level repeatable read")
                    reader.execute("select count(*) from tasks")
                parts = [drained(store, SNAPSHOT_CLAIMS // 4) for _ in range(4)]
                rates.append(SNAPSHOT_CLAIMS / sum(parts))
                say(f"{SNAPSHOT_CLAIMS:,} claims, snapshot {'held' if is_held else 'not held'}: "
                    f"{rates[-1]:,.0f} claims/s; seconds of each quarter "
                    + ", ".join(f"{part:.1f}" for part in parts))  # fmt: skip
                with psycopg.connect(own, autocommit=True) as connection:
                    connection.execute("select pg_stat_force_next_flush()")
                    for name, live, dead in connection.execute(DEAD).fetchall():
                        say(f"    {name:14} {live:9,} rows, {dead:9,} dead")
    say(f"slower under a held snapshot by {rates[0] / rates[1]:5.2f}   (at most 1.5)")


def drained(store: Tessera, number: int) -> float:
    """Seconds that so many claims from 16 threads take."""
    left = iter(range(number))
    lock = threading.Lock()

    def work() -> None:
        while True:
            with lock:
                if next(left, None) is None:
                    return
            assert store.claim("q", "w") is not None

    start = time.perf_counter()
    threads = [threading.Thread(target=work) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return time.perf_counter() - start


def say(line: str) -> None:
    """Tell at once, for some of this takes minutes."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main(rounds: int, only: str | None) -> None:
    """Measure all, or what was named."""
    acts: dict[str, Callable[[str], Any]] = {
        "pairs": lambda dsn: side_by_side(dsn, rounds),
        "claims": lambda dsn: claims(dsn, rounds),
        "snapshot": snapshot,
    }
    with server() as dsn:
        with psycopg.connect(dsn) as connection:
            said = connection.execute("select version(), current_setting('fsync'), "
                                      "current_setting('synchronous_commit')").fetchone()  # fmt: skip
        assert said is not None
        say(f"{said[0].split(' on ')[0]}, fsync {said[1]}, synchronous_commit {said[2]}; medians of {rounds}")
        for name, act in acts.items():
            if only in (None, name):
                act(dsn)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3, sys.argv[2] if len(sys.argv) > 2 else None)
