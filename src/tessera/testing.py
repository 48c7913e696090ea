"""For tests, yours and ours: a scripted runtime, a store that lasts one test, a process that dies on cue.

world = World()
with temporary_store(world) as store:
    store.define_queue("mail", lease_seconds=10)
    store.enqueue(queue="mail", kind="send", brief={})
    store.claim("mail", "worker-1")
    world.pass_seconds(10)  # the lease lapses; nothing slept
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from tessera.app import DirectDoor, open
from tessera.library import Tessera
from tessera.limits import SECOND_US
from tessera.runtime import Runtime, real_runtime
from tessera.storage.loop import LoopEngine
from tessera.storage.port import Verb
from tessera.upkeep import Keeper

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
            scripted=True,
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


class LoopThread:
    """The event loop's engine behind a thread, so that synchronous callers meet it as a service's do."""

    def __init__(self, path: str, runtime: Runtime) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="tessera-loop", daemon=True)
        self._thread.start()
        try:
            self.engine = self._do(lambda: LoopEngine(path, runtime, self._loop))
        except BaseException:
            self._stop()
            raise

    def submit(self, verb: Verb, *args: Any) -> Future[Any]:
        """Run a verb in whatever transaction is open on the loop."""
        return asyncio.run_coroutine_threadsafe(self._await(self.engine.submit, verb, *args), self._loop)

    def read(self, look: Verb, *args: Any) -> Any:
        """Run a look beside the writer."""
        return asyncio.run_coroutine_threadsafe(
            self._await(self.engine.read, look, *args), self._loop
        ).result()

    def close(self) -> None:
        """Let go of the store and end the thread. A second call does nothing."""
        if self._thread.is_alive():
            self._do(self.engine.close)
            self._stop()

    def _do(self, act: Callable[[], Any]) -> Any:
        async def on_loop() -> Any:
            return act()

        return asyncio.run_coroutine_threadsafe(on_loop(), self._loop).result()

    def _stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    @staticmethod
    async def _await(call: Callable[..., Any], *args: Any) -> Any:
        return await call(*args)


def open_on_loop(path: str, *, runtime: Runtime | None = None) -> Tessera:
    """Open a store as `tessera.open` does, but on the engine that serves event loops: verbs of concurrent
    callers share commits.
    """
    runtime = runtime or real_runtime()
    engine = LoopThread(path, runtime)
    return Tessera(DirectDoor(engine, runtime, Keeper(path, engine, runtime)))


def die_at(point: str, command: Sequence[str], *, timeout: float = 60) -> None:
    """Run a command that must die at a crash point (`name` or `name:nth`); fail if it never gets there."""
    died = subprocess.run(  # noqa: S603 - the caller's own command
        command, env=os.environ | {"TESSERA_CRASH_AT": point}, timeout=timeout, check=False
    )
    assert died.returncode == DEATH, f"{point} was never reached: the command ended with {died.returncode}"


@dataclass(frozen=True)
class Service:
    """`tessera serve`, running."""

    url: str
    process: subprocess.Popen[bytes]

    def end(self, number: int = signal.SIGTERM, *, timeout: float = 60) -> int:
        """Send it a signal and wait for its end; the exit code."""
        self.process.send_signal(number)
        return self.process.wait(timeout)


@contextmanager
def serving(store: str | Path, *, port: int = 0, log: str | Path = os.devnull) -> Iterator[Service]:
    """A store served in a process of its own, on the loopback and a free port unless one is named. It logs to
    a file; no setting of this process reaches it. Told to end at the end, if it has not ended by then.
    """
    command = [sys.executable, "-m", "tessera.cli.main", "serve", "--store", str(store), "--port", str(port)]
    env = {name: value for name, value in os.environ.items() if not name.startswith("TESSERA_")}
    with Path(log).open("ab") as file:
        process = subprocess.Popen(  # noqa: S603 - ourselves
            command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=file
        )
    assert process.stdout is not None
    with process.stdout:
        try:
            url = process.stdout.readline().decode().strip()
            assert url.startswith("http"), f"the service did not start; see {log}"
            service = Service(url, process)
            yield service
        finally:
            if process.poll() is None:
                process.terminate()
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
