"""T19: a park gives a lease back while the task waits for input; it costs nothing and is never lost."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from conformance.audit import audit
from conformance.bench import PAST_SHORT, SHORT, Bench, code_of, together
from tessera.models import TaskView


def park(bench: Bench, queue: str, resume_within: float | None = None) -> TaskView:
    """Claim the queue's next task and park it."""
    lease = bench.claim(queue, "asker")
    return bench.client.park(lease.task_id, lease.fencing_token, "which one?", resume_within)


def test_a_park_ends_the_lease_without_a_failure(bench: Bench) -> None:
    """The task waits for input, the token is spent, and nothing is counted against the task."""
    queue = bench.queue(max_attempts=1)
    task_id = bench.enqueue(queue)
    view = park(bench, queue)
    assert view == bench.task(task_id)
    assert (view.state, view.wait_reason, view.park_reason) == ("waiting", "input", "which one?")
    assert (view.failures, view.parks, view.attempts, view.worker) == (0, 1, 1, None)
    assert (view.expires_at, view.resume_at) == (None, None)
    bench.idle(queue)
    with bench.refused("stale_lease", task_id):
        bench.client.submit(task_id, view.fencing_token, None, bench.name("k"))
    assert bench.counts(queue) == {"waiting": 1}
    assert bench.last(task_id, "parked").worker == "asker"
    audit(bench)


def test_a_resume_brings_the_task_back_with_its_input(bench: Bench) -> None:
    """The next lease has a new token and carries the input; a lease that follows carries it again."""
    queue = bench.queue()
    task_id = bench.enqueue(queue, brief={"ask": True})
    park(bench, queue)
    view = bench.client.resume(task_id, {"choice": [1, "b"]})
    assert (view.state, view.wait_reason, view.park_reason, view.parks) == ("ready", None, None, 1)
    lease = bench.claim(queue)
    assert (lease.fencing_token, lease.attempts, lease.failures, lease.parks) == (2, 2, 0, 1)
    assert lease.brief == {"ask": True}
    assert [(given.park, given.input) for given in lease.inputs] == [(1, {"choice": [1, "b"]})]
    bench.fail(lease)
    assert bench.claim(queue).inputs == lease.inputs
    assert bench.story(task_id)[:4] == ["enqueued", "claimed", "parked", "resumed"]
    audit(bench)


def test_each_park_counts_and_keeps_its_own_input(bench: Bench) -> None:
    """After several parks the lease carries every input in order, each with the number of its park."""
    queue = bench.queue(max_attempts=1)
    task_id = bench.enqueue(queue)
    inputs = [None, False, "three", {"four": 4}]
    for number, given in enumerate(inputs, start=1):
        assert park(bench, queue).parks == number
        bench.client.resume(task_id, given)
    lease = bench.claim(queue)
    assert (lease.parks, lease.attempts, lease.failures) == (4, 5, 0)
    assert [(given.park, given.input) for given in lease.inputs] == list(enumerate(inputs, start=1))
    assert lease.inputs == sorted(lease.inputs, key=lambda given: given.resumed_at)
    assert bench.ok(lease).state == "done"
    audit(bench)


def test_a_resume_that_names_an_older_park_is_refused(bench: Bench) -> None:
    """An answer to an earlier question is never taken for the answer to a later one."""
    queue = bench.queue()
    task_id = bench.enqueue(queue)
    park(bench, queue)
    bench.client.resume(task_id, "first", park=1)
    park(bench, queue)
    for wrong in (1, 3):
        with bench.refused("invalid_state", task_id):
            bench.client.resume(task_id, "late", park=wrong)
    bench.client.resume(task_id, "second", park=2)
    with bench.refused("invalid_state", task_id):
        bench.client.resume(task_id, "twice", park=2)
    assert [given.input for given in bench.claim(queue).inputs] == ["first", "second"]
    audit(bench)


def test_only_a_parked_task_can_be_resumed(bench: Bench) -> None:
    """Ready, leased, depending and finished tasks refuse an input; an unknown one is not found."""
    queue = bench.queue()
    task_id = bench.enqueue(queue)
    depending = bench.enqueue(queue, depends_on=[task_id])
    with bench.refused("invalid_state", task_id):
        bench.client.resume(task_id, {})
    lease = bench.claim(queue)
    for waiting in (task_id, depending):
        with bench.refused("invalid_state", waiting):
            bench.client.resume(waiting, {})
    bench.ok(lease)
    with bench.refused("invalid_state", task_id):
        bench.client.resume(task_id, {})
    with bench.refused("not_found"):
        bench.client.resume(bench.name("nobody"), {})
    audit(bench)


