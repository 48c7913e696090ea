"""Close stores under threads that read and write in them. Ends with 0 if each thread heard that it was
closed, and all that was answered before is there.

    python closing.py FOLDER ROUNDS
"""

from __future__ import annotations

import sys
import threading
from pathlib import Path

import tessera
from tessera.errors import TesseraError

THREADS = 24
STUCK_SECONDS = 60


class Round:
    """One store, used until it is closed."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._store = tessera.open(path)
        self._barrier = threading.Barrier(THREADS + 1)
        self._answered: list[str] = []
        self._heard: list[str] = []

    def run(self) -> None:
        self._store.define_queue("q")
        threads = [threading.Thread(target=self._use, args=(n,), daemon=True) for n in range(THREADS)]
        for thread in threads:
            thread.start()
        self._barrier.wait(STUCK_SECONDS)
        for _ in range(5):
            self._store.counts()
        self._store.close()
        for thread in threads:
            thread.join(STUCK_SECONDS)
        assert self._heard == ["unavailable"] * THREADS
        with tessera.open(self._path) as store:
            for task_id in self._answered:
                assert store.task(task_id).state == "ready"

    def _use(self, number: int) -> None:
        self._barrier.wait(STUCK_SECONDS)
        try:
            while True:
                if number % 2:
                    self._store.counts()
                else:
                    self._answered.append(self._store.enqueue(queue="q", kind="k", brief={}))
        except TesseraError as refusal:
            self._heard.append(refusal.code)


def main(folder: str, rounds: int) -> None:
    """So many rounds."""
    for number in range(rounds):
        Round(str(Path(folder) / f"{number}.db")).run()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
