"""T04: silence ends a lease, heartbeats keep it, and no heartbeat carries it past its hard deadline."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from conformance.audit import audit
from conformance.bench import PAST_SHORT, SHORT, Bench, seconds_between


def test_a_lapsed_lease_returns_the_task_with_a_higher_token(bench: Bench) -> None:
    """After missed heartbeats the next claim gets the task again, one failure and one token further."""
    queue = bench.queue(**SHORT)
    task_id = bench.enqueue(queue, brief={"read": "me"})
    first = bench.claim(queue, "first")
    assert (first.fencing_token, first.attempts, first.failures) == (1, 1, 0)
    bench.pass_seconds(PAST_SHORT)
    bench.lengthen(queue)
    second = bench.claim(queue, "second")
    assert (second.task_id, second.brief) == (task_id, {"read": "me"})
    assert second.fencing_token > first.fencing_token
    assert (second.attempts, second.failures) == (2, 1)
    assert bench.task(task_id).last_error == "lease lapsed"
    assert bench.client.results(task_id) == []
    assert bench.ok(second).state == "done"
    assert bench.story(task_id) == [
        "enqueued", "claimed", "lease_lapsed", "retry_scheduled", "claimed", "submitted",
    ]  # fmt: skip
    assert bench.last(task_id, "lease_lapsed").worker == "first"
    audit(bench)


def test_the_reaper_settles_a_lapse_that_nobody_asks_about(bench: Bench) -> None:
    """Without any claim, a reap returns the task of a silent worker to its queue, once."""
    queue = bench.queue(**SHORT)
    task_id = bench.enqueue(queue)
    bench.claim(queue)
    bench.pass_seconds(PAST_SHORT)
    bench.client.reap()
    bench.client.reap()
    view = bench.task(task_id)
    assert (view.state, view.failures, view.attempts, view.fencing_token) == ("ready", 1, 1, 1)
    assert bench.counts(queue) == {"ready": 1}
    assert bench.story(task_id).count("lease_lapsed") == 1
    audit(bench)


def test_heartbeats_keep_a_lease(bench: Bench) -> None:
    """A worker that gives signs of life holds its lease for longer than the silence that would end it."""
    queue = bench.queue(heartbeat_seconds=1, miss_limit=3)
    task_id = bench.enqueue(queue)
    lease = bench.claim(queue)
    expires_at = lease.expires_at
    for _ in range(2):
        bench.pass_seconds(2)
        kept = bench.client.heartbeat(task_id, lease.fencing_token)
        assert kept.expires_at > expires_at
        assert (kept.fencing_token, kept.hard_expires_at) == (lease.fencing_token, lease.hard_expires_at)
        assert (kept.children, kept.dependencies, kept.inputs) == ([], [], [])
        expires_at = kept.expires_at
    bench.idle(queue)
    bench.client.reap()
    assert bench.task(task_id).expires_at == expires_at
    assert bench.ok(lease).state == "done"
    view = bench.task(task_id)
    assert (view.attempts, view.failures) == (1, 0)
    audit(bench)


def test_the_hard_deadline_holds_against_heartbeats(bench: Bench) -> None:
    """Heartbeats move a lease's end up to its hard deadline, never past it; then the lease lapses."""
    queue = bench.queue(heartbeat_seconds=1, miss_limit=3, lease_seconds=4)
    task_id = bench.enqueue(queue)
    lease = bench.claim(queue)
    assert seconds_between(lease.claimed_at, lease.expires_at) == 3
    assert seconds_between(lease.claimed_at, lease.hard_expires_at) == 4
    bench.pass_seconds(2)
    assert bench.client.heartbeat(task_id, lease.fencing_token).expires_at == lease.hard_expires_at
    bench.pass_seconds(1)
    assert bench.client.heartbeat(task_id, lease.fencing_token).expires_at == lease.hard_expires_at
    bench.pass_seconds(1.3)
    with bench.refused("stale_lease"):
        bench.client.heartbeat(task_id, lease.fencing_token)
    assert bench.task(task_id).failures == 1
    audit(bench)


