"""A process that forks while its store is in use and cannot stand still."""

from __future__ import annotations

import os
import threading

import pytest
from storage.forked import Child, holds, put

import tessera
from tessera.app import DirectDoor
from tessera.library import Tessera
from tessera.runtime import Runtime, real_runtime
from tessera.storage.direct import DirectEngine
from tessera.storage.port import Transaction
from tessera.testing import LoopThread

BARRED = "Unavailable: this process was forked from one that had the store open and was using it"


def test_a_child_of_a_service(path: str) -> None:
    """A store that an event loop works in cannot stand still for a fork: the child may neither use it nor
    open the file, under any name, and is told to start afresh; its parent notices nothing.
    """
    engine = LoopThread(path, real_runtime())
    loop_store = Tessera(DirectDoor(engine, real_runtime()))
    put(loop_store), loop_store.counts()
    alias = f"{path}-alias"
    os.symlink(path, alias)

    def tries(name: str) -> str:
        with tessera.open(name) as own:
            return put(own)

    assert Child(lambda _: tries(path)).said().startswith(BARRED)
    assert Child(lambda _: tries(alias)).said().startswith(BARRED)
    refusal = Child(lambda _: str(engine.engine.submit(None).exception().detail)).said()
    assert refusal.startswith("a forked process cannot use its parent's store")
    assert Child(lambda _: str(engine.engine.close())).said() == "None"
    put(loop_store), loop_store.counts()
    loop_store.close()
    holds(path, 3)


def test_a_fork_inside_a_look(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread that forks while it reads holds a connection that cannot be closed in the child, so the child
    may not open the file; another file is open to it.
    """
    monkeypatch.setattr("tessera.storage.readers.LOOK_SECONDS_MAX", 0.01)
    other = f"{path}-other"

    def opens(name: str) -> str:
        with tessera.open(name) as own:
            own.define_queue("q")
            return put(own)

    def forks(_tx: Transaction, _runtime: Runtime) -> list[str]:
        return [Child(lambda _, name=name: opens(name)).said() for name in (path, other)]

    engine = DirectEngine(path, real_runtime())
    said = engine.read(forks)
    assert said[0].startswith(BARRED)
    assert said[1] == "put"
    engine.close()
    holds(path, 1)


def test_two_threads_fork_at_once(path: str) -> None:
    """Forks that meet stand in line: every child is refused, and the parent's store works on."""
    with tessera.open(path) as store:
        said: list[str] = []
        crew = [
            threading.Thread(target=lambda: said.extend(Child(lambda _: put(store)).said() for _ in range(5)))
            for _ in range(4)
        ]
        for thread in crew:
            thread.start()
        put(store)
        for thread in crew:
            thread.join()
        assert len(said) == 20
        assert all(one.startswith("Unavailable: a forked process cannot use") for one in said), said
        put(store)
    holds(path, 3)
