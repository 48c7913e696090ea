"""T10: health tells whether the database answers, when the reaper last ran, and how deep each queue is."""

from __future__ import annotations

from conformance.audit import audit
from conformance.bench import PAST_SHORT, SHORT, Bench, seconds_between


def test_health_reports_the_database_and_the_time(bench: Bench) -> None:
    """A working store says so, names its version, and its clock goes forwards."""
    first = bench.client.health()
    assert first.db_ok is True
    assert first.version
    bench.pass_seconds(0.1)
    later = bench.client.health()
    assert seconds_between(first.time, later.time) >= 0.1
    assert later.time.endswith("Z")
    assert len(later.time) == len("2026-01-01T00:00:00.000000Z")


def test_health_reports_the_reaper_s_last_run(bench: Bench) -> None:
    """After a reap the last run is no older than the reap, even if there was nothing to do."""
    before = bench.client.health().time
    bench.client.reap()
    first = bench.client.health().reaper_last_run
    assert first is not None
    assert first >= before
    bench.pass_seconds(0.1)
    bench.client.reap()
    second = bench.client.health().reaper_last_run
    assert second is not None
    assert second > first


def test_health_reports_how_deep_each_queue_is(bench: Bench) -> None:
    """The six counts of a queue are those of its tasks, and those that `counts` reports."""
    queue = bench.queue(max_attempts=1)
    tasks = [bench.enqueue(queue, priority=-n) for n in range(7)]
    bench.ok(bench.claim(queue))
    bench.fail(bench.claim(queue))
    parked = bench.claim(queue)
    bench.client.park(parked.task_id, parked.fencing_token, "a question")
    bench.claim(queue)
    bench.client.cancel(tasks[4], "unwanted")
    health = bench.client.health().queues[queue]
    assert (health.ready, health.leased, health.waiting) == (2, 1, 1)
    assert (health.done, health.dead, health.cancelled) == (1, 1, 1)
    assert bench.counts(queue) == {
        "ready": 2, "leased": 1, "waiting": 1, "done": 1, "dead": 1, "cancelled": 1,
    }  # fmt: skip
    audit(bench)


def test_health_reports_the_age_of_the_oldest_claimable_task(bench: Bench) -> None:
    """The age grows while a task could be claimed and is not; tasks that nobody could claim have none."""
    queue = bench.queue()
    assert bench.client.health().queues[queue].oldest_ready_age_seconds is None
    bench.enqueue(queue, delay_seconds=3_600)
    oldest = bench.enqueue(queue, depends_on=[bench.enqueue(queue, delay_seconds=3_600)])
    assert bench.client.health().queues[queue].oldest_ready_age_seconds is None
    bench.enqueue(queue)
    bench.pass_seconds(1)
    health = bench.client.health()
    age = health.queues[queue].oldest_ready_age_seconds
    assert age is not None
    assert 1 <= age <= seconds_between(bench.task(oldest).created_at, health.time)
    bench.claim(queue)
    assert bench.client.health().queues[queue].oldest_ready_age_seconds is None
    audit(bench)


def test_health_counts_leases_that_expired_and_were_not_reaped(bench: Bench) -> None:
    """A lease past its end counts as expired until it is settled; a live one never does."""
    queue, steady = bench.queue(**SHORT), bench.queue()
    for _ in range(3):
        bench.enqueue(queue)
        bench.claim(queue)
    bench.enqueue(steady)
    bench.claim(steady)
    bench.pass_seconds(PAST_SHORT)
    late = bench.client.health().queues[queue]
    assert late.expired_leases == late.leased  # a service's own reaper may have been there before us
    bench.client.reap()
    settled = bench.client.health().queues
    assert (settled[queue].expired_leases, settled[queue].leased, settled[queue].ready) == (0, 0, 3)
    assert (settled[steady].expired_leases, settled[steady].leased) == (0, 1)
    audit(bench)
