"""What records cost: compare-and-set from many callers against a plain SQLite loop, and one put as the store
grows.

    python -m benchmarks.store [ROUNDS] [KEYS]

The yardstick of the first is the least that would be safe: two bare statements in a transaction of their own,
synced, with no log and no check of a key. Everything is measured in turns; ratios are of medians. The second
times a whole transaction but for its disk sync, which is the same at every size.
"""

from __future__ import annotations

import asyncio
import random
import sqlite3
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

import tessera
from benchmarks import plain
from tessera.models import PutRecord, Raw, RecordVersion
from tessera.rules.grants import OWNER
from tessera.runtime import real_runtime
from tessera.storage.loop import LoopEngine
from tessera.storage.sqlite import Job, Writer
from tessera.surface import SURFACE
from tessera.verbs.records import put_record

SECONDS = 1.0
CALLERS = 16
VALUE = {"n": 1, "note": "x" * 300}
TEXT = '{"n":1,"note":"' + "x" * 300 + '"}'
RAW = Raw(TEXT.encode())
PUT = SURFACE["put_record"].run()
SIZES = (1_000, 1_000_000)
PUTS = 1_000

SCHEMA = """
create table heads (store text, key text, version integer, primary key (store, key)) without rowid;
create table versions (store text, key text, version integer, value text, created_at integer,
                       primary key (store, key, version)) without rowid;
insert into heads values ('s', 'k', 0);
"""
ADD_VERSIONS = """insert into records (store, key, version, value, created_at)
  with recursive g (i) as (select 0 union all select i + 1 from g where i + 1 < ?1)
  select 's', printf('key-%08d', i), 1, ?2, 0 from g where i % 3 = ?3"""
ADD_HEADS = """insert into record_heads (store, key, version)
  with recursive g (i) as (select 0 union all select i + 1 from g where i + 1 < ?1)
  select 's', printf('key-%08d', i), 1 from g where i % 3 = ?2"""


def plain_loop(path: Path) -> int:
    """Compare-and-set with two statements, one after the other on one connection."""
    connection = plain.connect(path, "full")
    connection.executescript(SCHEMA)
    done, end = 0, time.perf_counter() + SECONDS
    while time.perf_counter() < end:
        _plain_put(connection, done)
        done += 1
    connection.close()
    return done


def _plain_put(connection: sqlite3.Connection, version: int) -> None:
    connection.execute("begin immediate")
    changed = connection.execute(
        "update heads set version = version + 1 where store = 's' and key = 'k' and version = ?", (version,)
    )
    assert changed.rowcount == 1
    connection.execute("insert into versions values ('s', 'k', ?, ?, 0)", (version + 1, TEXT))
    connection.execute("commit")


async def _on_loop(path: Path) -> int:
    engine = LoopEngine(str(path), real_runtime(), asyncio.get_running_loop())
    end, done = time.perf_counter() + SECONDS, 0

    async def call(key: str) -> None:
        nonlocal done
        version = None
        while time.perf_counter() < end:
            ask = PutRecord(store="s", key=key, value=RAW, expected_version=version)
            written = await engine.submit(PUT, OWNER, ask)
            assert isinstance(written, RecordVersion)
            version = written.version
            done += 1

    await asyncio.gather(*(call(f"k{n}") for n in range(CALLERS)))
    engine.close()
    return done


def on_loop(path: Path) -> int:
    """16 callers of one event loop, as a service has them, each with a record of its own."""
    return asyncio.run(_on_loop(path))


