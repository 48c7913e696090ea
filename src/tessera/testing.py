"""For tests, yours and ours: a scripted runtime, a store that lasts one test, a process that dies on cue.

world = World()
with temporary_store(world) as store:
    store.define_queue("mail", lease_seconds=10)
    store.enqueue(queue="mail", kind="send", brief={})
    store.claim("mail", "worker-1")
    world.pass_seconds(10)  # the lease lapses; nothing slept
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from tessera.app import open
from tessera.library import Tessera
from tessera.limits import SECOND_US
from tessera.runtime import Runtime

DEATH = 137  # the exit code of a process that died at a crash point


@dataclass
class World:
    """A runtime whose clock moves when told, whose chance is a constant, whose ids count up."""

    now_us: int = 1_800_000_000_000_000
    elapsed_us: int = 0
    u: float = 1.0  # where in its range a drawn number lies: 0 the lowest, 1 the highest
    reached: list[str] = field(default_factory=list)  # the crash points passed, in order
    _numbers: Iterator[int] = field(default_factory=lambda: count(1))

    def pass_seconds(self, seconds: float) -> None:
        """Let time pass, for every store on this world's runtime. A negative number steps the wall clock
        back, as an administrator might; the monotonic clock knows nothing of that.
        """
        self.now_us += int(seconds * SECOND_US)
        self.elapsed_us += max(0, int(seconds * SECOND_US))

    def runtime(self) -> Runtime:
        """The runtime to open a store with."""
        return Runtime(
            now_us=lambda: self.now_us,
            elapsed_us=lambda: self.elapsed_us,
            sleep=self.pass_seconds,
            uniform=lambda low, high: low + (high - low) * self.u,
            token=lambda: f"secret-{next(self._numbers):08d}",
            new_id=lambda prefix: f"{prefix}{next(self._numbers):08d}",
            reach=self.reached.append,
        )


@contextmanager
def temporary_store(world: World | None = None) -> Iterator[Tessera]:
    """A new store in a folder of its own, on a scripted world if one is given. At the end its counts must
    agree with a recount.
    """
    with tempfile.TemporaryDirectory(prefix="tessera-") as folder:
        path = str(Path(folder) / "store.db")
        with open(path, runtime=world.runtime() if world else None) as store:
            yield store
            assert store.counts(recount=True).agree, "counts and recount differ"


def die_at(point: str, command: Sequence[str], *, timeout: float = 60) -> None:
    """Run a command that must die at a crash point (`name` or `name:nth`); fail if it never gets there."""
    died = subprocess.run(  # noqa: S603 - the caller's own command
        command, env=os.environ | {"TESSERA_CRASH_AT": point}, timeout=timeout, check=False
    )
    assert died.returncode == DEATH, f"{point} was never reached: the command ended with {died.returncode}"
