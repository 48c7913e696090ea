"""register_job, update_job, jobs: what a lease's holder has given to a model."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace
from verbs.bench import LAPSE, Bench
from verbs.refusals import refused, refused_after_lapse, unchanged

from tessera.library import Tessera
from tessera.models import Event, Job

VERBS = ("register_job", "update_job", "jobs")
KIB = 1 << 10
RUNNING = ("queued", "in_progress")
ENDED = ("completed", "failed", "cancelled", "incomplete")


@pytest.fixture
def store(bench: Bench) -> Tessera:
    """The store with the queues `q` and `r`."""
    bench.queue("r")
    return bench.store


def leased(store: Tessera, queue: str = "q", **fields: Any) -> str:
    """A new task, leased by `w` under token 1."""
    task_id = store.enqueue(**{"queue": queue, "kind": "k", "brief": {}, **fields})
    lease = store.claim(queue, "w")
    assert lease is not None
    assert (lease.task_id, lease.fencing_token) == (task_id, 1)
    return task_id


def job_of(store: Tessera, job_id: str) -> Job:
    """A job as it is now."""
    (found,) = [job for job in store.jobs(limit=1_000).jobs if job.job_id == job_id]
    return found


def log(store: Tessera) -> list[Event]:
    return store.events(limit=10_000)


# register_job


def test_a_new_job(store: Tessera) -> None:
    """A job is queued, has used nothing and costs nothing yet; its line names task, worker, token and key."""
    issued = store.issue_key()
    keyed = store.as_key(issued.key)
    task_id = store.enqueue(queue="q", kind="k", brief={})
    lease = keyed.claim("q", "w")
    job = keyed.register_job(task_id, 1, "resp:1", "muse")

    at = lease.claimed_at
    assert job == Job("resp:1", task_id, 1, "muse", "queued", {}, None, created_at=at, updated_at=at)
    assert store.jobs(task_id).jobs == [job]
    line = log(store)[-1]
    assert (line.type, line.queue, line.task_id, line.worker) == ("job_registered", "q", task_id, "w")
    assert (line.fencing_token, line.key_id, line.at) == (1, issued.grant.key_id, at)
    assert line.data == {"job_id": "resp:1", "status": "queued"}


def test_a_lease_may_have_many_jobs(store: Tessera) -> None:
    """One lease has as many jobs as its holder registers, and keeps them when it is kept."""
    task_id = leased(store)
    for n in range(20):
        store.register_job(task_id, 1, f"job-{n}", "muse")
    store.heartbeat(task_id, 1)

    assert {job.status for job in store.jobs(task_id).jobs} == {"queued"}
    assert store.submit(task_id, 1, None, "key").state == "done"


def test_a_job_needs_the_live_lease(bench: Bench, store: Tessera) -> None:
    """Unknown tasks, tasks that nobody holds, guessed and spent tokens register nothing."""
    ready = store.enqueue(queue="r", kind="k", brief={})
    task_id = leased(store)
    refused(bench, "not_found", store.register_job, "absent", 1, "job", "muse")
    for task, token in ((ready, 1), (task_id, 2)):
        refused(bench, "stale_lease", store.register_job, task, token, "job", "muse")
    store.submit(task_id, 1, None, "key")
    refused(bench, "stale_lease", store.register_job, task_id, 1, "job", "muse")


def test_a_job_under_a_lapsed_lease(bench: Bench, store: Tessera) -> None:
    """A lease that has just lapsed is settled for good, and the job is refused."""
    task_id = leased(store)
    bench.world.pass_seconds(LAPSE)
    refused_after_lapse(bench, "stale_lease", store.register_job, task_id, 1, "job", "muse")

    assert (store.task(task_id).state, store.task(task_id).failures) == ("ready", 1)
    assert store.jobs().jobs == []


def test_only_the_key_that_claimed_has_jobs(bench: Bench, store: Tessera) -> None:
    """Another key may neither register under a lease nor speak of its jobs, whatever else it may do."""
    mine = store.as_key(store.issue_key(queues=["q"]).key)
    admin = store.as_key(store.issue_key(scopes=["admin"]).key)
    outside = store.as_key(store.issue_key(queues=["r"]).key)
    other_kind = store.as_key(store.issue_key(kinds=["other"]).key)
    task_id = store.enqueue(queue="q", kind="k", brief={})
    assert mine.claim("q", "w") is not None
    refused(bench, "scope_denied", admin.register_job, task_id, 1, "job", "muse")
    for keyed in (outside, other_kind):
        refused(bench, "forbidden", keyed.register_job, task_id, 1, "job", "muse")
    refused(bench, "stale_lease", admin.register_job, task_id, 2, "job", "muse")
    mine.register_job(task_id, 1, "job", "muse")
    refused(bench, "forbidden", outside.update_job, "job", "cancelled")
    for keyed in (admin, other_kind):
        refused(bench, "scope_denied", keyed.update_job, "job", "cancelled")
    refused(bench, "scope_denied", admin.register_job, task_id, 1, "job", "muse")

    assert mine.update_job("job", "in_progress").status == "in_progress"


def test_the_owner_may_register_for_the_holder(store: Tessera) -> None:
    """A job that the owner registers under somebody's lease belongs to the key that claimed."""
    keyed = store.as_key(store.issue_key().key)
    task_id = store.enqueue(queue="q", kind="k", brief={})
    assert keyed.claim("q", "w") is not None
    job = store.register_job(task_id, 1, "job", "muse")

    assert keyed.register_job(task_id, 1, "job", "muse") == job
    assert keyed.update_job("job", "completed").status == "completed"
    assert [line.key_id is None for line in log(store)[-2:]] == [True, False]


