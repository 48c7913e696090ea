"""T12: what may be said of a model job, by whom, and for how long."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from conformance.audit import audit
from conformance.bench import PAST_SHORT, Bench, code_of, together
from tessera.library import Tessera
from tessera.models import Job, Lease

ENDED = ["completed", "failed", "cancelled", "incomplete"]
RUNNING = ["queued", "in_progress"]
KIB = 1 << 10


def noted(bench: Bench, lease: Lease) -> Job:
    """A new job under a lease."""
    job = bench.client.register_job(lease.task_id, lease.fencing_token, bench.name("job"), "muse")
    assert isinstance(job, Job)
    return job


def leased(bench: Bench, queue: str) -> tuple[Lease, Job]:
    """A new task, leased, and its job."""
    bench.enqueue(queue)
    lease = bench.claim(queue)
    return lease, noted(bench, lease)


def register(bench: Bench, client: Tessera, task_id: str, token: int) -> Callable[[], object]:
    """The act of noting a new job."""
    return lambda: client.register_job(task_id, token, bench.name("job"), "muse")


@pytest.mark.parametrize("status", ENDED)
def test_an_ended_job_stays_ended(bench: Bench, status: str) -> None:
    """It takes no other status; what it used and cost may still be told."""
    queue = bench.queue()
    lease, job = leased(bench, queue)
    ended = bench.client.update_job(job.job_id, status)
    for other in {*RUNNING, *ENDED} - {status}:
        with bench.refused("invalid_state", lease.task_id):
            bench.client.update_job(job.job_id, other, {"late": True})
    assert bench.client.jobs(lease.task_id).jobs == [ended]
    late = bench.client.update_job(job.job_id, status, {"late": True}, 2)
    assert replace(late, updated_at=ended.updated_at) == replace(ended, usage={"late": True}, cost_usd=2)
    audit(bench)


def test_a_job_needs_the_live_lease(bench: Bench) -> None:
    """Guessed, spent and lapsed tokens, ready and unknown tasks register nothing."""
    queue = bench.queue()
    bench.enqueue(queue)
    lease = bench.claim(queue)
    task_id, token = lease.task_id, lease.fencing_token
    ready = bench.enqueue(queue)
    for code, which in (
        ("stale_lease", (task_id, token + 1)), ("stale_lease", (ready, 1)),
        ("not_found", (bench.name("nobody"), 1)),
    ):  # fmt: skip
        with bench.refused(code, task_id, ready):
            register(bench, bench.client, *which)()
    bench.ok(lease)
    with bench.refused("stale_lease", task_id):
        register(bench, bench.client, task_id, token)()
    lease = bench.claim(queue)
    bench.shorten(lease)
    bench.pass_seconds(PAST_SHORT)
    with bench.refused("stale_lease"):
        register(bench, bench.client, lease.task_id, lease.fencing_token)()
    assert bench.client.jobs(task_id).jobs == bench.client.jobs(ready).jobs == []
    assert (bench.state(ready), bench.task(ready).failures) == ("ready", 1)
    audit(bench)


def test_a_job_belongs_to_the_key_that_claimed(bench: Bench) -> None:
    """Another key may neither note a job under the lease nor speak of one, whatever else it may do."""
    queue = bench.queue()
    task_id = bench.enqueue(queue)
    mine, other = bench.backend.keyed(queues=[queue]), bench.backend.keyed(queues=[queue], scopes=["admin"])
    outside = bench.backend.keyed(queues=[bench.queue()])
    lease = mine.claim(queue, "mine")
    assert lease is not None
    job = mine.register_job(task_id, lease.fencing_token, bench.name("job"), "muse")
    for code, keyed in (("scope_denied", other), ("forbidden", outside)):
        with bench.refused(code, task_id):
            register(bench, keyed, task_id, lease.fencing_token)()
        with bench.refused(code, task_id):
            keyed.update_job(job.job_id, "cancelled")
    with bench.refused("forbidden"):
        outside.jobs(task_id)
    assert other.jobs(task_id).jobs == [job]
    assert job.job_id not in [one.job_id for one in outside.jobs().jobs]
    assert mine.update_job(job.job_id, "completed").status == "completed"
    audit(bench)


def test_a_job_may_be_noted_again(bench: Bench) -> None:
    """The same job is answered as it has become, also after its lease; another under its id is refused."""
    queue = bench.queue()
    lease, job = leased(bench, queue)
    task_id, token = lease.task_id, lease.fencing_token
    again = (task_id, token, job.job_id, "muse")
    assert bench.client.register_job(*again) == job
    done = bench.client.update_job(job.job_id, "completed", {"n": 1}, 0.5)
    bench.ok(lease)
    assert bench.client.register_job(*again) == done
    assert bench.story(task_id).count("job_registered") == 1
    other, _ = leased(bench, queue)
    for differing in (
        (task_id, token, job.job_id, "other"), (task_id, token + 1, job.job_id, "muse"),
        (other.task_id, other.fencing_token, job.job_id, "muse"),
    ):  # fmt: skip
        with bench.refused("idempotency_conflict", task_id, other.task_id):
            bench.client.register_job(*differing)
    assert bench.client.jobs(task_id).jobs == [done]
    audit(bench)


def test_one_job_id_from_many_threads_is_one_job(bench: Bench) -> None:
    """8 threads note the same job at once: each is answered with it, and it exists once."""
    queue = bench.queue()
    bench.enqueue(queue)
    lease, job_id = bench.claim(queue), bench.name("job")
    act = (lease.task_id, lease.fencing_token, job_id, "muse")
    jobs = together(8, lambda _: bench.client.register_job(*act))
    assert bench.client.jobs(lease.task_id).jobs == [jobs[0]]
    assert jobs == [jobs[0]] * 8
    audit(bench)


def test_what_a_job_is_and_has_used(bench: Bench) -> None:
    """An id has a form, a model a name, usage is a small object, cost a number; all else is refused."""
    queue = bench.queue()
    lease, job = leased(bench, queue)
    ids: list[Any] = ["", "a b", "line\n", "x" * 129, 7]
    for job_id in ids:
        with bench.refused("invalid_request", lease.task_id):
            bench.client.register_job(lease.task_id, lease.fencing_token, job_id, "muse")
    for model in ("", "m" * 201):
        with bench.refused("invalid_request", lease.task_id):
            bench.client.register_job(lease.task_id, lease.fencing_token, bench.name("job"), model)
    fits = {"t": "x" * (64 * KIB - len('{"t":""}'))}
    reports: list[dict[str, Any]] = [
        {"usage": []}, {"usage": "much"}, {"usage": {"t": fits["t"] + "x"}}, {"usage": {"n": 2**53}},
        {"cost_usd": -0.01}, {"cost_usd": float("nan")}, {"cost_usd": float("inf")}, {"cost_usd": "1"},
        {"status": "done"}, {"status": ""},
    ]  # fmt: skip
    for report in reports:
        with bench.refused("invalid_request", lease.task_id):
            bench.client.update_job(job.job_id, **report)
    with bench.refused("not_found"):
        bench.client.update_job(bench.name("nobody"), "completed")
    assert bench.client.jobs(lease.task_id).jobs == [job]
    assert bench.client.update_job(job.job_id, usage=fits, cost_usd=0).usage == fits
    audit(bench)


def test_jobs_are_listed_page_by_page(bench: Bench) -> None:
    """A list is in the order of noting; `next` leads on until it is null."""
    queue = bench.queue()
    lease, first = leased(bench, queue)
    jobs = [first] + [noted(bench, lease) for _ in range(6)]
    found, after = [], None
    for _ in jobs:
        page = bench.client.jobs(lease.task_id, limit=3, after=after)
        found += page.jobs
        after = page.next
        if after is None:
            break
    assert found == jobs
    for limit in (0, 1_001):
        with bench.refused("invalid_request"):
            bench.client.jobs(limit=limit)
    with bench.refused("not_found"):
        bench.client.jobs(bench.name("nobody"))
    assert code_of(lambda: bench.client.jobs(after=bench.name("nobody"))) == "not_found"
    audit(bench)


def test_the_log_names_jobs_and_nothing_of_theirs(bench: Bench) -> None:
    """A line about a job has its id, status, task, token and worker; model, usage and cost stay out."""
    queue, secret = bench.queue(), bench.name("confidential")
    bench.enqueue(queue)
    lease = bench.claim(queue)
    job_id = bench.name("job")
    bench.client.register_job(lease.task_id, lease.fencing_token, job_id, secret)
    bench.client.update_job(job_id, "completed", {"used": secret}, 0.12345)
    for kind, status in (("job_registered", "queued"), ("job_updated", "completed")):
        line = bench.last(lease.task_id, kind)
        assert (line.queue, line.worker, line.fencing_token) == (queue, lease.worker, lease.fencing_token)
        assert line.data == {"job_id": job_id, "status": status}
    assert not any(secret in repr(line) or "12345" in repr(line.data) for line in bench.log())
    audit(bench)
