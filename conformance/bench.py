"""One test's bench: queues of its own on a backend that others may be using, and a word for each step."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import datetime, timedelta
from itertools import count
from threading import Barrier
from typing import Any, TypeVar

import pytest

from conformance.backend import Backend
from tessera.errors import TesseraError
from tessera.library import Tessera
from tessera.models import Event, Lease, Receipt, TaskView

# A lease that lapses after one second, and the time that surely ends it.
SHORT = {"heartbeat_seconds": 1, "miss_limit": 1}
PAST_SHORT = 1.3
# A lease that outlives every test, whether its clock is scripted or real.
LONG = {"heartbeat_seconds": 600, "miss_limit": 10, "lease_seconds": 3_600}
AT_ONCE = {"backoff_base_seconds": 0, "backoff_cap_seconds": 0}

_PAGE = 1_000
_EVENTS_PAGE = 10_000
Answer = TypeVar("Answer")


class Bench:
    """A test's queues, tasks, keys and part of the log, and the verbs with what every use of them asserts."""

    def __init__(self, backend: Backend, label: str) -> None:
        self.backend = backend
        self.queues: list[str] = []
        self._run = f"{label}-{secrets.token_hex(4)}"
        self._names = count(1)  # a counter that threads may share
        self.began_after = end_of_log(backend.client)

    @property
    def client(self) -> Tessera:
        """The client with all rights, also after a restart."""
        return self.backend.client

    def name(self, word: str = "n") -> str:
        """A task id, queue name or idempotency key that nobody else uses."""
        return f"{self._run}-{word}-{next(self._names)}"

    def queue(self, **settings: Any) -> str:
        """A new queue with long leases and no backoff, except as told."""
        name = self.name("q")
        self.client.define_queue(name, **{**LONG, **AT_ONCE, **settings})
        self.queues.append(name)
        return name

    def lengthen(self, queue: str) -> None:
        """Give a queue long leases from now on."""
        self.client.define_queue(queue, **LONG)

    def shorten(self, lease: Lease) -> None:
        """Let a long lease lapse within `PAST_SHORT` seconds from now."""
        self.client.define_queue(lease.queue, **SHORT)
        self.client.heartbeat(lease.task_id, lease.fencing_token)

    def enqueue(self, queue: str, **fields: Any) -> str:
        """A new task; kind and brief are made up unless given."""
        task_id = self.client.enqueue(**{"queue": queue, "kind": "work", "brief": {"for": queue}, **fields})
        assert task_id
        return task_id

    def claim(self, queue: str, worker: str = "worker", **filters: Any) -> Lease:
        """A lease, which must be there to have."""
        lease = self.client.claim(queue, worker, **filters)
        assert isinstance(lease, Lease), f"nothing to claim in {queue}"
        assert (lease.queue, lease.worker) == (queue, worker)
        return lease

    def idle(self, queue: str, **filters: Any) -> None:
        """Nothing can be claimed now."""
        assert self.client.claim(queue, "idler", **filters) is None

    def ok(self, lease: Lease, output: Any = None, key: str | None = None) -> Receipt:
        """Hand in success, for the first time."""
        given = key or self.name("k")
        return _first(self.client.submit(lease.task_id, lease.fencing_token, output, given), ok=True)

    def fail(self, lease: Lease, error: str = "it did not work", output: Any = None) -> Receipt:
        """Hand in a failure, for the first time."""
        key = self.name("k")
        receipt = self.client.submit(lease.task_id, lease.fencing_token, output, key, ok=False, error=error)
        return _first(receipt, ok=False)

    def task(self, task_id: str) -> TaskView:
        """The task as it is now."""
        view = self.client.task(task_id)
        assert isinstance(view, TaskView)
        return view

    def state(self, task_id: str) -> str:
        return self.task(task_id).state

    def tasks(self, queue: str) -> list[TaskView]:
        """Every task of a queue, oldest first."""
        found: list[TaskView] = []
        page = self.client.tasks(queue, limit=_PAGE)
        found += page.tasks
        while page.next:
            page = self.client.tasks(queue, limit=_PAGE, after=page.next)
            found += page.tasks
        return found

    def counts(self, queue: str) -> dict[str, int]:
        """The queue's counts without zeros; a recount must have agreed."""
        answer = self.client.counts(recount=True)
        row = answer.queues[queue]
        assert isinstance(answer.recount, dict)
        assert answer.recount[queue] == row
        return {state: getattr(row, state) for state in row.__struct_fields__ if getattr(row, state)}

    def log(self) -> list[Event]:
        """What the log says of this bench's queues since the test began."""
        lines: list[Event] = []
        page = self.client.events(after=self.began_after, limit=_EVENTS_PAGE)
        while page:
            lines += [line for line in page if line.queue in self.queues]
            page = self.client.events(after=page[-1].seq, limit=_EVENTS_PAGE)
        return lines

    def story(self, task_id: str) -> list[str]:
        """The types of a task's lines in the log, in order."""
        return [line.type for line in self.log() if line.task_id == task_id]

    def last(self, task_id: str, kind: str) -> Event:
        """A task's latest line of one type."""
        lines = [line for line in self.log() if line.task_id == task_id and line.type == kind]
        assert lines, f"no {kind} in the log of {task_id}"
        return lines[-1]

    def pass_seconds(self, seconds: float) -> None:
        self.backend.pass_seconds(seconds)

    def pass_until(self, stamp: str) -> None:
        """Let time pass until an instant of the backend's own clock is over."""
        self.pass_seconds(max(0.0, seconds_between(self.client.health().time, stamp)) + 0.05)

    @contextmanager
    def refused(self, code: str, *task_ids: str) -> Iterator[None]:
        """The verb inside must be refused with a code, and change nothing about these tasks."""
        before = [self._known(task_id) for task_id in task_ids]
        with pytest.raises(TesseraError) as caught:
            yield
        assert caught.value.code == code, caught.value
        assert [self._known(task_id) for task_id in task_ids] == before

    def _known(self, task_id: str) -> tuple[object, ...]:
        """All that can be seen of a task."""
        view = self.task(task_id)
        counts = self.client.counts().queues[view.queue]
        return view, self.client.results(task_id), counts, self.story(task_id)


def _first(receipt: Receipt, *, ok: bool) -> Receipt:
    assert isinstance(receipt, Receipt)
    assert (receipt.ok, receipt.replayed) == (ok, False)
    return receipt


def together(threads: int, act: Callable[[int], Answer]) -> list[Answer]:
    """Let threads do one thing at the same time, each told its number; what they answered, in that order."""
    start = Barrier(threads)

    def run(number: int) -> Answer:
        start.wait(timeout=30)
        return act(number)

    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(run, range(threads)))


def brief_of(lease: Lease) -> Any:
    """A lease's brief as the value it is in a worker's hands."""
    return lease.brief


def code_of(act: Callable[[], object]) -> str | None:
    """The code that a verb is refused with, or None if it is not."""
    try:
        act()
    except TesseraError as refusal:
        return refusal.code
    return None


def end_of_log(client: Tessera) -> int:
    """The `seq` of the last event, in few looks however long the log is."""
    low, high = 0, 1
    while client.events(after=high, limit=1):
        low, high = high, high * 2
    while low < high:
        middle = (low + high) // 2
        if client.events(after=middle, limit=1):
            low = middle + 1
        else:
            high = middle
    return high


def seconds_between(earlier: str, later: str) -> float:
    """Seconds from one time of the wire to another, exact to the microsecond."""
    elapsed = datetime.fromisoformat(later) - datetime.fromisoformat(earlier)
    return elapsed / timedelta(seconds=1)
