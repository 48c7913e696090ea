"""Leases: who holds one, when it ends, and what its end means to the one who held it."""

from __future__ import annotations

from verbs.bench import Bench
from verbs.refusals import dump, refused, refused_after_lapse, unchanged


def test_q01_a_lapse_is_the_leases_own(bench: Bench) -> None:
    """Q01: a lease lapses by its own clock, though a worker of the same name is alive on another lease."""
    bench.queue("q", heartbeat_seconds=1, miss_limit=1, lease_seconds=60)
    gone = bench.leased()
    alive = [bench.leased() for _ in range(3)]
    for _ in range(4):
        bench.world.pass_seconds(0.5)
        for lease in alive:
            bench.store.heartbeat(lease.task_id, 1)
    assert bench.store.reap() == 1
    task = bench.store.task(gone.task_id)
    assert (task.state, task.failures, task.last_error) == ("ready", 1, "lease lapsed")
    assert bench.story(gone.task_id) == ["enqueued", "claimed", "lease_lapsed", "retry_scheduled"]
    for lease in alive:
        held = bench.store.task(lease.task_id)
        assert (held.state, held.worker, held.failures) == ("leased", "w", 0)


def test_q06_the_hard_deadline_holds(bench: Bench) -> None:
    """Q06: work that is longer than its lease is fenced off at the hard deadline, heartbeats or not."""
    bench.queue("q", heartbeat_seconds=60, miss_limit=3, lease_seconds=10)
    first = bench.leased()
    for _ in range(4):
        bench.world.pass_seconds(2)
        assert bench.store.heartbeat(first.task_id, 1).expires_at == first.hard_expires_at
    bench.world.pass_seconds(2)
    second = bench.claim(worker="second")
    assert (second.task_id, second.fencing_token) == (first.task_id, 2)
    for _ in range(3):
        refused(bench, "stale_lease", bench.store.heartbeat, first.task_id, 1)
        bench.world.pass_seconds(2)
    refused(bench, "stale_lease", bench.store.submit, first.task_id, 1, "late", "late")
    bench.ok(second, "in time")
    (result,) = bench.store.results(first.task_id)
    assert (result.output, result.worker, result.fencing_token) == ("in time", "second", 2)


def test_q07_the_token_is_the_right(bench: Bench) -> None:
    """Q07: after a restart the same name with the token goes on, and a guessed token is nothing."""
    issued = bench.store.issue_key()
    key = bench.store.as_key(issued.key)
    bench.enqueue()
    lease = key.claim("q", "w")
    assert lease is not None
    again = bench.reopened().as_key(issued.key)
    bench.world.pass_seconds(5)
    assert again.heartbeat(lease.task_id, 1).expires_at == bench.after(5)
    for guess in (2, 3, 2**53 - 1):
        refused(bench, "stale_lease", again.heartbeat, lease.task_id, guess)
        refused(bench, "stale_lease", again.submit, lease.task_id, guess, None, "i")
    assert again.submit(lease.task_id, 1, None, "i").state == "done"


def test_q08_a_split_ends_the_lease(bench: Bench) -> None:
    """Q08: after a split its token writes nothing any more, and the split was no failure."""
    lease = bench.leased(task_id="p")
    bench.store.split("p", 1, [{"brief": {}, "kind": "c"}, {"brief": {}, "kind": "c"}])
    refused(bench, "stale_lease", bench.store.heartbeat, "p", 1)
    refused(bench, "stale_lease", bench.store.submit, "p", 1, None, "i")
    refused(bench, "stale_lease", bench.store.split, "p", 1, [{"brief": {}}])
    refused(bench, "stale_lease", bench.store.park, "p", 1, "r")
    refused(bench, "stale_lease", bench.store.release, "p", 1)
    parent = bench.store.task("p")
    assert (parent.failures, parent.pending_children, parent.state) == (0, 2, "waiting")
    bench.world.pass_seconds(1_000)
    assert bench.store.reap() == 0
    assert bench.store.task(lease.task_id).failures == 0


def test_q12_a_submit_after_the_lapse(bench: Bench) -> None:
    """Q12: a submit that is the first to meet a lapse settles it and is refused, on the last attempt too."""
    for attempts, state in ((3, "ready"), (1, "dead")):
        bench.queue("q", max_attempts=attempts, backoff_base_seconds=30)
        lease = bench.leased(kind=state)
        bench.world.pass_seconds(10)
        refused_after_lapse(bench, "stale_lease", bench.store.submit, lease.task_id, 1, 1, f"i{state}")
        task = bench.store.task(lease.task_id)
        assert (task.state, task.failures) == (state, 1)
        assert "lease_lapsed" in bench.story(lease.task_id)
        assert bench.store.results(lease.task_id) == []


def test_q14_the_first_claim_after_a_start(bench: Bench) -> None:
    """Q14: the first request after a start may be a claim: it settles its own queue, and health tells of the
    others.
    """
    bench.queue("other")
    bench.store.reap()
    reaped = bench.now()
    lapsed = [bench.leased(), bench.leased(), bench.leased("other")]
    bench.world.pass_seconds(9)
    live = bench.leased()
    bench.world.pass_seconds(1)
    bench.reopened()
    health = unchanged(bench, bench.store.health)
    assert (health.queues["q"].expired_leases, health.queues["other"].expired_leases) == (2, 1)
    got = {bench.claim(worker="second").task_id for _ in range(2)}
    assert got == {lapsed[0].task_id, lapsed[1].task_id}
    assert bench.store.claim("q", "third") is None
    health = bench.store.health()
    assert (health.queues["q"].expired_leases, health.queues["other"].expired_leases) == (0, 1)
    assert health.reaper_last_run == reaped
    assert bench.store.task(live.task_id).worker == "w"


