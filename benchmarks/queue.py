"""Durable claim + submit pairs: callers on the event loop, the library, threads and batches, against a plain
SQLite loop in the same run.

    python -m benchmarks.queue [ROUNDS]

Everything is measured in turns, and the disk's rate of syncs is printed beside it: where a sync is slow,
group commit gains more, where the machine is slow, the work of a verb counts more. Ratios are of medians.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tessera
from benchmarks import plain
from tessera.models import Claim, Lease, Raw, Submit
from tessera.rules.grants import OWNER
from tessera.runtime import real_runtime
from tessera.storage.loop import LoopEngine
from tessera.storage.port import EngineOnLoop
from tessera.storage.sqlite import Writer
from tessera.surface import SURFACE

SECONDS = 1.0
TASKS = 60_000
OUTPUT = Raw(plain.OUTPUT.encode())
VALUE = json.loads(plain.OUTPUT)
CLAIM, SUBMIT = SURFACE["claim"].run(), SURFACE["submit"].run()
ADD = """insert into tasks (task_id, queue, lane, state, priority, created_at, updated_at)
  with recursive g (i) as (select 1 union all select i + 1 from g where i < ?1)
  select 't' || printf('%08d', i), 1, 1 + i % 3, 0, i % 5, ?2 + i, ?2 from g"""


def fill(path: Path, tasks: int) -> None:
    """A store with one queue of ready tasks in three lanes."""
    from tessera.steps import briefs

    with tessera.open(str(path)) as store:
        store.define_queue("q", lease_seconds=3_600, heartbeat_seconds=600)
    writer = Writer(str(path), real_runtime())
    execute = writer.execute
    execute("begin")
    for lane in range(1, 4):
        execute("insert into lanes values (?, 1, ?, 0)", (lane, f"k{lane}"))
    execute(ADD, (tasks, writer.clock.instant() - 2 * tasks))
    execute(
        "insert into briefs (serial, sha256, brief) select serial, ?, ? from tasks",
        (briefs.digest(plain.BRIEF), plain.BRIEF),
    )
    execute("update counts set ready = ?", (tasks,))
    execute("commit")
    execute("pragma wal_checkpoint(truncate)").fetchall()
    writer.close()


def disk(folder: Path) -> float:
    """Syncs a second of a small append."""
    handle = os.open(folder / "disk", os.O_RDWR | os.O_CREAT)
    end, done = time.perf_counter() + 0.5, 0
    while time.perf_counter() < end:
        os.write(handle, b"x" * 4096)
        os.fdatasync(handle)
        done += 1
    os.close(handle)
    return done / 0.5


async def on_loop(path: Path, callers: int, times: list[float]) -> int:
    """Pairs from callers of one event loop."""
    engine = LoopEngine(str(path), real_runtime(), asyncio.get_running_loop())
    done = await pairs_of(engine, callers, SECONDS, times)
    engine.close()
    return done


async def pairs_of(engine: EngineOnLoop, callers: int, seconds: float, times: list[float]) -> int:
    """Pairs from callers that each wait for their durable answers, on any engine."""
    end, done = time.perf_counter() + seconds, 0

    async def call(name: str) -> None:
        nonlocal done
        while (start := time.perf_counter()) < end:
            lease = await engine.submit(CLAIM, OWNER, Claim(queue="q", worker=name))
            middle = time.perf_counter()
            assert isinstance(lease, Lease)
            ask = Submit(
                task_id=lease.task_id, fencing_token=lease.fencing_token, output=OUTPUT,
                idempotency_key=f"{lease.task_id}:{lease.fencing_token}",
            )  # fmt: skip
            await engine.submit(SUBMIT, OWNER, ask)
            times.append(middle - start)
            times.append(time.perf_counter() - middle)
            done += 1

    await asyncio.gather(*(call(f"w{n}") for n in range(callers)))
    return done


def loop(path: Path, callers: int, times: list[float]) -> int:
    """The same, with a loop of its own."""
    return asyncio.run(on_loop(path, callers, times))


def pair(store: tessera.Tessera) -> None:
    """A claim and its submit through the synchronous library."""
    lease = store.claim("q", "w")
    store.submit(lease.task_id, lease.fencing_token, VALUE, f"{lease.task_id}:{lease.fencing_token}")


def batch(store: tessera.Tessera, size: int) -> int:
    """The same for so many tasks at once; how many there were."""
    asks = [
        dict(task_id=lease.task_id, fencing_token=lease.fencing_token, output=VALUE,
             idempotency_key=f"{lease.task_id}:{lease.fencing_token}")
        for lease in store.claim_batch("q", "w", size)
    ]  # fmt: skip
    store.submit_batch(asks)
    return len(asks)


def library(store: tessera.Tessera, end: float) -> int:
    """Pairs one at a time."""
    done = 0
    while time.perf_counter() < end:
        pair(store)
        done += 1
    return done


def library_threads(path: Path, number: int) -> int:
    """The same from several threads of one open store."""
    done = [0] * number
    with tessera.open(str(path)) as store:
        end = time.perf_counter() + SECONDS

        def work(index: int) -> None:
            done[index] = library(store, end)

        workers = [threading.Thread(target=work, args=(index,)) for index in range(number)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    return sum(done)


def library_batches(path: Path, size: int) -> int:
    """Batches through the synchronous library."""
    done = 0
    with tessera.open(str(path)) as store:
        end = time.perf_counter() + SECONDS
        while time.perf_counter() < end:
            done += batch(store, size)
    return done


def library_alone(path: Path) -> int:
    """One caller."""
    with tessera.open(str(path)) as store:
        return library(store, time.perf_counter() + SECONDS)


def plainly(path: Path, synchronous: str, run: Callable[[Any, float], int]) -> int:
    """A scene of the yardstick on one connection."""
    connection = plain.connect(path, synchronous)
    done = run(connection, time.perf_counter() + SECONDS)
    connection.close()
    return done


class Table:
    """Rates and CPU by scene, a value a round."""

    def __init__(self) -> None:
        self.rates: dict[str, list[float]] = defaultdict(list)
        self.cpu: dict[str, list[float]] = defaultdict(list)
        self.times: dict[str, list[float]] = defaultdict(list)

    def measure(self, name: str, scene: Callable[..., int], *args: Any) -> None:
        """Run a scene once."""
        wall, cpu = time.perf_counter(), time.process_time()
        done = scene(*args)
        self.rates[name].append(done / (time.perf_counter() - wall))
        self.cpu[name].append((time.process_time() - cpu) / done * 1e6)

    def rate(self, name: str) -> float:
        """The median rate, pairs a second."""
        return median(self.rates[name])

    def show(self) -> None:
        """Every scene: pairs a second, CPU a pair, and how long a verb took."""
        for name, rates in self.rates.items():
            cpu, times = median(self.cpu[name]), sorted(self.times[name])
            line = f"  {name:32} {median(rates):9,.0f} pairs/s   {cpu:7.1f} us CPU a pair"
            if times:
                middle, late = times[len(times) // 2] * 1e3, times[int(len(times) * 0.99)] * 1e3
                line += f"   p50 {middle:7.2f}  p99 {late:7.2f} ms"
            sys.stdout.write(line + "\n")


def median(values: list[float]) -> float:
    """The middle one."""
    return sorted(values)[len(values) // 2]


def one_round(table: Table, folder: Path) -> None:
    """Every scene once, each on a fresh store."""
    fresh = iter(range(1_000))

    def ours() -> Path:
        path = folder / f"ours-{next(fresh)}.db"
        fill(path, TASKS)
        return path

    def theirs() -> Path:
        path = folder / f"plain-{next(fresh)}.db"
        plain.fill(path, TASKS * 2)
        return path

    path = theirs()
    table.measure("plain loop", plainly, path, "full", plain.pairs)
    table.measure("plain loop, synchronous off", plainly, path, "off", plain.pairs)
    table.measure("plain, batches of 100", plainly, path, "full", plain.batches)
    table.measure("plain loop, 8 threads", plain.threads, theirs(), SECONDS, 8)
    for callers in (1, 8, 64, 256):
        name = f"loop, {callers} callers"
        table.measure(name, loop, ours(), callers, table.times[name])
    table.measure("library, 1 caller", library_alone, ours())
    table.measure("library, 8 threads", library_threads, ours(), 8)
    table.measure("library, batches of 100", library_batches, ours(), 100)


def main(rounds: int) -> None:
    """Measure in turns, then print what was measured and the ratios."""
    table, syncs = Table(), []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory(prefix="tessera-queue-", dir=".") as folder:
            syncs.append(disk(Path(folder)))
            one_round(table, Path(folder))
    sys.stdout.write(
        f"disk: {median(syncs):,.0f} fdatasync a second; medians of {rounds} rounds of {SECONDS} s\n\n"
    )
    table.show()
    base = table.rate("plain loop")
    cpu = median(table.cpu["loop, 64 callers"]) / median(table.cpu["plain loop, synchronous off"])
    batch = table.rate("library, batches of 100")
    for label, ratio, goal in (
        ("64 callers / plain loop", table.rate("loop, 64 callers") / base, "at least 2"),
        ("CPU of 64 callers / plain loop, synchronous off", cpu, "at most 4"),
        ("library, 1 caller / plain loop", table.rate("library, 1 caller") / base, "at least 0.4"),
        ("library, 8 threads / plain loop, 8 threads",
         table.rate("library, 8 threads") / table.rate("plain loop, 8 threads"), "at least 1.2"),
        ("batches of 100 / plain batches", batch / table.rate("plain, batches of 100"), "at least 0.2"),
        ("batches of 100 / own 64 callers", batch / table.rate("loop, 64 callers"), "at least 2"),
    ):  # fmt: skip
        sys.stdout.write(f"\n{label:50} {ratio:6.2f}   ({goal})")
    sys.stdout.write("\n")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3)
