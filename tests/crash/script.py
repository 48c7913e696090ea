"""How a story is told so that it can be interrupted anywhere and told on: each step's answer is on disk
before the next step begins, and the step that was in flight is simply taken again.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

import tessera
from tessera.errors import InvalidState, StaleLease, TesseraError, VersionConflict
from tessera.limits import SECOND_US
from tessera.runtime import real_runtime
from tessera.testing import open_on_loop

BEGIN_US = 1_800_000_000_000_000
PASSED = "passed"


class Script:
    """A store, a clock that moves only when told, and what was answered so far."""

    def __init__(
        self, store: str, answers: str, engine: str = "direct", *, later_us: int = 0,
        reach: Callable[[str], None] | None = None,
    ) -> None:  # fmt: skip
        self.path = store
        self._answers = Path(answers)
        self.answers: dict[str, Any] = {}
        self.log: list[dict[str, Any]] = []  # the lines of the log that were read so far
        self.now_us = BEGIN_US + later_us
        self._read_back()
        self._began_with = len(self.answers)
        self.times: Counter[str] = Counter()
        runtime = real_runtime()
        self.store = (open_on_loop if engine == "loop" else tessera.open)(
            store,
            runtime=replace(
                runtime,
                now_us=lambda: self.now_us,
                elapsed_us=lambda: self.now_us,
                uniform=lambda low, high: high,
                reach=reach or runtime.reach,
                scripted=True,
            ),
        )

    def step(self, name: str, act: Callable[[], Any], happened: Callable[[], bool] = lambda: False) -> Any:
        """Act, unless that was answered before. `happened` tells whether a refusal means that the act was
        carried out already and only its answer was lost.
        """
        if name in self.answers:
            return self.answers[name]
        in_flight = 0 < len(self.answers) == self._began_with
        try:
            answer = msgspec.to_builtins(act())
        except (StaleLease, InvalidState, VersionConflict):
            if not (in_flight and happened()):
                raise
            answer = None
        self._write_down(name, answer)
        return answer

    def refused(self, name: str, code: str, act: Callable[[], Any]) -> None:
        """An act that must be refused; the refusal is its answer."""
        if name in self.answers:
            return
        try:
            act()
        except TesseraError as refusal:
            answer = refusal.code
        else:
            answer = "not refused"
        assert answer == code
        self._write_down(name, answer)

    def seconds_pass(self, name: str, seconds: int) -> None:
        """Time passes."""
        if name not in self.answers:
            self.now_us += seconds * SECOND_US
            self._write_down(name, {PASSED: seconds * SECOND_US})

    def _write_down(self, name: str, answer: Any) -> None:
        lines = msgspec.to_builtins(self.store.events(after=len(self.log), limit=10_000))
        self.answers[name] = answer
        self.log += lines
        with self._answers.open("a", encoding="utf-8") as file:
            file.write(json.dumps([name, answer, lines]) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def _read_back(self) -> None:
        if not self._answers.exists():
            return
        for line in self._answers.read_text(encoding="utf-8").splitlines():
            name, answer, lines = json.loads(line)
            self.answers[name] = answer
            self.log += lines
            if isinstance(answer, dict):
                self.now_us += answer.get(PASSED, 0)
