"""T12: model jobs carry cost; a cancelled one returns its task; a lost lease asks its jobs to stop."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from conformance.audit import audit
from conformance.bench import PAST_SHORT, Bench, code_of, together
from tessera.models import Job, Lease


def leased(bench: Bench, queue: str, jobs: int = 1) -> tuple[Lease, list[str]]:
    """A new task, leased, and the ids of its jobs."""
    task_id = bench.enqueue(queue)
    lease = bench.claim(queue)
    assert lease.task_id == task_id
    return lease, [registered(bench, lease).job_id for _ in range(jobs)]


def registered(bench: Bench, lease: Lease) -> Job:
    """A new job under a lease."""
    job = bench.client.register_job(lease.task_id, lease.fencing_token, bench.name("job"), "muse")
    assert isinstance(job, Job)
    return job


def statuses(bench: Bench, task_id: str) -> list[str]:
    return [job.status for job in bench.client.jobs(task_id).jobs]


def test_a_job_carries_what_it_uses_and_costs(bench: Bench) -> None:
    """Model, status, usage and cost are kept as reported; what a report leaves out stays."""
    queue = bench.queue()
    lease, (job_id,) = leased(bench, queue)
    (job,) = bench.client.jobs(lease.task_id).jobs
    assert (job.job_id, job.task_id, job.fencing_token) == (job_id, lease.task_id, lease.fencing_token)
    assert (job.model, job.status, job.usage, job.cost_usd) == ("muse", "queued", {}, None)
    bench.client.update_job(job_id, "in_progress")
    bench.client.update_job(job_id, usage={"output_tokens": 812, "input_tokens": 3.0})
    done = bench.client.update_job(job_id, "completed", cost_usd=0.0153)
    assert (done.status, done.cost_usd) == ("completed", 0.0153)
    assert done.usage == {"input_tokens": 3, "output_tokens": 812}
    assert bench.client.jobs(lease.task_id).jobs == [done]
    assert (done.created_at, done.model) == (job.created_at, job.model)
    assert done.updated_at >= job.updated_at
    assert bench.ok(lease).state == "done"
    audit(bench)


def test_a_cancelled_job_returns_its_task(bench: Bench) -> None:
    """Under its live lease it is a failure: the lease is over, the task comes back with a higher token."""
    queue = bench.queue()
    lease, (first, second) = leased(bench, queue, jobs=2)
    assert bench.client.update_job(first, "cancelled").status == "cancelled"
    task = bench.task(lease.task_id)
    assert (task.state, task.failures, task.attempts, task.worker) == ("ready", 1, 1, None)
    assert task.last_error
    assert statuses(bench, lease.task_id) == ["cancelled", "cancel_requested"]
    with bench.refused("stale_lease", lease.task_id):
        bench.client.submit(lease.task_id, lease.fencing_token, None, bench.name("k"))
    assert bench.story(lease.task_id) == [
        "enqueued", "claimed", "job_registered", "job_registered", "job_updated", "retry_scheduled",
        "jobs_cancel_requested",
    ]  # fmt: skip
    assert bench.last(lease.task_id, "jobs_cancel_requested").data == {"jobs": 1}
    again = bench.claim(queue)
    assert (again.task_id, again.fencing_token) == (lease.task_id, lease.fencing_token + 1)
    bench.client.update_job(second, "cancelled")
    assert bench.ok(again).state == "done"
    audit(bench)


def test_a_job_cancelled_at_the_last_attempt_is_the_end(bench: Bench) -> None:
    """The task is dead, and whatever waits for it goes on, as after any last failure."""
    queue = bench.queue(max_attempts=1)
    bench.enqueue(queue)
    lease = bench.claim(queue)
    (child,) = bench.client.split(lease.task_id, lease.fencing_token, [{"brief": {}}])
    dependent = bench.enqueue(queue, depends_on=[child])
    held = bench.claim(queue)
    assert held.task_id == child
    bench.client.update_job(registered(bench, held).job_id, "cancelled")
    assert [bench.state(one) for one in (child, lease.task_id, dependent)] == ["dead", "ready", "ready"]
    assert bench.story(child)[-2:] == ["job_updated", "dead_lettered"]
    assert bench.counts(queue) == {"ready": 2, "dead": 1}
    audit(bench)


def test_one_cancelled_job_is_one_failure(bench: Bench) -> None:
    """8 reports at once that both jobs of a lease were cancelled fail the task once."""
    queue = bench.queue()
    lease, jobs = leased(bench, queue, jobs=2)
    codes = together(8, lambda n: code_of(lambda: bench.client.update_job(jobs[n % 2], "cancelled")))
    assert codes == [None] * 8
    assert statuses(bench, lease.task_id) == ["cancelled"] * 2
    assert bench.task(lease.task_id).failures == 1
    assert bench.story(lease.task_id).count("retry_scheduled") == 1
    audit(bench)


def test_a_cancelled_job_and_a_submit_have_one_winner(bench: Bench) -> None:
    """When a job is cancelled while its holder submits, the task is either done or failed, never both."""
    queue = bench.queue()

    def both(lease: Lease, job_id: str) -> list[str | None]:
        key = bench.name("k")
        acts: list[Callable[[], object]] = [
            lambda: bench.client.submit(lease.task_id, lease.fencing_token, "out", key),
            lambda: bench.client.update_job(job_id, "cancelled"),
        ]
        return together(2, lambda n: code_of(acts[n]))

    for _ in range(10):
        lease, (job_id,) = leased(bench, queue)
        submitted, updated = both(lease, job_id)
        task, results = bench.task(lease.task_id), bench.client.results(lease.task_id)
        assert (submitted, updated) in ((None, None), ("stale_lease", None))
        assert statuses(bench, lease.task_id) == ["cancelled"]
        if submitted is None:
            assert (task.state, task.failures, len(results)) == ("done", 0, 1)
        else:
            assert (task.state, task.failures, len(results)) == ("ready", 1, 0)
            bench.ok(bench.claim(queue))
    audit(bench)


@pytest.mark.parametrize("status", ["completed", "failed", "incomplete"])
def test_other_ends_of_a_job_leave_the_lease(bench: Bench, status: str) -> None:
    """Only a cancelled job ends its lease; what a failed one means is for the holder to say."""
    queue = bench.queue()
    lease, (job_id,) = leased(bench, queue)
    bench.client.update_job(job_id, status)
    assert (bench.state(lease.task_id), bench.task(lease.task_id).failures) == ("leased", 0)
    assert bench.ok(lease).state == "done"
    audit(bench)


@pytest.mark.parametrize("notice", ["claim", "reap", "heartbeat", "job"])
def test_a_lapse_asks_jobs_to_stop(bench: Bench, notice: str) -> None:
    """Running jobs of a lease that lapsed show `cancel_requested`, whoever notices; ended ones stay ended."""
    queue = bench.queue()
    lease, jobs = leased(bench, queue, jobs=3)
    bench.client.update_job(jobs[0], "in_progress")
    bench.client.update_job(jobs[1], "completed")
    bench.shorten(lease)
    bench.pass_seconds(PAST_SHORT)
    task_id, token = lease.task_id, lease.fencing_token
    notices: dict[str, Callable[[], object]] = {
        "claim": lambda: None, "reap": lambda: bench.client.reap() and None,
        "heartbeat": lambda: code_of(lambda: bench.client.heartbeat(task_id, token)),
        "job": lambda: code_of(lambda: bench.client.register_job(task_id, token, bench.name("job"), "muse")),
    }  # fmt: skip
    assert notices[notice]() in (None, "stale_lease")
    bench.lengthen(queue)
    again = bench.claim(queue)
    assert (again.task_id, again.failures) == (task_id, 1)
    assert statuses(bench, task_id) == ["cancel_requested", "completed", "cancel_requested"]
    line = bench.last(task_id, "jobs_cancel_requested")
    assert (line.worker, line.fencing_token, line.data) == (lease.worker, token, {"jobs": 2})
    audit(bench)


def test_a_job_cancelled_after_an_unnoticed_lapse(bench: Bench) -> None:
    """The lapse is the failure, and the only one; the job is cancelled all the same."""
    queue = bench.queue()
    lease, (job_id,) = leased(bench, queue)
    bench.shorten(lease)
    bench.pass_seconds(PAST_SHORT)
    assert bench.client.update_job(job_id, "cancelled").status == "cancelled"
    task = bench.task(lease.task_id)
    assert (task.state, task.failures, task.last_error) == ("ready", 1, "lease lapsed")
    audit(bench)


def endings(bench: Bench, lease: Lease) -> dict[str, Callable[[], object]]:
    """The ways in which a lease ends at once."""
    task_id, token = lease.task_id, lease.fencing_token
    return {
        "submit": lambda: bench.ok(lease),
        "failed submit": lambda: bench.fail(lease),
        "split": lambda: bench.client.split(task_id, token, [{"brief": {}}]),
        "park": lambda: bench.client.park(task_id, token, "why"),
        "release": lambda: bench.client.release(task_id, token),
        "cancel": lambda: bench.client.cancel(task_id, "why"),
    }


ENDINGS = {
    "submit": False, "failed submit": False, "split": False, "park": True, "release": True, "cancel": True,
}  # fmt: skip


@pytest.mark.parametrize("ending", ENDINGS)
def test_after_its_lease_a_job_is_only_a_job(bench: Bench, ending: str) -> None:
    """Some ends of a lease ask its jobs to stop; after any of them a cancelled job changes nothing else."""
    queue = bench.queue()
    lease, (first, second) = leased(bench, queue, jobs=2)
    endings(bench, lease)[ending]()
    asked = "cancel_requested" if ENDINGS[ending] else "queued"
    assert statuses(bench, lease.task_id) == [asked] * 2
    assert bench.story(lease.task_id).count("jobs_cancel_requested") == ENDINGS[ending]
    before = bench.task(lease.task_id)
    assert bench.client.update_job(first, "cancelled").status == "cancelled"
    assert bench.task(lease.task_id) == before
    assert statuses(bench, lease.task_id) == ["cancelled", asked]
    assert bench.last(lease.task_id, "job_updated").worker is None
    assert bench.client.update_job(second, "completed", {"n": 1}).usage == {"n": 1}
    audit(bench)


def test_a_cancelled_family_is_asked_to_stop(bench: Bench) -> None:
    """Cancelling a task asks the jobs of all that is cancelled with it, and of nothing else."""
    queue = bench.queue()
    lease, (own,) = leased(bench, queue)
    root = lease.task_id
    finished, busy, idle = bench.client.split(root, lease.fencing_token, [{"brief": {}}] * 3)
    held = {one.task_id: one for one in (bench.claim(queue, f"worker-{n}") for n in range(2))}
    for task_id in (finished, busy):
        registered(bench, held[task_id])
    bench.ok(held[finished])
    bench.client.cancel(root, "why")
    assert [statuses(bench, task_id) for task_id in (root, finished, busy, idle)] == [
        ["cancel_requested"], ["queued"], ["cancel_requested"], [],
    ]  # fmt: skip
    line = bench.last(busy, "jobs_cancel_requested")
    assert (line.worker, line.fencing_token) == (held[busy].worker, held[busy].fencing_token)
    assert bench.client.update_job(own, "incomplete").status == "incomplete"
    audit(bench)


def test_a_job_that_should_stop_shows_it_until_it_ends(bench: Bench) -> None:
    """Reports of progress do not hide the wish that it stop, and no report can pretend it."""
    queue = bench.queue()
    lease, (job_id,) = leased(bench, queue)
    with bench.refused("invalid_request", lease.task_id):
        bench.client.update_job(job_id, "cancel_requested")
    bench.client.release(lease.task_id, lease.fencing_token)
    for status in ("in_progress", "queued"):
        job = bench.client.update_job(job_id, status, {"still": status}, 1)
        assert (job.status, job.usage, job.cost_usd) == ("cancel_requested", {"still": status}, 1)
    assert bench.client.update_job(job_id, "failed").status == "failed"
    audit(bench)