def threads(path: Path) -> int:
    """16 threads of one open store, each with a record of its own."""
    done = [0] * CALLERS
    with tessera.open(str(path)) as store:
        end = time.perf_counter() + SECONDS

        def work(index: int) -> None:
            version = None
            while time.perf_counter() < end:
                version = store.put_record("s", f"k{index}", VALUE, version).version
                done[index] += 1

        workers = [threading.Thread(target=work, args=(index,)) for index in range(CALLERS)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    return sum(done)


def alone(path: Path) -> int:
    """One caller of the library, one record."""
    with tessera.open(str(path)) as store:
        done, end = 0, time.perf_counter() + SECONDS
        while time.perf_counter() < end:
            store.put_record("s", "k", VALUE, done or None)
            done += 1
    return done


def batched(path: Path) -> int:
    """One caller of the library, 100 records a batch."""
    with tessera.open(str(path)) as store:
        turn, end = 0, time.perf_counter() + SECONDS
        while time.perf_counter() < end:
            expected = turn or None
            store.put_records(
                [dict(store="s", key=f"k{n}", value=VALUE, expected_version=expected) for n in range(100)]
            )
            turn += 1
    return 100 * turn


WAYS: dict[str, Callable[[Path], int]] = {
    "plain loop, two statements": plain_loop,
    "16 callers on an event loop": on_loop,
    "16 threads of the library": threads,
    "the library, one caller": alone,
    "the library, batches of 100": batched,
}


def rates(folder: Path, rounds: int) -> None:
    """Compare-and-sets a second, in turns."""
    measured: dict[str, list[float]] = defaultdict(list)
    for number in range(rounds):
        for place, (name, way) in enumerate(WAYS.items()):
            measured[name].append(way(folder / f"{number}-{place}.db") / SECONDS)
    base = median(measured["plain loop, two statements"])
    sys.stdout.write("compare-and-set, durable, a second\n")
    for name, found in measured.items():
        sys.stdout.write(f"  {name:32} {median(found):9,.0f}   {median(found) / base:5.2f} x\n")


def filled(path: Path, keys: int) -> Writer:
    """A store that holds so many records. They come in three passes, so that pages are about as full as when
    keys come in no order.
    """
    writer = Writer(str(path), real_runtime())
    writer.execute("pragma synchronous = off")
    writer.execute("begin")
    for part in range(3):
        writer.execute(ADD_VERSIONS, (keys, TEXT, part))
        writer.execute(ADD_HEADS, (keys, part))
    writer.execute("commit")
    writer.execute("pragma wal_checkpoint(truncate)").fetchall()
    return writer


def puts(writer: Writer, keys: int, *, new: bool) -> Iterator[float]:
    """Microseconds of one put after the other, each in a transaction of its own, on keys in no order."""
    chance = random.Random(7)
    for number in chance.sample(range(keys), PUTS):
        key = f"key-{number:08d}" + ("-new" if new else "")
        ask = PutRecord(store="s", key=key, value=RAW, expected_version=None if new else 1)
        job = Job(put_record, (OWNER, ask))
        start = time.perf_counter()
        writer.begin()
        writer.attempt([job])
        writer.commit()
        yield (time.perf_counter() - start) * 1e6
        assert isinstance(job.outcome, RecordVersion)


def growth(folder: Path, sizes: tuple[int, ...]) -> None:
    """What one put costs in stores of these sizes, in turns."""
    writers = {keys: filled(folder / f"grown-{keys}.db", keys) for keys in sizes}
    for new in (False, True):
        takers = {keys: puts(writer, keys, new=new) for keys, writer in writers.items()}
        measured: dict[int, list[float]] = {keys: [] for keys in sizes}
        for _ in range(PUTS):
            for keys, taker in takers.items():
                measured[keys].append(next(taker))
        base = median(measured[sizes[0]])
        sys.stdout.write(f"put_record, {'a new key' if new else 'the next version of a key'}\n")
        for keys, times in measured.items():
            sys.stdout.write(
                f"  {keys:>12,} keys   median {median(times):7.1f} us   {median(times) / base:5.2f} x\n"
            )
    for writer in writers.values():
        writer.close()


def main(rounds: int = 5, keys: int = SIZES[-1]) -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory(prefix="tessera-records-") as folder:
        rates(Path(folder), rounds)
        growth(Path(folder), (SIZES[0], keys))


if __name__ == "__main__":
    main(*(int(one) for one in sys.argv[1:3]))
