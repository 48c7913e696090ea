"""The in-process store: one SQLite file, a clock that moves when the suite says so, repeatable chance."""

from __future__ import annotations

import random
import tempfile
from dataclasses import replace
from pathlib import Path

import tessera
from conformance.backend import Backend
from tessera.library import Tessera
from tessera.runtime import Runtime
from tessera.testing import World, open_on_loop


class StoreBackend(Backend):
    """A store in this process. Restarting it closes the file and opens it again at the same instant."""

    def __init__(self) -> None:
        self._home = tempfile.TemporaryDirectory(prefix="tessera-conformance-")
        self._world = World()
        # Waits must be seen to vary within their bounds, so chance is drawn here, and the same in every run.
        self._runtime = replace(self._world.runtime(), uniform=random.Random(6).uniform)
        self.client = self._opened()

    def pass_seconds(self, seconds: float) -> None:
        self._world.pass_seconds(seconds)

    def restart(self) -> None:
        self.client.close()
        self.client = self._opened()

    def close(self) -> None:
        self.client.close()
        self._home.cleanup()

    def _opened(self) -> Tessera:
        return self._open(str(Path(self._home.name) / "tessera.db"), runtime=self._runtime)

    @staticmethod
    def _open(path: str, *, runtime: Runtime) -> Tessera:
        return tessera.open(path, runtime=runtime)


class LoopBackend(StoreBackend):
    """The same on the engine that serves event loops, where verbs share commits."""

    @staticmethod
    def _open(path: str, *, runtime: Runtime) -> Tessera:
        return open_on_loop(path, runtime=runtime)
