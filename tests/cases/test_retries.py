"""Retries: how long, how often, and what comes of the last one."""

from __future__ import annotations

import logging
from functools import partial

import apsw
import pytest
from cases.mortal import Mortal
from cases.races import rounds, together
from verbs.bench import Bench
from verbs.refusals import dump, refused

from tessera.rules.retry import delay_seconds


def test_r02_no_backoff_overflows(bench: Bench) -> None:
    """R02: no number of failures and no setting makes a delay that is negative, infinite or above its cap;
    what is no finite number is no setting.
    """
    for base in (0, 1e-9, 1, 1e308):
        for cap in (0, 1, 1e308):
            for failures in (1, 2, 20, 63, 64, 1023, 1024, 10**6):
                least, most = (delay_seconds(base, cap, failures, u) for u in (0.5, 1.0))
                assert 0 <= least <= most <= cap
                assert least == most / 2
    for name in ("backoff_base_seconds", "backoff_cap_seconds"):
        for number in ("1e400", "NaN", "Infinity", "-1", "1e308", "2592001"):
            ask = f'{{"name":"q","{name}":{number}}}'.encode()
            refused(bench, "invalid_request", bench.raw, "define_queue", ask)
    bench.queue("q", max_attempts=20, backoff_base_seconds=2_592_000, backoff_cap_seconds=2_592_000)
    bench.enqueue()
    for _ in range(19):
        bench.fail(bench.claim())
        bench.world.pass_seconds(2_592_000)
    assert bench.claim().failures == 19


def test_r03_a_poison_task_dies_of_its_lapses(bench: Bench) -> None:
    """R03: a task whose holders vanish, never handing anything in, is dead after its last attempt."""
    task_id = bench.enqueue()
    for lapses in (1, 2, 3):
        bench.claim()
        bench.world.pass_seconds(10)
        assert bench.store.reap() == 1
        assert bench.store.task(task_id).failures == lapses
    story = bench.story(task_id)
    assert (bench.state(task_id), story.count("lease_lapsed"), story.count("dead_lettered")) == ("dead", 3, 1)
    assert [row[:3] for row in dump(bench.path)["records"]] == [("negative.knowledge", task_id, 1)]
    assert bench.store.results(task_id) == []
    assert bench.store.claim("q", "w") is None


def test_r05_a_reaper_may_die_anywhere(bench: Bench) -> None:
    """R05: a reaper that dies at any of its crash points leaves no lock and no half of its work; the next one
    finishes it, each lapse once.
    """
    mortal = Mortal(bench)
    deaths = 0
    for nth in range(1, 20):
        lapsed = [bench.leased().task_id for _ in range(3)]
        bench.world.pass_seconds(10)
        if not mortal.dies_in(lambda: bench.store.reap(), nth):
            break
        deaths += 1
        assert bench.store.reap() in {0, 3}
        assert bench.store.health().reaper_last_run == bench.now()
        for task_id in lapsed:
            assert bench.store.task(task_id).failures == 1
            assert bench.story(task_id).count("lease_lapsed") == 1
            bench.store.cancel(task_id, "done with")
    assert deaths >= 5


def test_r05_two_reapers_at_once(bench: Bench) -> None:
    """R05: two reapers on one store, in two processes as it were, settle each lapse exactly once."""
    with bench.beside() as other:
        for _ in rounds(5, 50):
            lapsed = [bench.leased().task_id for _ in range(20)]
            bench.world.pass_seconds(10)
            assert sum(together([bench.store.reap, other.reap])) == 20
            for task_id in lapsed:
                assert bench.story(task_id).count("lease_lapsed") == 1
                bench.store.cancel(task_id, "done with")
        assert (bench.store.reap(), bench.store.health().reaper_last_run) == (0, bench.now())


def test_r07_a_retry_is_no_end(bench: Bench) -> None:
    """R07: what depends on a task waits through all its retries and is released by its end alone, once."""
    for end in ("done", "dead", "cancelled"):
        first = bench.enqueue(kind="first")
        second = bench.enqueue(kind="second", depends_on=[first])
        for _ in range(2):
            bench.fail(bench.claim(kinds=["first"]))
            assert (bench.state(second), bench.store.task(second).pending_deps) == ("waiting", 1)
        if end == "cancelled":
            bench.store.cancel(first, "r")
        else:
            lease = bench.claim(kinds=["first"])
            bench.ok(lease) if end == "done" else bench.fail(lease)
        assert bench.state(first) == end
        assert bench.story(second) == ["enqueued", "dependencies_met"]
        assert [one.state for one in bench.claim(kinds=["second"]).dependencies] == [end]