@pytest.mark.parametrize(
    ("heartbeat", "misses", "cap", "ends_after"),
    [(60, 3, 600, 180), (60, 10, 300, 300), (1, 1, 3_600, 1), (600, 10, 1, 1)],
)
def test_a_lease_ends_at_the_earlier_of_silence_and_cap(
    bench: Bench, heartbeat: int, misses: int, cap: int, ends_after: int
) -> None:
    """A new lease ends after the allowed silence or at its hard deadline, whichever comes first."""
    queue = bench.queue(heartbeat_seconds=heartbeat, miss_limit=misses, lease_seconds=cap)
    bench.enqueue(queue)
    lease = bench.claim(queue)
    assert seconds_between(lease.claimed_at, lease.expires_at) == ends_after
    assert seconds_between(lease.claimed_at, lease.hard_expires_at) == cap
    assert lease.heartbeat_seconds == heartbeat


def test_a_lapse_is_the_lease_s_own_whoever_else_lives(bench: Bench) -> None:
    """A worker that keeps one of its two leases alive loses the other; no life of the worker's counts."""
    queue = bench.queue(heartbeat_seconds=1, miss_limit=3)
    forgotten, kept = bench.enqueue(queue), bench.enqueue(queue)
    leases = {lease.task_id: lease for lease in (bench.claim(queue, "twin"), bench.claim(queue, "twin"))}
    bench.pass_seconds(2)
    bench.client.heartbeat(kept, leases[kept].fencing_token)
    bench.pass_seconds(1.5)
    bench.client.reap()
    assert (bench.state(forgotten), bench.task(forgotten).failures) == ("ready", 1)
    assert (bench.state(kept), bench.task(kept).failures) == ("leased", 0)
    audit(bench)


@pytest.mark.parametrize("verb", ["heartbeat", "submit", "split", "park", "release"])
def test_a_verb_that_finds_its_lease_lapsed_settles_it_and_is_refused(bench: Bench, verb: str) -> None:
    """Whatever the late holder tries, the lapse is counted first and the answer is `stale_lease`."""
    queue = bench.queue(**SHORT)
    task_id = bench.enqueue(queue)
    token = bench.claim(queue).fencing_token
    acts: dict[str, Callable[[], object]] = {
        "heartbeat": lambda: bench.client.heartbeat(task_id, token),
        "submit": lambda: bench.client.submit(task_id, token, {"late": True}, bench.name("k")),
        "split": lambda: bench.client.split(task_id, token, [{"brief": {}}]),
        "park": lambda: bench.client.park(task_id, token, "too late"),
        "release": lambda: bench.client.release(task_id, token),
    }
    bench.pass_seconds(PAST_SHORT)
    for _ in range(2):
        with bench.refused("stale_lease"):
            acts[verb]()
    view = bench.task(task_id)
    assert (view.state, view.failures, view.parks, view.children) == ("ready", 1, 0, [])
    assert bench.client.results(task_id) == []
    assert bench.story(task_id) == ["enqueued", "claimed", "lease_lapsed", "retry_scheduled"]
    audit(bench)


def test_a_change_of_settings_reaches_a_lease_at_its_next_heartbeat(bench: Bench) -> None:
    """Heartbeats go by the queue's settings of now, while the hard deadline stays as it was claimed."""
    queue = bench.queue(heartbeat_seconds=60, miss_limit=1, lease_seconds=600)
    task_id = bench.enqueue(queue)
    lease = bench.claim(queue)
    assert seconds_between(lease.claimed_at, lease.expires_at) == 60
    bench.client.define_queue(queue, miss_limit=10, lease_seconds=3_600)
    kept = bench.client.heartbeat(task_id, lease.fencing_token)
    assert seconds_between(kept.claimed_at, kept.expires_at) > 60
    assert kept.expires_at <= kept.hard_expires_at == lease.hard_expires_at
    audit(bench)
