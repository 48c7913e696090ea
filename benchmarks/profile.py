"""Where a claim and a submit spend their time.

    python -m benchmarks.profile

First on a memory disk, where nothing waits: pairs by one caller of the library and by batches of 100, and how
much of each is begin, commit and every statement, rows built included; the rest is Python. Then on the disk
of this folder: one caller while the cores may fall asleep in its waits, and while a process of the lowest
priority keeps them awake; and eight threads, on all cores and on one. Linux only: other systems have no such
scheduling.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import wraps
from pathlib import Path
from typing import Any

import tessera
from benchmarks import plain, queue
from tessera.storage.prepared import Prepared
from tessera.storage.sqlite import Writer

MEMORY_DISK = "/dev/shm"
PAIRS, SIZE, ROUNDS = 5_000, 100, 3
BUSY_SECONDS_MAX = 60


class Spent:
    """Seconds by name, each without what it calls that has a name of its own."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self._inner = [0.0]

    def timed(self, call: Callable[..., Any], name: Callable[[Any], str]) -> Callable[..., Any]:
        """The same method, timed under the name that its object has."""

        @wraps(call)
        def run(itself: Any, *args: Any) -> Any:
            self._inner.append(0.0)
            start = time.perf_counter()
            try:
                return call(itself, *args)
            finally:
                took = time.perf_counter() - start
                self.seconds[name(itself)] += took - self._inner.pop()
                self._inner[-1] += took

        return run


@contextlib.contextmanager
def watched() -> Iterator[Spent]:
    """Every statement, begin and commit of this process is timed."""
    spent, before = Spent(), []
    for owner, methods, name in (
        (Prepared, ("one", "all", "write", "save", "save_all"), lambda statement: statement.name),
        (Writer, ("begin",), lambda _: "(begin)"),
        (Writer, ("commit",), lambda _: "(commit, with counts and the log)"),
    ):
        for method in methods:
            before.append((owner, method, getattr(owner, method)))
            setattr(owner, method, spent.timed(getattr(owner, method), name))
    try:
        yield spent
    finally:
        for owner, method, call in before:
            setattr(owner, method, call)


def alone(store: tessera.Tessera) -> None:
    """Pairs, one after the other."""
    for _ in range(PAIRS):
        queue.pair(store)


def in_batches(store: tessera.Tessera) -> None:
    """As many pairs, a hundred at a time."""
    for _ in range(PAIRS // SIZE):
        queue.batch(store, SIZE)


def statements(title: str, run: Callable[[tessera.Tessera], None], folder: Path) -> None:
    """Print where the time of some pairs goes."""
    path = folder / "store.db"
    queue.fill(path, 3 * PAIRS)
    with tessera.open(str(path)) as store:
        run(store)
        start = time.perf_counter()
        run(store)
        whole = (time.perf_counter() - start) / PAIRS * 1e6
        with watched() as spent:
            run(store)
    path.unlink()
    named = sum(spent.seconds.values()) / PAIRS * 1e6
    sys.stdout.write(f"\n{title}: {whole:.0f} us a pair\n")
    for name, seconds in sorted(spent.seconds.items(), key=lambda one: -one[1]):
        sys.stdout.write(f"  {seconds / PAIRS * 1e6:8.1f} us  {name}\n")
    sys.stdout.write(f"  {whole - named:8.1f} us  the rest, which is Python\n")


def _spin(core: int) -> None:
    os.sched_setaffinity(0, {core})
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    end = time.monotonic() + BUSY_SECONDS_MAX
    while time.monotonic() < end:
        pass


@contextlib.contextmanager
def awake() -> Iterator[None]:
    """No core falls asleep: each has something to do whenever nobody else wants it."""
    spinners = [multiprocessing.Process(target=_spin, args=(core,)) for core in os.sched_getaffinity(0)]
    for spinner in spinners:
        spinner.start()
    try:
        yield
    finally:
        for spinner in spinners:
            spinner.terminate()
            spinner.join()


@contextlib.contextmanager
def on_one_core() -> Iterator[None]:
    """Every thread started here runs on the same core."""
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(cores)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)


def waits(folder: Path) -> None:
    """Print what sleeping cores and many cores do to callers that wait for the disk."""
    table = queue.Table()
    ways = {"as it is": contextlib.nullcontext, "cores kept awake": awake, "on one core": on_one_core}
    for _ in range(ROUNDS):
        for way, surroundings in ways.items():
            ours, theirs = folder / "ours.db", folder / "plain.db"
            queue.fill(ours, queue.TASKS)
            plain.fill(theirs, queue.TASKS)
            with surroundings():
                table.measure(f"plain loop, {way}", queue.plainly, theirs, "full", plain.pairs)
                table.measure(f"library, 1 caller, {way}", queue.library_alone, ours)
                table.measure(f"plain loop, 8 threads, {way}", plain.threads, theirs, queue.SECONDS, 8)
                table.measure(f"library, 8 threads, {way}", queue.library_threads, ours, 8)
            for file in folder.iterdir():
                file.unlink()
    sys.stdout.write(f"\non the disk, medians of {ROUNDS} rounds\n")
    table.show()
    for scene in ("1 caller", "8 threads"):
        for way in ways:
            base = f"plain loop, {way}" if scene == "1 caller" else f"plain loop, {scene}, {way}"
            ratio = table.rate(f"library, {scene}, {way}") / table.rate(base)
            sys.stdout.write(f"\nlibrary, {scene} / plain loop, {way:20} {ratio:6.2f}")
    sys.stdout.write("\n")


def main() -> None:
    """Print everything."""
    with tempfile.TemporaryDirectory(prefix="tessera-profile-", dir=MEMORY_DISK) as folder:
        statements("one caller", alone, Path(folder))
        statements(f"batches of {SIZE}", in_batches, Path(folder))
    with tempfile.TemporaryDirectory(prefix="tessera-profile-", dir=".") as folder:
        waits(Path(folder))


if __name__ == "__main__":
    main()
