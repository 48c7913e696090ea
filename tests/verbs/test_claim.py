"""claim: lease the next ready task of a queue. (Specification §5.2.)"""

from __future__ import annotations

from typing import Any

import pytest
from verbs.bench import LAPSE, Bench
from verbs.refusals import dump, unchanged

from tessera.models import Empty, Lease

VERBS = ("claim",)


def test_the_whole_lease(bench: Bench) -> None:
    """A lease carries every field of the contract, and the task shows the same."""
    bench.queue("long", heartbeat_seconds=7, miss_limit=2, lease_seconds=600)
    task_id = bench.enqueue("long", kind="k", brief={"n": 1}, priority=3, effect_class="write-internal")
    bench.world.pass_seconds(1)
    lease = bench.claim("long", "worker ü")
    assert lease == Lease(
        task_id=task_id, queue="long", kind="k", effect_class="write-internal", priority=3, brief={"n": 1},
        worker="worker ü", fencing_token=1, attempts=1, failures=0, parks=0, claimed_at=bench.now(),
        expires_at=bench.after(14), hard_expires_at=bench.after(600), heartbeat_seconds=7, parent_id=None,
        depth=0, children=[], dependencies=[], inputs=[],
    )  # fmt: skip
    task = bench.store.task(task_id)
    assert (task.state, task.worker, task.claimed_at) == ("leased", "worker ü", bench.now())
    assert (task.expires_at, task.updated_at) == (lease.expires_at, bench.now())
    assert (task.fencing_token, task.attempts, task.failures) == (1, 1, 0)
    assert bench.counts("long").leased == 1


@pytest.mark.parametrize(
    ("heartbeat", "misses", "lease", "expires"), [(60, 3, 600, 180), (60, 3, 100, 100), (1, 1, 1, 1)]
)
def test_the_deadlines_of_a_lease(
    bench: Bench, heartbeat: int, misses: int, lease: int, expires: int
) -> None:
    """A lease lapses after its missed heartbeats or at its hard deadline, whichever comes first."""
    bench.queue("d", heartbeat_seconds=heartbeat, miss_limit=misses, lease_seconds=lease)
    granted = bench.leased("d")
    assert (granted.expires_at, granted.hard_expires_at) == (bench.after(expires), bench.after(lease))


def test_the_log_of_a_claim(bench: Bench) -> None:
    """One event names the queue, the task, the worker, the token and the key."""
    key = bench.key(queues=["q"])
    task_id = bench.enqueue()
    seq = bench.seq()
    key.claim("q", "w")
    (line,) = bench.log(seq)
    assert (line.type, line.queue, line.task_id, line.worker) == ("claimed", "q", task_id, "w")
    assert (line.fencing_token, line.key_id, line.data, line.at) == (1, bench.key_id(), None, bench.now())


def test_every_claim_raises_token_and_attempts(bench: Bench) -> None:
    """Attempts and fencing token rise by one with each claim, failures only with a failure."""
    task_id = bench.enqueue()
    for number in (1, 2, 3):
        lease = bench.claim()
        assert (lease.task_id, lease.fencing_token, lease.attempts, lease.failures) == (
            task_id, number, number, 0,
        )  # fmt: skip
        bench.store.release(task_id, number)


def test_priority_then_age_then_id(bench: Bench) -> None:
    """The highest priority goes first, among equals the oldest, among those the smallest id."""
    for task_id, priority in (("m", 0), ("z", 1), ("low", -1000), ("high", 1000)):
        bench.enqueue(task_id=task_id, priority=priority)
    bench.enqueue(task_id="b")
    bench.enqueue(task_id="a")
    bench.world.pass_seconds(1)
    bench.enqueue(task_id="A", priority=0)
    bench.enqueue(task_id="y", priority=1)
    got = [bench.claim().task_id for _ in range(8)]
    assert got == ["high", "z", "y", "a", "b", "m", "A", "low"]


@pytest.mark.parametrize(
    ("filters", "got"),
    [
        ({"kinds": ["b"]}, ["b1", "b2"]),
        ({"kinds": ["a", "b", "none"]}, ["b1", "a1", "b2"]),
        ({"effect_classes": ["write-internal"]}, ["b2"]),
        ({"kinds": ["b"], "effect_classes": ["read"]}, ["b1"]),
        ({"kinds": []}, []),
        ({"effect_classes": []}, []),
        ({"kinds": ["none"]}, []),
    ],
)
def test_filters(bench: Bench, filters: dict[str, Any], got: list[str]) -> None:
    """A filter takes only what it names, in the order that holds without it; an empty one takes nothing."""
    bench.enqueue(task_id="c1", kind="c", priority=9, effect_class="public")
    bench.enqueue(task_id="b1", kind="b", priority=5)
    bench.enqueue(task_id="a1", kind="a", priority=4)
    bench.enqueue(task_id="b2", kind="b", effect_class="write-internal")
    for task_id in got:
        assert bench.claim(**filters).task_id == task_id
    assert bench.store.claim("q", "w", **filters) is None


def test_without_filters_a_key_gets_what_it_covers(bench: Bench) -> None:
    """Leaving the filters out means every kind and effect class of the grant, and no other."""
    bench.enqueue(kind="other", priority=9)
    bench.enqueue(effect_class="write-internal", priority=8)
    mine = bench.enqueue()
    key = bench.key(queues=["q"], kinds=["k"], effect_classes=["read"])
    lease = key.claim("q", "w")
    assert lease is not None
    assert lease.task_id == mine
    assert key.claim("q", "w") is None
    assert bench.key().claim("q", "w", kinds=["other"]) is not None