def test_only_the_live_lease_may_park(bench: Bench) -> None:
    """A guessed token, a lapsed lease and an ended one park nothing."""
    queue = bench.queue(**SHORT)
    task_id = bench.enqueue(queue)
    token = bench.claim(queue).fencing_token
    with bench.refused("stale_lease"):
        bench.client.park(task_id, token + 1, "guessed")
    bench.pass_seconds(PAST_SHORT)
    with bench.refused("stale_lease"):
        bench.client.park(task_id, token, "lapsed")
    assert (bench.task(task_id).failures, bench.task(task_id).parks) == (1, 0)
    bench.lengthen(queue)
    lease = bench.claim(queue)
    bench.client.park(task_id, lease.fencing_token, "in time")
    with bench.refused("stale_lease", task_id):
        bench.client.park(task_id, lease.fencing_token, "again")
    audit(bench)


@pytest.mark.parametrize("notice", ["claim", "reap", "resume"])
def test_a_parked_task_wakes_when_its_time_is_up(bench: Bench, notice: str) -> None:
    """With `resume_within` the task comes back by itself, told that it timed out, with no failure counted."""
    queue = bench.queue(max_attempts=1)
    task_id = bench.enqueue(queue)
    resume_at = park(bench, queue, resume_within=1).resume_at
    assert resume_at is not None
    bench.idle(queue)
    bench.pass_until(resume_at)
    notices: dict[str, Callable[[], object]] = {
        "claim": lambda: None, "reap": lambda: bench.client.reap(),
        "resume": lambda: code_of(lambda: bench.client.resume(task_id, "too late")),
    }  # fmt: skip
    assert notices[notice]() in (None, "invalid_state") or notice == "reap"
    lease = bench.claim(queue)
    assert (lease.task_id, lease.failures, lease.parks) == (task_id, 0, 1)
    assert [(given.park, given.input) for given in lease.inputs] == [(1, {"timed_out": True})]
    assert bench.story(task_id) == ["enqueued", "claimed", "parked", "park_expired", "claimed"]
    audit(bench)


def test_an_answer_in_time_stops_the_timer(bench: Bench) -> None:
    """A task that was resumed before its time is not woken again when that time comes."""
    queue = bench.queue()
    task_id = bench.enqueue(queue)
    resume_at = park(bench, queue, resume_within=2).resume_at
    assert resume_at is not None
    bench.client.resume(task_id, "in time")
    lease = bench.claim(queue)
    bench.pass_until(resume_at)
    bench.client.reap()
    assert bench.state(task_id) == "leased"
    assert [given.input for given in lease.inputs] == ["in time"]
    bench.ok(lease)
    audit(bench)


def test_a_park_without_a_time_waits_for_ever(bench: Bench) -> None:
    """No reap and no claim wakes a task that was parked without `resume_within`."""
    queue = bench.queue(**SHORT)
    task_id = bench.enqueue(queue)
    park(bench, queue)
    bench.pass_seconds(PAST_SHORT)
    bench.client.reap()
    bench.idle(queue)
    assert (bench.state(task_id), bench.task(task_id).failures) == ("waiting", 0)
    audit(bench)


def test_many_answers_at_once_have_one_winner(bench: Bench) -> None:
    """8 resumes at the same moment: one input is stored, seven are refused."""
    queue = bench.queue()
    task_id = bench.enqueue(queue)
    park(bench, queue)
    codes = together(8, lambda n: code_of(lambda: bench.client.resume(task_id, n)))
    assert sorted(map(str, codes)) == ["None"] + ["invalid_state"] * 7
    assert [given.input for given in bench.claim(queue).inputs] == [codes.index(None)]
    audit(bench)


def test_an_input_that_its_schema_forbids_is_refused(bench: Bench) -> None:
    """A park may say what its input must look like; anything else leaves the task parked."""
    queue = bench.queue()
    task_id = bench.enqueue(queue)
    lease = bench.claim(queue)
    schema = {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}
    bench.client.park(task_id, lease.fencing_token, "a number", input_schema=schema)
    for wrong in ({}, {"n": "one"}, None):
        with bench.refused("invalid_request", task_id):
            bench.client.resume(task_id, wrong)
    bench.client.resume(task_id, {"n": 1})
    assert [given.input for given in bench.claim(queue).inputs] == [{"n": 1}]
    audit(bench)
