"""Eight threads that enqueue, claim and hand in through one store, so that their verbs share commits. Each
keeps its answers on disk, and starts again from them.

    python crowd.py STORE FOLDER
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

import tessera

THREADS, TASKS_EACH = 8, 12
TASKS = {f"t-{number}-{n}" for number in range(THREADS) for n in range(TASKS_EACH)}


class Member:
    """One thread's work, and the file of what it was answered."""

    def __init__(self, store: tessera.Tessera, folder: str, number: int) -> None:
        self._store = store
        self._number = number
        self._file = Path(folder) / f"answers-{number}"
        self._answers = dict(answered(self._file))

    def work(self) -> None:
        store = self._store
        for n in range(TASKS_EACH):
            name = f"{self._number}-{n}"
            spec = dict(queue="q", kind="k", brief={"n": n}, task_id=f"t-{name}")
            self._step(f"enqueue {name}", lambda spec=spec: store.enqueue(spec))
            lease = self._step(
                f"claim {name}", lambda key=f"c-{name}": store.claim("q", "w", idempotency_key=key)
            )
            held = lease["task_id"], lease["fencing_token"]
            self._step(f"submit {name}", lambda held=held, key=f"s-{name}": store.submit(*held, {}, key))

    def _step(self, name: str, act: Callable[[], Any]) -> Any:
        if name not in self._answers:
            self._answers[name] = msgspec.to_builtins(act())
            with self._file.open("a", encoding="utf-8") as file:
                file.write(json.dumps([name, self._answers[name]]) + "\n")
                file.flush()
                os.fsync(file.fileno())
        return self._answers[name]


def answered(file: Path) -> Iterator[tuple[str, Any]]:
    """What a member was answered, in order."""
    if file.exists():
        for line in file.read_text(encoding="utf-8").splitlines():
            name, answer = json.loads(line)
            yield name, answer


def run(path: str, folder: str) -> None:
    """All of them, to their end."""
    with tessera.open(path) as store:
        store.define_queue("q")
        threads = [threading.Thread(target=Member(store, folder, number).work) for number in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


if __name__ == "__main__":
    run(*sys.argv[1:3])