def test_r08_a_retry_beside_an_enqueue_of_the_same_id(bench: Bench) -> None:
    """R08: a failure whose task is enqueued again in the same instant goes to its retry, and the enqueue is
    the no-op that it always was.
    """
    bench.queue("q", max_attempts=20, backoff_base_seconds=5)
    for number in rounds(20, 200):
        lease = bench.leased(task_id=f"t{number}")
        at = lease.task_id, 1, None, f"i{number}"
        failed, *enqueued = together(
            [partial(bench.store.submit, *at, ok=False), *[partial(bench.enqueue, task_id=lease.task_id)] * 3]
        )
        assert (failed.state, enqueued) == ("ready", [lease.task_id] * 3)
        assert bench.store.task(lease.task_id).not_before == bench.after(5)
        assert bench.story(lease.task_id) == ["enqueued", "claimed", "submitted", "retry_scheduled"]


def test_r09_a_dead_letter_makes_no_work(bench: Bench) -> None:
    """R09: a task that handles dead letters and fails is itself dead once, and no task appears by itself."""
    bench.queue("dlq-handler", max_attempts=1)
    bench.queue("q", max_attempts=1)
    dead = bench.dead()
    handler = bench.dead("dlq-handler", brief={"about": dead})
    for _ in range(5):
        bench.world.pass_seconds(1_000)
        assert bench.store.reap() == 0
    assert [task.task_id for task in bench.store.tasks().tasks] == [dead, handler]
    assert bench.story(handler) == ["enqueued", "claimed", "submitted", "dead_lettered"]


@pytest.mark.parametrize("way", ["submit", "lapse"])
def test_r09_a_tombstone_that_cannot_be_written(
    bench: Bench, caplog: pytest.LogCaptureFixture, way: str
) -> None:
    """R09: a death and its tombstone are one transaction: if the one cannot be written the other is not, and
    both are as soon as they can be.
    """
    bench.queue("q", max_attempts=1)
    lease = bench.leased()
    stray = apsw.Connection(str(bench.path))  # another program: users cannot write there
    stray.execute("insert into records values ('negative.knowledge', ?, 1, '{}', 0)", (lease.task_id,))
    if way == "lapse":
        bench.world.pass_seconds(10)
    act = {
        "submit": partial(bench.store.submit, lease.task_id, 1, None, "i", ok=False),
        "lapse": bench.store.reap,
    }[way]
    with caplog.at_level(logging.CRITICAL, "tessera"):
        refused(bench, "internal", act)
    assert bench.state(lease.task_id) == "leased"
    stray.execute("delete from records")
    stray.close()
    act()
    assert bench.state(lease.task_id) == "dead"
    assert bench.story(lease.task_id).count("dead_lettered") == 1
    assert len(dump(bench.path)["records"]) == 1


def test_r10_a_damaged_task_holds_up_no_other(bench: Bench) -> None:
    """R10: a task of top priority whose stored brief is damaged, into other text or into no text, is buried
    with an event; those behind it are served, and every look still answers.
    """
    for harm in ("'{}'", "cast(x'7bff7d' as text)", "'{\"a\":'", "''"):
        bad = bench.enqueue(priority=9)
        good = [bench.enqueue() for _ in range(5)]
        file = apsw.Connection(str(bench.path))
        file.execute(f"update briefs set brief = {harm} where serial = (select max(serial) from briefs) - 5")
        file.close()
        assert bench.store.task(bad).brief is None
        assert bench.store.health().queues["q"].ready == 6
        assert [bench.claim().task_id for _ in good] == good
        assert bench.story(bad) == ["enqueued", "dead_lettered"]
        assert bench.store.health().queues["q"].ready == 0
        assert bad in [task.task_id for task in bench.store.tasks(state="dead").tasks]