def test_the_same_job_again(bench: Bench, store: Tessera) -> None:
    """Registered again it is answered as it has become, also when its lease is gone; nothing is written."""
    task_id = leased(store)
    first = store.register_job(task_id, 1, "job", "muse")
    assert unchanged(bench, store.register_job, task_id, 1, "job", "muse") == first

    changed = store.update_job("job", "completed", {"n": 1}, 0.5)
    store.submit(task_id, 1, None, "key")
    assert unchanged(bench, store.register_job, task_id, 1, "job", "muse") == changed


def test_a_job_id_serves_one_job(bench: Bench, store: Tessera) -> None:
    """Another task, token or model under a known id is a conflict, which tells nothing of the first job."""
    issued = [store.issue_key(queues=[queue]).key for queue in "qr"]
    first, second = (store.as_key(secret) for secret in issued)
    one = store.enqueue(queue="q", kind="k", brief={})
    two = store.enqueue(queue="r", kind="k", brief={})
    assert first.claim("q", "w") is not None
    assert second.claim("r", "w") is not None
    first.register_job(one, 1, "job", "muse")

    for asked in ((one, 1, "job", "other"), (one, 2, "job", "muse")):
        refused(bench, "idempotency_conflict", first.register_job, *asked)
    said = refused(bench, "idempotency_conflict", second.register_job, two, 1, "job", "muse")
    assert one not in said.detail
    refused(bench, "forbidden", second.register_job, one, 1, "job", "muse")
    refused(bench, "not_found", second.register_job, "absent", 1, "job", "muse")
    assert second.register_job(two, 1, "job-2", "muse").status == "queued"


@pytest.mark.parametrize(
    "bad",
    [
        {"job_id": ""}, {"job_id": "a b"}, {"job_id": "a\n"}, {"job_id": "x" * 129}, {"job_id": 1},
        {"model": ""}, {"model": "x" * 201}, {"model": None}, {"fencing_token": 0}, {"fencing_token": "1"},
    ],
    ids=lambda bad: repr(bad)[:30],
)  # fmt: skip
def test_the_form_of_a_job(bench: Bench, store: Tessera, bad: dict[str, Any]) -> None:
    """Job ids have the form of task ids, models are 1 to 200 characters; the refusal names the field."""
    task_id = leased(store)
    asked = {"task_id": task_id, "fencing_token": 1, "job_id": "x" * 128, "model": "m" * 200}

    said = refused(bench, "invalid_request", store.register_job, **{**asked, **bad})
    assert next(iter(bad)) in said.detail
    assert store.register_job(**asked).model == "m" * 200


# update_job


def test_progress_of_a_job(bench: Bench, store: Tessera) -> None:
    """What is given is noted, what is left out stays, and each update is one line without its contents."""
    task_id = leased(store)
    job = store.register_job(task_id, 1, "job", "secret-model")
    bench.world.pass_seconds(1)
    for news, seen in (
        ({"status": "in_progress"}, {"status": "in_progress"}),
        ({"usage": {"b": 2.0, "a": "secret-usage"}}, {"usage": {"a": "secret-usage", "b": 2}}),
        ({"cost_usd": 17.25}, {"cost_usd": 17.25}),
        ({"status": "queued", "usage": {}, "cost_usd": 0}, {"status": "queued", "usage": {}, "cost_usd": 0}),
        ({}, {}),
        ({"status": "completed", "cost_usd": 1e-6}, {"status": "completed", "cost_usd": 1e-6}),
    ):  # fmt: skip
        job = replace(job, updated_at=store.health().time, **seen)
        assert store.update_job("job", **news) == job
        line = log(store)[-1]
        assert (line.type, line.task_id, line.worker, line.fencing_token) == ("job_updated", task_id, "w", 1)
        assert line.data == {"job_id": "job", "status": job.status}
    assert not any(word in repr(log(store)) for word in ("secret-", "17.25", "1e-06"))
    assert store.task(task_id).state == "leased"


