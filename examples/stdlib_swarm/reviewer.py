"""The caller with the other key: sees what is parked, thinks about it, answers."""

from __future__ import annotations

import time
from typing import Final

from tessera.library import Tessera

ANSWER: Final = {"approved": True, "note": "study them all"}


class Reviewer:
    """Answers every park in a queue, each a little while after it was first seen."""

    def __init__(self, store: Tessera, thinking_seconds: float = 2) -> None:
        self._store = store
        self._thinking_seconds = thinking_seconds
        self._seen: dict[tuple[str, int], float] = {}

    def look(self) -> None:
        """Answer what has been waiting long enough. The key that parked a task could not do this."""
        for task in self._store.tasks(queue="study", state="waiting", kind="package").tasks:
            if task.wait_reason != "input":
                continue
            since = self._seen.setdefault((task.task_id, task.parks), time.monotonic())
            if time.monotonic() - since >= self._thinking_seconds:
                self._store.resume(task.task_id, ANSWER, park=task.parks)
