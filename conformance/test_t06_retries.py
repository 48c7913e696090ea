"""T06: a failure is tried again after a bounded wait, and the last one ends the task for good."""

from __future__ import annotations

import pytest

from conformance.audit import audit
from conformance.bench import PAST_SHORT, SHORT, Bench, seconds_between

MICROSECOND = 1e-6


def waited(bench: Bench, task_id: str, failed_at: str) -> float:
    """Seconds from a failure to the instant from which the task may be claimed again."""
    not_before = bench.task(task_id).not_before
    return 0 if not_before is None else seconds_between(failed_at, not_before)


def test_the_third_failure_is_the_last(bench: Bench) -> None:
    """Two failures and a lapse exhaust three attempts: the task is dead, and every attempt is in the log."""
    queue = bench.queue(**SHORT, max_attempts=3)
    task_id = bench.enqueue(queue)
    assert bench.fail(bench.claim(queue), "first").state == "ready"
    bench.claim(queue, "silent")
    bench.pass_seconds(PAST_SHORT)
    bench.lengthen(queue)
    third = bench.claim(queue)
    assert (third.attempts, third.failures) == (3, 2)
    assert bench.fail(third, "third", output={"partial": [1]}).state == "dead"
    view = bench.task(task_id)
    assert (view.state, view.attempts, view.failures, view.last_error) == ("dead", 3, 3, "third")
    assert bench.counts(queue) == {"dead": 1}
    assert bench.story(task_id) == [
        "enqueued", "claimed", "submitted", "retry_scheduled", "claimed", "lease_lapsed", "retry_scheduled",
        "claimed", "submitted", "dead_lettered",
    ]  # fmt: skip
    results = bench.client.results(task_id)
    assert [(result.ok, result.error, result.output) for result in results] == [
        (False, "first", None), (False, "third", {"partial": [1]}),
    ]  # fmt: skip
    audit(bench)


def test_silence_alone_can_exhaust_the_attempts(bench: Bench) -> None:
    """A task whose holders only ever fall silent is dead too, though nobody ever submits."""
    queue = bench.queue(**SHORT, max_attempts=2)
    task_id = bench.enqueue(queue)
    for failures in (1, 2):
        bench.claim(queue)
        bench.pass_seconds(PAST_SHORT)
        bench.client.reap()
        assert bench.task(task_id).failures == failures
    assert bench.state(task_id) == "dead"
    assert bench.client.results(task_id) == []
    assert bench.story(task_id).count("lease_lapsed") == 2
    audit(bench)


def test_dead_is_final(bench: Bench) -> None:
    """A dead task is never claimed, resumed or cancelled; its work returns only as a new task."""
    queue = bench.queue(max_attempts=1)
    task_id = bench.enqueue(queue, kind="fragile", priority=3, brief={"again": 1})
    lease = bench.claim(queue)
    bench.fail(lease)
    bench.idle(queue)
    with bench.refused("stale_lease", task_id):
        bench.client.submit(task_id, lease.fencing_token, None, bench.name("k"))
    with bench.refused("invalid_state", task_id):
        bench.client.resume(task_id, {"go": "on"})
    with bench.refused("invalid_state", task_id):
        bench.client.cancel(task_id, "tidy")
    again = bench.client.requeue(task_id)
    view = bench.task(again)
    assert again != task_id
    assert (view.state, view.requeued_from, view.kind, view.priority) == ("ready", task_id, "fragile", 3)
    assert (view.brief, view.attempts, view.failures) == ({"again": 1}, 0, 0)
    assert bench.state(task_id) == "dead"
    assert bench.counts(queue) == {"ready": 1, "dead": 1}
    assert bench.ok(bench.claim(queue)).task_id == again
    with bench.refused("invalid_state", again):
        bench.client.requeue(again)
    audit(bench)


def test_the_wait_doubles_up_to_its_cap(bench: Bench) -> None:
    """The n-th failure waits between half and all of base * 2^(n - 1), or of the cap if that is less."""
    queue = bench.queue(backoff_base_seconds=1, backoff_cap_seconds=2, max_attempts=4)
    task_id = bench.enqueue(queue)
    for ceiling in (1, 2, 2):
        receipt = bench.fail(bench.claim(queue))
        wait = waited(bench, task_id, receipt.submitted_at)
        assert ceiling / 2 - MICROSECOND <= wait <= ceiling + MICROSECOND
        bench.idle(queue)
        not_before = bench.task(task_id).not_before
        assert not_before is not None
        bench.pass_until(not_before)
    assert bench.fail(bench.claim(queue)).state == "dead"
    assert bench.task(task_id).not_before is None
    audit(bench)


@pytest.mark.parametrize(
    ("base", "cap", "ceiling"), [(30, 900, 30), (600, 90, 90), (2_592_000, 2_592_000, 2_592_000)]
)
def test_every_first_wait_is_within_its_bounds(bench: Bench, base: int, cap: int, ceiling: int) -> None:
    """Thirty first failures wait between half the ceiling and the ceiling, and not all the same time."""
    queue = bench.queue(backoff_base_seconds=base, backoff_cap_seconds=cap)
    for _ in range(30):
        bench.enqueue(queue)
    receipts = [bench.fail(bench.claim(queue)) for _ in range(30)]
    waits = [waited(bench, receipt.task_id, receipt.submitted_at) for receipt in receipts]
    assert all(ceiling / 2 - MICROSECOND <= wait <= ceiling + MICROSECOND for wait in waits)
    assert len(set(waits)) > 1, "chance plays no part"
    bench.idle(queue)
    assert bench.counts(queue) == {"ready": 30}
    audit(bench)


def test_without_backoff_a_failed_task_is_ready_at_once(bench: Bench) -> None:
    """A base of zero means no wait."""
    queue = bench.queue(backoff_base_seconds=0, backoff_cap_seconds=900)
    task_id = bench.enqueue(queue)
    bench.fail(bench.claim(queue))
    assert bench.claim(queue).task_id == task_id
    audit(bench)


def test_a_lapse_waits_like_a_failure(bench: Bench) -> None:
    """A lapsed task waits out its backoff too; it is ready in the counts and yet not claimable."""
    queue = bench.queue(**SHORT, backoff_base_seconds=600, backoff_cap_seconds=600)
    task_id = bench.enqueue(queue)
    bench.claim(queue)
    bench.pass_seconds(PAST_SHORT)
    bench.idle(queue)
    view = bench.task(task_id)
    assert (view.state, view.failures) == ("ready", 1)
    assert 300 - MICROSECOND <= waited(bench, task_id, view.updated_at) <= 600 + MICROSECOND
    assert bench.counts(queue) == {"ready": 1}
    audit(bench)


def test_giving_a_lease_back_costs_nothing(bench: Bench) -> None:
    """A release counts no failure, waits no backoff, and can ask for a delay of its own."""
    queue = bench.queue(backoff_base_seconds=600, backoff_cap_seconds=600, max_attempts=1)
    task_id = bench.enqueue(queue)
    first = bench.claim(queue)
    view = bench.client.release(task_id, first.fencing_token)
    assert (view.state, view.failures, view.attempts) == ("ready", 0, 1)
    second = bench.claim(queue)
    assert second.fencing_token == first.fencing_token + 1
    bench.client.release(task_id, second.fencing_token, delay_seconds=600)
    bench.idle(queue)
    assert bench.story(task_id) == ["enqueued", "claimed", "released", "claimed", "released"]
    audit(bench)
