"""Threads and processes that start at the same moment, and what each was answered."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import tessera
from tessera.errors import TesseraError
from tessera.models import Event

LONG = os.environ.get("TESSERA_LONG") == "1"
HOLDS_UP_SECONDS = 60  # a barrier or a process that takes longer is stuck
WORKER = str(Path(__file__).parent / "worker.py")


def rounds(short: int) -> range:
    """How often a race is run: ten times as often in the long form."""
    return range(short * 10 if LONG else short)


def together(acts: Sequence[Callable[[], Any]]) -> list[Any]:
    """What each act answers when all start at once: its answer, or the code of its refusal."""
    barrier = threading.Barrier(len(acts))

    def start(act: Callable[[], Any]) -> Any:
        barrier.wait(HOLDS_UP_SECONDS)
        return outcome(act)

    with ThreadPoolExecutor(len(acts)) as pool:
        return list(pool.map(start, acts))


def at_once(number: int, act: Callable[[int], Any]) -> list[Any]:
    """The same for so many threads that do the same, each knowing its number."""
    return together([partial(act, n) for n in range(number)])


def outcome(act: Callable[[], Any]) -> Any:
    """The answer, or the code of the refusal."""
    try:
        return act()
    except TesseraError as refusal:
        return refusal.code


class Process:
    """A worker process: it opens the store, then does what it is told, one command at a time."""

    def __init__(self, store: str, answers: Path, name: str) -> None:
        self.name = name
        self._answers = answers
        self._read = 0
        self._process = subprocess.Popen(
            [sys.executable, WORKER, store, str(answers), name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        )

    def tell(self, command: str, **how: Any) -> None:
        """Begin something."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"command": command, **how}) + "\n")
        self._process.stdin.flush()

    def line(self) -> str:
        """What it says next; empty when it has ended."""
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def done(self) -> list[Any]:
        """The answers of the command that was told last, once it has ended."""
        assert self.line() == "done"
        return self.answers()

    def answers(self) -> list[Any]:
        """What it has written down since the last look."""
        lines = self._answers.read_text(encoding="utf-8").splitlines() if self._answers.exists() else []
        fresh, self._read = lines[self._read :], len(lines)
        return [json.loads(line) for line in fresh]

    def kill(self) -> None:
        """As the kernel does it when memory is short."""
        self._process.kill()
        self._process.wait(HOLDS_UP_SECONDS)

    def close(self) -> None:
        """Let it end."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait(HOLDS_UP_SECONDS)


@contextmanager
def processes(number: int, store: str, folder: Path) -> Iterator[list[Process]]:
    """Worker processes, each with the store open."""
    crew = [Process(store, folder / f"answers-{n}", f"process-{n}") for n in range(number)]
    try:
        for process in crew:
            assert process.line() == "ready"
        yield crew
    finally:
        for process in crew:
            process.close()


def log(store: tessera.Tessera, *types: str) -> list[Event]:
    """Every line of the log of these types."""
    lines: list[Event] = []
    while page := store.events(after=lines[-1].seq if lines else 0, limit=10_000):
        lines += page
    return [line for line in lines if line.type in types]


def fill(store: tessera.Tessera, queue: str, number: int) -> list[str]:
    """So many tasks, by several threads, so that they share commits."""
    with ThreadPoolExecutor(16) as pool:
        return list(pool.map(lambda n: store.enqueue(queue=queue, kind="k", brief={"n": n}), range(number)))
