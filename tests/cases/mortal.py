"""A store whose process dies on cue: what is on the disk at that moment is all that the next one finds."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

from cases.races import attempt
from verbs.bench import Bench

import tessera

_numbers = count(1)


class Mortal:
    """Opens a bench's store so that it can die at a crash point of a verb, and go on in a new process."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self._left = 0
        self._remains: Path | None = None
        self._open()

    def dies_in(self, act: Callable[[], Any], nth: int) -> bool:
        """Do something and die at the nth crash point on the way. Whether it came that far; if so, the bench
        now stands on what was left, and nobody has heard an answer.
        """
        self._left, self._remains = nth, None
        attempt(act)
        self._left = 0
        if self._remains is None:
            return False
        self.bench.store.close()
        self.bench.path = self._remains
        self._open()
        return True

    def _open(self) -> None:
        runtime = replace(self.bench.world.runtime(), reach=self._reach)
        self.bench.store = tessera.open(str(self.bench.path), runtime=runtime)

    def _reach(self, _point: str) -> None:
        self._left -= 1
        if self._left == 0:
            self._remains = remains(self.bench.path)


def remains(path: Path) -> Path:
    """A copy of a store as its process would leave it if it were killed now: the file and its log. By another
    process, for closing a file of one's own would end one's locks on it.
    """
    copy = path.with_name(f"remains-{next(_numbers)}.db")
    for suffix in ("", "-wal"):
        if os.path.exists(f"{path}{suffix}"):
            subprocess.run(["cp", f"{path}{suffix}", f"{copy}{suffix}"], check=True)
    return copy
