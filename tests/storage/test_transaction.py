"""The transaction's law, and what one bad verb does to its neighbours."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

import tessera
from tessera.errors import TesseraError, Unavailable
from tessera.models import AskCounts, DefineQueue, Raw, TaskSpec
from tessera.rules.grants import OWNER
from tessera.storage.direct import DirectEngine
from tessera.storage.port import LostRace, Overdue
from tessera.testing import World
from tessera.verbs import looks
from tessera.verbs.define_queue import define_queue
from tessera.verbs.enqueue import enqueue

SPEC = TaskSpec(queue="q", kind="k", brief=Raw(b"{}"))


@pytest.fixture
def engine(tmp_path: Path, world: World) -> Any:
    """An engine with one queue."""
    engine = DirectEngine(str(tmp_path / "s.db"), world.runtime())
    engine.submit(define_queue, OWNER, DefineQueue(name="q")).result()
    yield engine
    engine.close()


def ready(engine: DirectEngine) -> int:
    """How many tasks are ready; the counts must agree with a recount."""
    counts = engine.read(looks.counts, OWNER, AskCounts(recount=True))
    assert counts.agree
    return int(counts.queues["q"].ready)


def test_no_read_after_a_write(engine: DirectEngine) -> None:
    """A verb that reads after its first write is stopped, and what it wrote is undone."""

    def bad(tx: Any, runtime: Any) -> None:
        tx.write("set_meta", name="bad", value=1)
        tx.one("last_instant")

    with pytest.raises(TesseraError) as refusal:
        engine.submit(bad).result()
    assert refusal.value.code == "internal"
    assert engine.read(lambda tx, runtime: tx.one("reaper_last_run")) is None


def test_no_refusal_after_a_write(engine: DirectEngine) -> None:
    """A verb that refuses after its first write has a bug: it answers `internal`, and nothing is kept."""

    def bad(tx: Any, runtime: Any) -> None:
        tx.write("set_meta", name="reaper_last_run", value=1)
        raise tessera.TesseraError("too late")

    with pytest.raises(TesseraError) as refusal:
        engine.submit(bad).result()
    assert refusal.value.detail != "too late"
    assert engine.read(lambda tx, runtime: tx.one("reaper_last_run")) is None


def test_a_look_cannot_write(engine: DirectEngine) -> None:
    """A look that tries to write is stopped before the store sees it."""
    with pytest.raises(AssertionError, match="may not write"):
        engine.read(lambda tx, runtime: tx.write("set_meta", name="x", value=1))


def test_one_bad_verb_in_a_backlog(engine: DirectEngine, caplog: pytest.LogCaptureFixture) -> None:
    """Verbs that meet share a transaction; one that breaks takes none of the others with it."""
    started, go_on = threading.Event(), threading.Event()

    def slow(tx: Any, runtime: Any) -> str:
        started.set()
        go_on.wait(10)
        return "slow"

    def broken(tx: Any, runtime: Any) -> None:
        tx.write("set_meta", name="reaper_last_run", value=1)
        raise ZeroDivisionError

    outcomes: dict[str, Any] = {}

    def call(name: str, *verb: Any) -> None:
        try:
            outcomes[name] = engine.submit(*verb).result()
        except TesseraError as refusal:
            outcomes[name] = refusal

    threads = [threading.Thread(target=call, args=("slow", slow))]
    threads[0].start()
    started.wait(10)
    for name, *verb in (("a", enqueue, OWNER, SPEC), ("bad", broken), ("b", enqueue, OWNER, SPEC)):
        threads.append(threading.Thread(target=call, args=(name, *verb)))
        threads[-1].start()
    while len(engine._meeting) < 3:  # until the three stand in line behind the slow one
        go_on.wait(0.001)
    go_on.set()
    for thread in threads:
        thread.join()

    assert outcomes["slow"] == "slow"
    assert outcomes["bad"].code == "internal"
    assert outcomes["a"].task_id != outcomes["b"].task_id
    assert ready(engine) == 2
    assert engine.read(lambda tx, runtime: tx.one("reaper_last_run")) is None
    assert "verb broken failed" in caplog.text


def test_threads_that_meet_share_a_commit(engine: DirectEngine) -> None:
    """Verbs of threads that stand in line together are one transaction; each thread has its own answer."""
    started, go_on = threading.Event(), threading.Event()

    def slow(tx: Any, runtime: Any) -> None:
        started.set()
        go_on.wait(10)

    answers: list[Any] = []
    first = threading.Thread(target=engine.submit, args=(slow,))
    first.start()
    started.wait(10)
    before = engine._writer.wal.committed
    others = [
        threading.Thread(target=lambda: answers.append(engine.submit(enqueue, OWNER, SPEC).result()))
        for _ in range(5)
    ]
    for thread in others:
        thread.start()
    while len(engine._meeting) < 5:
        go_on.wait(0.001)
    go_on.set()
    for thread in (first, *others):
        thread.join()

    assert engine._writer.wal.committed == before + 1
    assert len({answer.task_id for answer in answers}) == ready(engine) == 5


def test_a_lost_race_is_run_again(engine: DirectEngine) -> None:
    """A verb whose row changed under it runs again, and gives up with `unavailable` after a few times."""
    tries: list[int] = []

    def unlucky(tx: Any, runtime: Any) -> int:
        tries.append(1)
        if len(tries) % 4:
            raise LostRace("x")
        return len(tries)

    def hopeless(tx: Any, runtime: Any) -> None:
        raise LostRace("x")

    assert engine.submit(unlucky).result() == 4
    with pytest.raises(Unavailable) as refusal:
        engine.submit(hopeless).result()
    assert refusal.value.definite


def test_a_long_backlog_of_overdue_things(engine: DirectEngine) -> None:
    """A verb may ask for more settles than one turn allows; what was settled is counted once each."""

    def settle(tx: Any, runtime: Any) -> int:
        tx.write("set_meta", name="reaper_last_run", value=1)
        return 3

    def asks(tx: Any, runtime: Any) -> int:
        if tx.settled < 75:
            raise Overdue(settle)
        return int(tx.settled)

    assert engine.submit(asks).result() == 75


def test_told_after_the_commit(engine: DirectEngine) -> None:
    """What waits for the commit is told after it, and not at all when the verb is undone."""
    told: list[str] = []

    def good(tx: Any, runtime: Any) -> None:
        tx.write("set_meta", name="x", value=1)
        tx.after_commit(lambda: told.append("good"))

    def bad(tx: Any, runtime: Any) -> None:
        tx.after_commit(lambda: told.append("bad"))
        raise ZeroDivisionError

    engine.submit(good).result()
    with pytest.raises(TesseraError):
        engine.submit(bad).result()
    assert told == ["good"]


def test_an_interrupt_leaves_a_usable_store(engine: DirectEngine) -> None:
    """A KeyboardInterrupt inside a verb undoes it and reaches the caller; the next verb runs."""

    def interrupted(tx: Any, runtime: Any) -> None:
        tx.write("set_meta", name="reaper_last_run", value=1)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        engine.submit(interrupted)
    engine.submit(enqueue, OWNER, SPEC).result()
    assert ready(engine) == 1
    assert engine.read(lambda tx, runtime: tx.one("reaper_last_run")) is None


def test_a_closed_store_says_so(engine: DirectEngine) -> None:
    """After `close` every verb and look answers `unavailable`, and closing twice is harmless."""
    engine.close()
    engine.close()
    for call in (
        lambda: engine.submit(enqueue, OWNER, SPEC).result(),
        lambda: engine.read(looks.counts, OWNER, AskCounts()),
    ):
        with pytest.raises(Unavailable, match="closed"):
            call()