def test_nothing_to_claim(bench: Bench) -> None:
    """An empty queue gives no lease, writes nothing, and says to come back within half a minute."""
    assert unchanged(bench, bench.store.claim, "q", "w") is None
    assert unchanged(bench, bench.store.claim_or_wait, "q", "w") == Empty(retry_after_seconds=30)


@pytest.mark.parametrize(
    ("due", "seconds"), [(0.000001, 1), (0.999999, 1), (1, 1), (1.25, 2), (29.5, 30), (31, 30)]
)
def test_when_to_come_back(bench: Bench, due: float, seconds: int) -> None:
    """An empty answer says, in whole seconds from 1 to 30, when the queue's next task may be due."""
    bench.enqueue(delay_seconds=due)
    assert bench.store.claim_or_wait("q", "w") == Empty(retry_after_seconds=seconds)


def test_a_lease_that_may_lapse_counts_as_due(bench: Bench) -> None:
    """The next lapse is a reason to come back as well."""
    bench.leased()
    bench.world.pass_seconds(7.5)
    assert bench.store.claim_or_wait("q", "w") == Empty(retry_after_seconds=3)


def test_a_claim_settles_its_queue_first(bench: Bench) -> None:
    """Lapses, retries and parks of the queue that are due are settled before the claim looks, others not."""
    bench.queue("other")
    lapsed, elsewhere = bench.leased(), bench.leased("other")
    parked = bench.leased()
    bench.store.park(parked.task_id, parked.fencing_token, "r", resume_within=LAPSE)
    delayed = bench.enqueue(delay_seconds=LAPSE)
    bench.world.pass_seconds(LAPSE)
    got = [bench.claim(worker="second").task_id for _ in range(3)]
    assert got == [lapsed.task_id, parked.task_id, delayed]
    assert bench.state(elsewhere.task_id) == "leased"
    assert bench.store.health().queues["other"].expired_leases == 1


def test_an_empty_claim_keeps_what_it_settled(bench: Bench) -> None:
    """A claim that finds nothing for itself still settles what was due."""
    lease = bench.leased()
    bench.world.pass_seconds(LAPSE)
    assert bench.store.claim("q", "w", kinds=["none"]) is None
    task = bench.store.task(lease.task_id)
    assert (task.state, task.failures, task.last_error) == ("ready", 1, "lease lapsed")


def test_the_same_key_gets_the_same_lease(bench: Bench) -> None:
    """A claim repeated under its idempotency key, by any worker and filter, costs no second attempt."""
    bench.enqueue()
    bench.enqueue()
    lease = bench.claim(idempotency_key="i")
    again = unchanged(bench, bench.store.claim, "q", "else", kinds=["none"], idempotency_key="i")
    assert again == lease
    bench.store.heartbeat(lease.task_id, lease.fencing_token)
    assert unchanged(bench, bench.store.claim, "q", "w", idempotency_key="i") == lease


@pytest.mark.parametrize("end", ["submit", "release", "lapse", "cancel"])
def test_once_its_lease_is_over_a_key_claims_anew(bench: Bench, end: str) -> None:
    """However the lease ended, the same idempotency key then takes another one."""
    bench.enqueue(priority=5)
    bench.enqueue()
    lease = bench.claim(idempotency_key="i")
    if end == "submit":
        bench.ok(lease)
    elif end == "release":
        bench.store.release(lease.task_id, lease.fencing_token, 60)
    elif end == "cancel":
        bench.store.cancel(lease.task_id, "r")
    else:
        bench.world.pass_seconds(LAPSE)
    after = bench.claim(idempotency_key="i")
    if end == "lapse":
        assert (after.task_id, after.fencing_token) == (lease.task_id, 2)
    else:
        assert after.task_id != lease.task_id


def test_idempotency_keys_of_claims_are_apart(bench: Bench) -> None:
    """The key counts for one grant and one queue only: elsewhere the same text claims its own lease."""
    bench.queue("other")
    for queue in ("q", "q", "q", "other"):
        bench.enqueue(queue)
    keys = bench.key(), bench.key()
    leases = [store.claim("q", "w", idempotency_key="i") for store in (bench.store, *keys)]
    leases.append(bench.claim("other", idempotency_key="i"))
    assert len({lease.task_id for lease in leases if lease}) == 4
    bench.store.submit(leases[0].task_id, 1, None, "i")  # a submit's keys are another matter


def test_a_claim_while_another_connection_writes(bench: Bench) -> None:
    """What another process wrote meanwhile is seen by the next claim: a queue, a task, a paused queue."""
    with bench.beside() as beside:
        assert bench.store.claim("q", "w") is None
        task_id = beside.enqueue(queue="q", kind="new-kind", brief={})
        assert bench.claim(kinds=["new-kind"]).task_id == task_id
        beside.enqueue(queue="q", kind="k", brief={})
        beside.pause_queue("q")
        assert bench.store.claim("q", "w") is None
        beside.resume_queue("q")
        bench.claim()


def test_reading_a_lease_twice_from_one_answer(bench: Bench) -> None:
    """An empty claim of a quiet queue leaves the file as it is, however often it is repeated."""
    bench.leased()
    before = dump(bench.path)
    for _ in range(20):
        assert bench.store.claim("q", "w") is None
    assert dump(bench.path) == before
