"""reap: settle everything that time has come for. (Specification §5.3; contract §4.4, §4.5.)"""

from __future__ import annotations

import json
import threading
from contextlib import closing

import apsw
import pytest
from verbs.bench import LAPSE, Bench
from verbs.refusals import dump, refused

VERBS = ("reap",)


def test_a_lapse_changes_exactly_this(bench: Bench) -> None:
    """A lapse counts a failure, ends the lease, says why, and is two events that name its holder."""
    key = bench.key()
    bench.queue("q", backoff_base_seconds=8)
    task_id = bench.enqueue()
    key.claim("q", "holder")
    seq = bench.seq()
    bench.world.pass_seconds(LAPSE)
    assert bench.store.reap() == 1
    task = bench.store.task(task_id)
    assert (task.state, task.failures, task.attempts, task.fencing_token) == ("ready", 1, 1, 1)
    assert (task.last_error, task.not_before, task.worker) == ("lease lapsed", bench.after(8), None)
    assert dump(bench.path)["leases"] == []
    lapsed, retried = bench.log(seq)
    assert (lapsed.type, lapsed.data, retried.type, retried.data) == (
        "lease_lapsed", None, "retry_scheduled", {"failures": 1},
    )  # fmt: skip
    for line in (lapsed, retried):
        assert (line.queue, line.task_id, line.worker, line.fencing_token) == ("q", task_id, "holder", 1)
        assert (line.key_id, line.at) == (bench.key_id(), bench.now())
    assert (bench.counts().ready, bench.counts().leased) == (1, 0)


def test_the_last_lapse_is_the_end(bench: Bench) -> None:
    """At the last attempt a lapse buries the task, resolves what waited, and leaves one tombstone."""
    bench.queue("q", max_attempts=2)
    bench.enqueue(task_id="t", kind="first")
    bench.enqueue(task_id="d", depends_on=["t"])
    for _ in range(2):
        bench.claim()
        bench.world.pass_seconds(LAPSE)
        assert bench.store.reap() == 1
    assert bench.story("t")[-3:] == ["claimed", "lease_lapsed", "dead_lettered"]
    assert (bench.state("t"), bench.state("d")) == ("dead", "ready")
    ((*_, value, _),) = dump(bench.path)["records"]
    assert json.loads(value)["last_error"] == "lease lapsed"
    assert json.loads(value)["failures"] == 2


def test_every_queue_and_everything_due(bench: Bench) -> None:
    """One reap settles lapses, retries, delays and parks of all queues, paused ones too, and counts them."""
    for queue in ("a", "b", "c"):
        bench.queue(queue)
        bench.leased(queue)
        bench.parked(queue, resume_within=LAPSE)
        bench.enqueue(queue, delay_seconds=LAPSE)
    bench.store.pause_queue("b")
    bench.world.pass_seconds(LAPSE - 0.000001)
    assert bench.store.reap() == 0
    bench.world.pass_seconds(0.000001)
    assert bench.store.reap() == 9
    assert bench.store.reap() == 0
    for queue in ("a", "b", "c"):
        assert bench.counts(queue).ready == 3


def test_the_run_is_recorded(bench: Bench) -> None:
    """Health shows when the reaper last ran, also when it found nothing to do."""
    assert bench.store.health().reaper_last_run is None
    bench.store.reap()
    assert bench.store.health().reaper_last_run == bench.now()
    bench.world.pass_seconds(5)
    assert bench.store.reap() == 0
    assert bench.store.health().reaper_last_run == bench.now()


def test_nothing_due_changes_nothing_else(bench: Bench) -> None:
    """A reap with nothing to do writes its own time and not one event."""
    bench.leased()
    before, seq = dump(bench.path), bench.seq()
    bench.store.reap()
    after = dump(bench.path)
    del before["meta"], after["meta"]
    assert (after, bench.seq()) == (before, seq)


@pytest.mark.parametrize("number", [99, 100, 101, 250])
def test_more_than_one_settle_holds(bench: Bench, number: int) -> None:
    """A reap goes on over as many bounded transactions as it takes, and counts each thing once."""
    for _ in range(number):
        bench.enqueue()
        bench.claim()
    bench.world.pass_seconds(LAPSE)
    assert bench.store.health().queues["q"].expired_leases == number
    assert bench.store.reap() == number
    assert bench.counts().ready == number
    assert [line.type for line in bench.log()].count("lease_lapsed") == number


def test_more_than_one_turn_holds(bench: Bench) -> None:
    """A backlog beyond what one turn may settle is settled in turns: a claim and a reap both get through."""
    for _ in range(1_150):
        bench.enqueue(delay_seconds=5)
    bench.world.pass_seconds(5)
    bench.claim()
    assert bench.store.reap() == 0
    assert (bench.counts().ready, bench.counts().leased) == (1_149, 1)


def test_dead_letters_of_one_settle_release_their_waiter_once(bench: Bench) -> None:
    """A task that waits for several that die in the same moment is released once, with nothing pending."""
    bench.queue("q", max_attempts=1)
    first = [bench.enqueue(kind="first") for _ in range(5)]
    bench.enqueue(task_id="d", depends_on=first)
    for _ in first:
        bench.claim()
    bench.world.pass_seconds(LAPSE)
    assert bench.store.reap() == 5
    task = bench.store.task("d")
    assert (task.state, task.pending_deps) == ("ready", 0)
    assert bench.story("d") == ["enqueued", "dependencies_met"]


@pytest.mark.parametrize(
    "damage",
    [
        "update tasks set state = 3 where task_id = 'held'; update counts set leased = 0, done = 1",
        "update tasks set state = 0 where task_id = 'held'; update counts set leased = 0, ready = 2",
        "update leases set serial = 999",
        "update tasks set due = 1 where task_id = 'held'",
        "update tasks set state = 5 where task_id = 'parked'; update counts set waiting = 0, cancelled = 1",
    ],
)
def test_damage_does_not_stop_time(bench: Bench, damage: str) -> None:
    """A lease or an instant that belongs to no task it could is passed over: what else is due is settled, in
    its queue and in others, a claim gets its task, and neither goes round for ever.
    """
    for queue in ("q", "r"):
        bench.queue(queue)
    bench.enqueue(task_id="held", priority=2)
    bench.enqueue(task_id="parked", priority=1)
    held, parked = bench.claim(), bench.claim()
    assert (held.task_id, parked.task_id) == ("held", "parked")
    bench.store.park("parked", parked.fencing_token, "why", LAPSE)
    bench.enqueue(task_id="late", delay_seconds=LAPSE, priority=3)
    bench.enqueue("r", task_id="other", delay_seconds=LAPSE)
    with closing(apsw.Connection(str(bench.path))) as connection:
        connection.execute(damage + " where queue = 1" * (";" in damage))
    bench.world.pass_seconds(LAPSE)
    done: list[object] = []
    work = threading.Thread(
        target=lambda: done.extend((bench.store.reap(), bench.claim().task_id, bench.claim("r").task_id)),
        daemon=True,
    )
    work.start()
    work.join(10)
    assert done[1:] == ["late", "other"]


def test_only_an_admin_key_reaps(bench: Bench) -> None:
    """A key without the admin scope settles nothing by reaping."""
    bench.leased()
    bench.world.pass_seconds(LAPSE)
    refused(bench, "scope_denied", bench.key().reap)
    assert bench.key(scopes=["admin"], queues=["other"]).reap() == 1
