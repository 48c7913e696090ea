"""Opening and closing while others are at work."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest
from crash.wholeness import assert_whole

import tessera
from race import closing
from race.crew import HOLDS_UP_SECONDS, at_once, processes, rounds
from tessera.errors import Unavailable
from tessera.models import AskCounts
from tessera.rules.grants import OWNER
from tessera.runtime import real_runtime
from tessera.storage.loop import LoopEngine
from tessera.surface import SURFACE

OPEN_AND_CLOSE = """
import sys, tessera
for n in range(int(sys.argv[3])):
    with tessera.open(sys.argv[1]) as store:
        store.define_queue("q")
        store.enqueue(queue="q", kind="k", brief={}, task_id=f"{sys.argv[2]}.{n}")
"""


def test_eight_processes_make_one_store(tmp_path: Path) -> None:
    """Processes that open a new file at once make one store of it, and all can use it."""
    for number in rounds(2):
        path = str(tmp_path / f"{number}.db")
        with processes(8, path, tmp_path) as crew:
            for process in crew:
                process.tell("reap")
            for process in crew:
                process.done()
        with tessera.open(path) as store:
            store.define_queue("q")
            assert store.counts(recount=True).agree
        assert_whole(path)


def test_processes_that_come_and_go(tmp_path: Path) -> None:
    """Processes that open, write and close again and again lose nothing, though the last out cleans up."""
    path = str(tmp_path / "store.db")
    times = len(rounds(15))
    crew = [
        subprocess.Popen([sys.executable, "-c", OPEN_AND_CLOSE, path, str(n), str(times)]) for n in range(4)
    ]
    assert [process.wait(HOLDS_UP_SECONDS * 5) for process in crew] == [0] * 4
    with tessera.open(path) as store:
        assert store.counts(recount=True).queues["q"].ready == 4 * times
    assert_whole(path)


def test_threads_make_one_store(tmp_path: Path) -> None:
    """Threads that open a new file at once, each for itself, make one store of it, and none is refused."""

    def race(path: str) -> None:
        stores = at_once(8, lambda _: tessera.open(path))
        at_once(8, lambda n: stores[n].define_queue("q"))
        assert [len(store.queues()) for store in stores] == [1] * 8
        for store in stores:
            store.close()

    for number in rounds(10):
        race(str(tmp_path / f"{number}.db"))


def test_closing_leaves_nobody_waiting(tmp_path: Path) -> None:
    """A store that is closed under threads that read and write in it answers each, or says that it is closed:
    nobody waits for ever, nothing answered is lost, and the process lives on.
    """
    command = [sys.executable, closing.__file__, str(tmp_path), str(len(rounds(10)))]
    assert subprocess.run(command, timeout=HOLDS_UP_SECONDS * 10, check=False).returncode == 0


def test_a_closed_engine_says_so_on_its_loop(path: str) -> None:
    """On an event loop, too, verbs and looks that come after the close are told that the store is closed."""

    async def come_late() -> None:
        engine = LoopEngine(path, real_runtime(), asyncio.get_running_loop())
        assert (await engine.read(SURFACE["counts"].run(), OWNER, AskCounts())).queues.keys() == {"q"}
        engine.close()
        for call in (engine.read, engine.submit):
            with pytest.raises(Unavailable, match="closed"):
                await call(SURFACE["counts"].run(), OWNER, AskCounts())

    asyncio.run(come_late())
