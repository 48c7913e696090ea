"""Stores for workers: on a scripted clock behind a door that may not answer, and real ones, near and far."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tessera
from tessera.errors import TesseraError, Unavailable
from tessera.library import Door, Tessera
from tessera.testing import World, serving, temporary_store
from tessera.worker import Report, Worker


class Outage:
    """A door that refuses to answer as often as told, after doing what was asked if told so."""

    def __init__(self, door: Door) -> None:
        self._door = door
        self.times = 0
        self.only: str | None = None  # the verb that is not answered, if not every one
        self.answers_get_lost = False
        self.retry_after: int | None = None

    def call(self, verb: str, ask: bytes, body: Any = b"") -> Any:
        if self.times == 0 or self.only not in (None, verb):
            return self._door.call(verb, ask, body)
        self.times -= 1
        if self.answers_get_lost:
            self._door.call(verb, ask, body)
        raise Unavailable(**({} if self.retry_after is None else {"retry_after_seconds": self.retry_after}))

    def as_key(self, secret: str) -> Door:
        return self._door.as_key(secret)

    def close(self) -> None:
        self._door.close()


@pytest.fixture
def store(world: World) -> Iterator[Tessera]:
    """A store with a queue `q`, whose leases last 8 seconds without a heartbeat, and a task in it."""
    with temporary_store(world) as store:
        store.define_queue("q", heartbeat_seconds=4, miss_limit=2, backoff_base_seconds=0)
        yield store


@pytest.fixture
def outage(store: Tessera) -> Outage:
    return Outage(store.door)


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is asked again is asked again at once."""
    monkeypatch.setattr("tessera.worker.holding.RETRY_SECONDS", 0.001)
    monkeypatch.setattr("tessera.worker.shift.RETRY_SECONDS", 0.001)


class Place:
    """Where a worker works: the store as its owner has it, and as the worker does."""

    def __init__(self, owner: Tessera, store: Tessera) -> None:
        self.owner = owner
        self.store = store

    def enqueue(self, **spec: Any) -> str:
        """A task on `q`."""
        return self.owner.enqueue({"queue": "q", "kind": "k", "brief": {}, **spec})

    def worker(self, **settings: Any) -> Worker:
        """A worker at `q` that tells nobody."""
        return Worker("q", self.store, **{"name": "w", "poll_seconds": 0.01, "listener": Told(), **settings})


class Told:
    """A listener that remembers."""

    def __init__(self) -> None:
        self.reports: list[Report] = []
        self.troubles: list[str] = []

    def settled(self, report: Report) -> None:
        self.reports.append(report)

    def cannot_claim(self, trouble: TesseraError) -> None:
        self.troubles.append(trouble.code)


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Tessera, str]]:
    """A service that is there for all tests, and its store's owner."""
    path = tmp_path_factory.mktemp("worker") / "store.db"
    with tessera.open(str(path)) as owner, serving(path, log=path.with_name("log")) as service:
        yield owner, service.url


@pytest.fixture(params=["file", "service"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    """A store on the real clock, at hand and over HTTP, with a queue `q` that retries at once and lapses
    leases after a second of silence.
    """
    if request.param == "file":
        with tessera.open(str(tmp_path / "store.db")) as owner:
            _define(owner)
            yield Place(owner, owner)
            assert owner.counts(recount=True).agree
        return
    owner, url = request.getfixturevalue("served")
    _define(owner)
    for task in owner.tasks("q", limit=1_000).tasks:
        if task.state in ("ready", "leased", "waiting"):
            owner.cancel(task.task_id, "of another test")
    with tessera.Client(url, owner.issue_key(queues=["q"], effect_classes=["read"]).key) as client:
        yield Place(owner, client)


def _define(owner: Tessera) -> None:
    owner.define_queue("q", heartbeat_seconds=1, miss_limit=1, backoff_base_seconds=0)