def test_what_a_job_may_have_used(bench: Bench, store: Tessera) -> None:
    """Usage is an object of at most 64 KiB of canonical text; anything else leaves the job as it was."""
    store.register_job(leased(store), 1, "job", "muse")
    fits = {"t": "x" * (64 * KIB - len('{"t":""}'))}
    for bad in ([], "text", 1, True, {"t": fits["t"] + "x"}, {"n": 2**53}, {"n": float("nan")}):
        said = refused(bench, "invalid_request", store.update_job, "job", usage=bad)
        assert said.detail.startswith("usage")

    assert store.update_job("job", usage=fits).usage == fits
    assert store.update_job("job", usage=None).usage == fits


@pytest.mark.parametrize("cost", ["-0.01", "1e999", "NaN", "Infinity", '"1"', "true", "[]", "-5e-324"])
def test_what_a_job_may_have_cost(bench: Bench, store: Tessera, cost: str) -> None:
    """A cost is a finite number of dollars, 0 or more."""
    store.register_job(leased(store), 1, "job", "muse")
    ask = f'{{"job_id":"job","cost_usd":{cost}}}'.encode()

    refused(bench, "invalid_request", store._door.call, "update_job", ask)
    refused(bench, "invalid_request", store.update_job, "job", cost_usd=float("inf"))
    assert store.update_job("job", cost_usd=0).cost_usd == 0


@pytest.mark.parametrize("status", ["cancel_requested", "done", "", "QUEUED", 1])
def test_words_that_are_no_status(bench: Bench, store: Tessera, status: Any) -> None:
    """Only the model lane's words are taken; that a job was asked to stop is for Tessera to say."""
    store.register_job(leased(store), 1, "job", "muse")

    assert "status" in refused(bench, "invalid_request", store.update_job, "job", status).detail
    refused(bench, "not_found", store.update_job, "absent", "completed")


@pytest.mark.parametrize("status", ENDED)
def test_an_ended_job_stays_ended(bench: Bench, store: Tessera, status: str) -> None:
    """It takes no other status; late usage and cost, and the same status again, are noted."""
    store.register_job(leased(store), 1, "job", "muse")
    store.update_job("job", status)
    failures = store.task(store.jobs().jobs[0].task_id).failures
    for other in {*RUNNING, *ENDED} - {status}:
        refused(bench, "invalid_state", store.update_job, "job", other, {"n": 1}, 1)

    assert store.update_job("job", status, {"n": 2}, 0.25).usage == {"n": 2}
    assert store.update_job("job", cost_usd=0.5).cost_usd == 0.5
    assert (job_of(store, "job").status, store.task(job_of(store, "job").task_id).failures) == (
        status,
        failures,
    )


# jobs


def test_pages_of_jobs(bench: Bench, store: Tessera) -> None:
    """Jobs are listed as they were registered, page by page, of one task or of all."""
    tasks = [leased(store) for _ in range(2)]
    made = [store.register_job(tasks[n % 2], 1, f"j{9 - n}", "muse").job_id for n in range(5)]

    first = store.jobs(limit=2)
    second = store.jobs(limit=3, after=first.next)
    assert [job.job_id for job in first.jobs + second.jobs] == made
    assert (first.next, second.next, store.jobs(after=made[-1]).jobs) == (made[1], None, [])
    assert [job.job_id for job in store.jobs(tasks[1], after=made[1]).jobs] == [made[3]]
    for bad in (0, 1_001, "1"):
        refused(bench, "invalid_request", store.jobs, limit=bad)
    refused(bench, "not_found", store.jobs, "absent")
    refused(bench, "not_found", store.jobs, after="absent")


def test_a_key_sees_the_jobs_of_its_queues(bench: Bench, store: Tessera) -> None:
    """A list shows the queues that the key covers, and a task of another queue is forbidden."""
    tasks = [leased(store, queue) for queue in "qrq"]
    for n, task_id in enumerate(tasks):
        store.register_job(task_id, 1, f"job-{n}", "muse")
    keyed = store.as_key(store.issue_key(queues=["q"]).key)

    page = keyed.jobs(limit=1)
    assert [job.job_id for job in page.jobs + keyed.jobs(after=page.next).jobs] == ["job-0", "job-2"]
    refused(bench, "forbidden", keyed.jobs, tasks[1])
    assert store.as_key(store.issue_key(queues=["none"]).key).jobs().jobs == []
