"""What the tests of verbs stand on: one store on a scripted world, and a word for each common step."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import tessera
from tessera.library import Tessera
from tessera.models import Event, Lease, QueueCounts, TaskView
from tessera.runtime import rfc3339
from tessera.testing import World

SECOND_US = 1_000_000
# A lease of ten seconds that no heartbeat is needed for, and a retry at once.
SETTINGS = {"heartbeat_seconds": 10, "miss_limit": 1, "lease_seconds": 10, "backoff_base_seconds": 0}
LAPSE = 10.0  # the seconds after which such a lease has just lapsed


@dataclass
class Bench:
    """A store with the queue `q`, its world, and the file it is in."""

    world: World
    path: Path
    store: Tessera
    _numbers: Any = field(default_factory=lambda: count(1))

    @classmethod
    def at(cls, path: Path) -> Bench:
        """The store in this file, on a world of its own; a new file gets the queue `q`."""
        world, new = World(), not path.exists()
        bench = cls(world, path, tessera.open(str(path), runtime=world.runtime()))
        if new:
            bench.queue("q")
        return bench

    def raw(self, verb: str, body: bytes) -> Any:
        """A verb by its JSON, as a door gets it that does not build the request itself."""
        return self.store._door.call(verb, body)

    def reopened(self) -> Tessera:
        """The store closed and opened again."""
        self.store.close()
        self.store = tessera.open(str(self.path), runtime=self.world.runtime())
        return self.store

    def beside(self) -> Tessera:
        """The same file opened once more, as another process would."""
        return tessera.open(str(self.path), runtime=self.world.runtime())

    def name(self, word: str = "n") -> str:
        """A name that nothing else has."""
        return f"{word}-{next(self._numbers)}"

    def queue(self, name: str, **settings: Any) -> str:
        """A queue with the bench's short leases, except as told."""
        self.store.define_queue(name, **{**SETTINGS, **settings})
        return name

    def enqueue(self, queue: str = "q", **fields: Any) -> str:
        """A new task; kind and brief are made up unless given."""
        return self.store.enqueue(**{"queue": queue, "kind": "k", "brief": {"for": queue}, **fields})

    def claim(self, queue: str = "q", worker: str = "w", **filters: Any) -> Lease:
        """A lease, which must be there to have."""
        lease = self.store.claim(queue, worker, **filters)
        assert lease is not None, f"nothing to claim in {queue}"
        return lease

    def leased(self, queue: str = "q", **fields: Any) -> Lease:
        """A new task, leased; nothing else may be ready in the queue."""
        task_id = self.enqueue(queue, **fields)
        lease = self.claim(queue)
        assert lease.task_id == task_id
        return lease

    def ok(self, lease: Lease, output: Any = None, **more: Any) -> None:
        """Hand in success."""
        self.store.submit(lease.task_id, lease.fencing_token, output, self.name("ok"), **more)

    def fail(self, lease: Lease, error: str = "it failed") -> None:
        """Hand in a failure."""
        self.store.submit(
            lease.task_id, lease.fencing_token, None, self.name("fail"), ok=False, error=error
        )  # fmt: skip

    def parked(self, queue: str = "q", **how: Any) -> TaskView:
        """A new task, leased and parked."""
        lease = self.leased(queue, **{name: how.pop(name) for name in ("effect_class",) if name in how})
        return self.store.park(lease.task_id, lease.fencing_token, **{"reason": "waiting for input", **how})

    def dead(self, queue: str = "q", **fields: Any) -> str:
        """A new task that failed until it was dead; the queue's retries must be at once."""
        task_id = self.enqueue(queue, **fields)
        while self.state(task_id) != "dead":
            self.fail(self.claim(queue))
        return task_id

    def state(self, task_id: str) -> str:
        """A task's state."""
        return self.store.task(task_id).state

    def counts(self, queue: str = "q") -> QueueCounts:
        """A queue's counts, which must agree with a recount."""
        counts = self.store.counts(recount=True)
        assert counts.agree
        return counts.queues[queue]

    def key(self, **grant: Any) -> Tessera:
        """The store as the holder of a new key sees it."""
        return self.store.as_key(self.store.issue_key(**grant).key)

    def key_id(self) -> str:
        """The id of the key that was issued last."""
        return self.store.keys()[-1].key_id

    def seq(self) -> int:
        """Where the log ends."""
        return max((line.seq for line in self.log()), default=0)

    def log(self, after: int = 0, task_id: str | None = None) -> list[Event]:
        """The log's lines after a `seq`, of one task if named."""
        lines: list[Event] = []
        while page := self.store.events(after=after, limit=10_000):
            lines += [line for line in page if task_id is None or line.task_id == task_id]
            after = page[-1].seq
        return lines

    def story(self, task_id: str) -> list[str]:
        """What happened to a task, in order."""
        return [line.type for line in self.log(task_id=task_id)]

    def after(self, seconds: float) -> str:
        """The time of the wire, some seconds from now."""
        return rfc3339(self.world.now_us + int(seconds * SECOND_US))

    def now(self) -> str:
        """The time of the wire, now."""
        return self.after(0)
