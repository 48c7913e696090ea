"""How a worker waits: for work, for a store that does not answer, for a service that comes back."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

import tessera
from tessera.library import Tessera
from tessera.testing import serving
from tessera.worker import Worker
from tessera.worker.deadlines import StoreClock, deadline_us

PATIENCE_SECONDS = 30


def test_work_that_comes_is_taken_at_once(place) -> None:
    """A worker that waits takes a new task within moments, over a service without asking again."""
    worker = place.worker(poll_seconds=0.05, wait_seconds=30)
    came, taken = [], []
    ready = threading.Event()
    worker._listener.settled = lambda report: ready.set()

    @worker.handles()
    def note(lease, context):
        taken.append(time.monotonic())

    running = threading.Thread(target=worker.run)
    place.enqueue()
    running.start()
    assert ready.wait(PATIENCE_SECONDS)  # from here on it waits
    for _ in range(3):
        ready.clear()
        came.append(time.monotonic())
        place.enqueue()
        assert ready.wait(PATIENCE_SECONDS)
    worker.stop()
    running.join(PATIENCE_SECONDS)

    assert min(took - at for at, took in zip(came, taken[1:], strict=True)) < 1


def test_an_outage_is_told_and_outlasted(store, outage) -> None:
    """A claim that is not answered is asked again under its key after Retry-After; it costs no attempt."""
    outage.only, outage.times, outage.answers_get_lost = "claim", 2, True
    store.define_queue("q", heartbeat_seconds=600)
    task_id = store.enqueue(queue="q", kind="k", brief={})
    worker = Worker("q", Tessera(outage), listener=Silent(), poll_seconds=0.01)
    worker.handles()(lambda lease, context: lease.attempts)

    worker.run(drain=True)

    assert worker._listener.troubles == ["unavailable"] * 2
    assert store.results(task_id)[0].output == 1


def test_a_retry_after_is_kept(store, outage) -> None:
    """A worker comes no earlier than it was told to."""
    outage.only, outage.times, outage.retry_after = "claim", 1, 1
    store.define_queue("q", heartbeat_seconds=600)
    store.enqueue(queue="q", kind="k", brief={})
    worker = Worker("q", Tessera(outage), listener=Silent(), poll_seconds=0.01)
    worker.handles()(print)

    before = time.monotonic()
    worker.run(drain=True)

    assert time.monotonic() - before >= 1


def test_workers_outlive_a_service(tmp_path: Path) -> None:
    """Killed in the middle and started again, a service has each task done once, by workers that went on by
    themselves.
    """
    path = tmp_path / "store.db"
    with tessera.open(str(path)) as owner:
        owner.define_queue("q", heartbeat_seconds=5, backoff_base_seconds=0)
        key = owner.issue_key(queues=["q"], effect_classes=["read"]).key
        ids = [owner.enqueue(queue="q", kind="k", brief={"n": n}) for n in range(60)]
    half, settled = threading.Event(), []
    with serving(path) as service:
        port = int(service.url.rpartition(":")[2])
        worker = Worker("q", tessera.Client(service.url, key), parallel=4, listener=Silent(settled, half))
        worker.handles()(lambda lease, context: lease.brief["n"])
        running = threading.Thread(target=lambda: worker.run(drain=True))
        running.start()
        assert half.wait(PATIENCE_SECONDS)
        assert service.end(9) == -9
    with serving(path, port=port):
        running.join(PATIENCE_SECONDS)
        worker.stop(at_once=True)

    assert not running.is_alive()
    worker._store.close()
    with tessera.open(str(path)) as owner:
        outputs = [[result.output for result in owner.results(task_id)] for task_id in ids]
        assert outputs == [[n] for n in range(60)]
        assert owner.counts(recount=True).agree


class Silent:
    """A listener that remembers, and tells when twenty tasks have ended."""

    def __init__(self, settled: list[str] | None = None, half: threading.Event | None = None) -> None:
        self.words = [] if settled is None else settled
        self.troubles: list[str] = []
        self._half = half

    def settled(self, report) -> None:
        self.words.append(report.word)
        if self._half is not None and len(self.words) == 20:
            self._half.set()

    def cannot_claim(self, trouble) -> None:
        self.troubles.append(trouble.code)


@pytest.mark.parametrize(("sent", "deadline"), [(0, 7.2), (-5, 2.2), (3, 10.2)])
def test_a_deadline_counts_from_before_the_request(world, store, sent, deadline) -> None:
    """A lease of 8 seconds, less a margin, ends at most that long after the claim was sent, however late its
    answer came and whatever the two clocks show.
    """
    store.enqueue(queue="q", kind="k", brief={})
    lease = store.claim("q", "w")
    clock = StoreClock()
    assert clock.unseen
    clock.saw(sent * 1_000_000, lease.claimed_at)

    assert deadline_us(clock, lease) == int(deadline * 1_000_000)


def test_the_best_look_at_the_clock_counts(world, store) -> None:
    """Of several answers the one that took least time tells most: a claim that waited spoils nothing."""
    store.enqueue(queue="q", kind="k", brief={})
    lease = store.claim("q", "w")
    clock = StoreClock()
    clock.saw(2_000_000, lease.claimed_at)
    clock.saw(-20_000_000, lease.claimed_at)

    assert deadline_us(clock, lease) == 9_200_000
