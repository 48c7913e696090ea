"""A process of the races. Commands come in by lines of JSON, answers go to a file, `done` comes back.

python worker.py STORE ANSWERS NAME
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

import tessera
from tessera.errors import TesseraError


class Worker:
    """The store, and where answers are written down."""

    def __init__(self, store: tessera.Tessera, answers: Path, name: str) -> None:
        self._store = store
        self._answers = answers.open("a", encoding="utf-8")
        self._name = name

    def claim(self, queue: str) -> None:
        """Once."""
        self._write(self._ask(lambda: self._store.claim(queue, self._name)))

    def drain(self, queue: str) -> None:
        """Claim until nothing is ready."""
        while lease := self._ask(lambda: self._store.claim(queue, self._name)):
            self._write(lease)

    def work(self, queue: str) -> None:
        """Claim and hand in until nothing is ready."""
        while lease := self._ask(lambda: self._store.claim(queue, self._name)):
            self._write(lease)
            held, key = (lease["task_id"], lease["fencing_token"]), f"{lease['task_id']}-{self._name}"
            self._write(self._ask(lambda held=held, key=key: self._store.submit(*held, {}, key)))
            _say("handed in")

    def reap(self) -> None:
        """Once."""
        self._write(self._ask(self._store.reap))

    def put(self, key: str, times: int) -> None:
        """Store a next version of an object again and again, whoever else does."""
        seen = None
        for n in range(times):
            body = f"{self._name} {n}".encode()
            answer = self._ask(lambda body=body, seen=seen: self._store.put_object("kits", key, body, seen))
            self._write(answer)
            seen = self._store.object_meta("kits", key).version

    def _ask(self, act: Callable[[], Any]) -> Any:
        """The answer. A store that is busy with others has certainly done nothing, so it is asked again."""
        while True:
            try:
                return msgspec.to_builtins(act())
            except TesseraError as refusal:
                if not (refusal.code == "unavailable" and refusal.definite):
                    return refusal.code

    def _write(self, answer: Any) -> None:
        self._answers.write(json.dumps(answer) + "\n")
        self._answers.flush()


def _say(word: str) -> None:
    sys.stdout.write(word + "\n")
    sys.stdout.flush()


def main(path: str, answers: str, name: str) -> None:
    """Do what is told until the input ends."""
    with tessera.open(path) as store:
        worker = Worker(store, Path(answers), name)
        _say("ready")
        for line in sys.stdin:
            ask = json.loads(line)
            getattr(worker, ask.pop("command"))(**ask)
            _say("done")


if __name__ == "__main__":
    main(*sys.argv[1:4])
