"""Which tasks a verb is about, as far as its request tells: they are locked before it runs, in one order."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tessera.storage.jobs import Job

ENDS = frozenset({"submit", "submit_batch"})  # what they name may end, and move what waits for it
FAMILIES = frozenset({"cancel"})  # what they name ends with everything below it
HOLDING = frozenset({"heartbeat", "release", "park", "split", *ENDS})  # by the holder of a lease
CLAIMING = frozenset({"claim", "claim_batch"})


def name_of(job: Job) -> str:
    """What a job's verb is called."""
    return str(getattr(job.verb, "__name__", ""))


class Named:
    """The ids that some verbs name, each once, and the keys under which some claim."""

    __slots__ = ("claim_keys", "ending", "families", "tasks")

    def __init__(self, jobs: Iterable[Job]) -> None:
        self.tasks: set[str] = set()
        self.ending: set[str] = set()
        self.families: set[str] = set()
        self.claim_keys: set[str] = set()
        for job in jobs:
            if job.args:
                self._add(name_of(job), job.args[-1])

    def _add(self, verb: str, ask: Any) -> None:
        if verb in CLAIMING and isinstance(key := getattr(ask, "idempotency_key", None), str):
            self.claim_keys.add(key)
        asks = [ask, *getattr(ask, "submits", ()), *getattr(ask, "tasks", ())]
        ids = {one.task_id for one in asks if isinstance(getattr(one, "task_id", None), str)}
        if verb in FAMILIES:
            self.families |= ids
        elif verb in ENDS:
            self.ending |= ids
        self.tasks |= ids
        for one in asks:
            self.tasks.update(getattr(one, "depends_on", ()))