def test_q17_one_of_two_holders_hands_in(bench: Bench) -> None:
    """Q17: of two leases in sequence only the live one hands in, in whichever order both try."""
    for order in ((1, 2), (2, 1)):
        task_id = bench.leased().task_id
        bench.world.pass_seconds(10)
        assert bench.claim(worker="second").fencing_token == 2
        for token in order:
            if token == 2:
                bench.store.submit(task_id, 2, "two", bench.name())
            else:
                refused(bench, "stale_lease", bench.store.submit, task_id, 1, "one", bench.name())
        assert [(one.output, one.fencing_token) for one in bench.store.results(task_id)] == [("two", 2)]


def test_q19_a_cancelled_lease_is_gone_at_once(bench: Bench) -> None:
    """Q19: cancelling a leased task leaves no state between: the lease is gone and nothing revives it."""
    lease = bench.leased()
    bench.store.cancel(lease.task_id, "r")
    assert dump(bench.path)["leases"] == []
    assert (bench.counts().cancelled, bench.counts().leased) == (1, 0)
    bench.world.pass_seconds(1_000)
    assert (bench.store.reap(), bench.store.claim("q", "w")) == (0, None)
    task = bench.store.task(lease.task_id)
    assert (task.state, task.failures) == ("cancelled", 0)


def test_q22_giving_back_costs_no_lease(bench: Bench) -> None:
    """Q22: a park that is over, a failure without backoff and a release are claimable at once, not when the
    lease would have ended.
    """
    bench.queue("q", lease_seconds=3_600, heartbeat_seconds=600, backoff_base_seconds=0)
    parked = bench.leased()
    bench.store.park(parked.task_id, 1, "r", resume_within=1)
    bench.world.pass_seconds(1)
    assert bench.claim().task_id == parked.task_id
    failed = bench.leased()
    bench.fail(failed)
    assert bench.claim().task_id == failed.task_id
    bench.store.release(failed.task_id, 2)
    assert bench.claim().task_id == failed.task_id


def test_q23_one_task_per_slot(bench: Bench) -> None:
    """Q23: a schedule that names its slot in the task's id has one task per slot, however often it fires."""
    slots = [f"nightly:2026-11-{day}T02:00" for day in (29, 30)]
    with bench.beside() as other:
        for slot in slots:
            for scheduler in (bench.store, other, bench.store):
                assert scheduler.enqueue(queue="q", kind="k", brief={}, task_id=slot) == slot
            bench.ok(bench.claim())
            assert unchanged(bench, other.enqueue, queue="q", kind="k", brief={}, task_id=slot) == slot
            assert bench.store.claim("q", "w") is None
    assert [task.task_id for task in bench.store.tasks().tasks] == slots
    assert [line.task_id for line in bench.log() if line.type == "enqueued"] == slots


def test_q24_delayed_work_is_not_leased_while_it_waits(bench: Bench) -> None:
    """Q24: a delay or a backoff far longer than a lease is waited out by the queue, not by a worker."""
    bench.queue("q", lease_seconds=1, backoff_base_seconds=900, backoff_cap_seconds=900)
    delayed = bench.enqueue(task_id="delayed", delay_seconds=900)
    bench.enqueue(task_id="failed", kind="f")
    bench.fail(bench.claim())
    due = bench.now()
    for _ in range(90):
        assert [bench.store.claim("q", f"w{number}") for number in range(8)] == [None] * 8
        bench.world.pass_seconds(10)
    got = [lease.task_id for n in range(8) if (lease := bench.store.claim("q", f"w{n}"))]
    assert sorted(got) == ["delayed", "failed"]
    assert bench.after(-900) == due
    assert (bench.store.task(delayed).attempts, bench.store.task("failed").attempts) == (1, 2)
    assert bench.store.task("failed").failures == 1


def test_q26_a_holder_learns_of_the_end_at_its_next_heartbeat(bench: Bench) -> None:
    """Q26: after a cancel or a lapse the holder's next word is refused, and nothing it sends is stored."""
    for end in ("cancel", "lapse"):
        lease = bench.leased(kind=end)
        at = lease.task_id, 1
        bench.world.pass_seconds(1)
        bench.store.heartbeat(*at)
        if end == "cancel":
            bench.store.cancel(lease.task_id, "r")
        else:
            bench.world.pass_seconds(10)
            bench.store.reap()
        refused(bench, "stale_lease", bench.store.heartbeat, *at)
        refused(bench, "stale_lease", bench.store.submit, *at, "work", f"i{end}")
        refused(bench, "stale_lease", bench.store.split, *at, [{"brief": {}}])
        refused(bench, "stale_lease", bench.store.park, *at, "r")
        refused(bench, "stale_lease", bench.store.release, *at)
        assert bench.store.results(lease.task_id) == []
        assert bench.store.task(lease.task_id).children == []
