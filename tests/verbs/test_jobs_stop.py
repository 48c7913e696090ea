"""Model jobs and the end of their lease: a cancelled job ends it, and its end asks jobs to stop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from verbs.bench import LAPSE
from verbs.tables import tables

from tessera.errors import StaleLease
from tessera.library import Tessera
from tessera.models import Event
from tessera.runtime import rfc3339
from tessera.testing import World

VERBS = ()
ERROR = "model job cancelled"


def leased(store: Tessera, worker: str = "w", jobs: int = 0, **fields: Any) -> str:
    """A new task, of `q` if not told, leased under token 1, with so many jobs, named after it."""
    spec = {"queue": "q", "kind": "k", "brief": {}, **fields}
    task_id = store.enqueue(spec)
    lease = store.claim(spec["queue"], worker)
    assert lease is not None
    assert (lease.task_id, lease.fencing_token) == (task_id, 1)
    for n in range(jobs):
        store.register_job(task_id, 1, f"{task_id}.{n}", "muse")
    return task_id


def statuses(store: Tessera, task_id: str | None = None) -> list[str]:
    return [job.status for job in store.jobs(task_id).jobs]


def lines(store: Tessera, task_id: str, since: str = "claimed") -> list[Event]:
    """A task's lines of the log after its first of some type."""
    of_task = [line for line in store.events(limit=10_000) if line.task_id == task_id]
    return of_task[[line.type for line in of_task].index(since) + 1 :]


def asked(store: Tessera) -> list[tuple[Any, ...]]:
    """Every line that says that jobs were asked to stop."""
    found = [line for line in store.events(limit=10_000) if line.type == "jobs_cancel_requested"]
    return [(line.task_id, line.worker, line.fencing_token, line.data) for line in found]


# A job is cancelled


@pytest.mark.parametrize("u", [0.0, 0.5, 1.0])
def test_a_cancelled_job_returns_its_task(store: Tessera, world: World, u: float) -> None:
    """Under its live lease it counts one failure: the task is tried again after the backoff of a failed
    submit, under a higher token.
    """
    store.define_queue("q", backoff_base_seconds=40)
    task_id, world.u = leased(store, jobs=1), u
    job = store.update_job(f"{task_id}.0", "cancelled", {"n": 1}, 0.5)

    task = store.task(task_id)
    assert (job.status, job.usage, job.cost_usd) == ("cancelled", {"n": 1}, 0.5)
    assert (task.state, task.failures, task.attempts, task.last_error) == ("ready", 1, 1, ERROR)
    assert task.not_before == rfc3339(world.now_us + int((20 + 20 * u) * 1_000_000))
    with pytest.raises(StaleLease):
        store.submit(task_id, 1, None, "key")
    assert store.results(task_id) == []
    world.pass_seconds(40)
    assert store.claim("q", "w").fencing_token == 2


def test_what_the_log_says_of_a_cancelled_job(store: Tessera) -> None:
    """The update, the failure and the other jobs' order to stop are three lines that name the same lease and
    the key that spoke; the order counts the others only.
    """
    issued = store.issue_key()
    keyed = store.as_key(issued.key)
    store.enqueue(queue="q", kind="k", brief={}, task_id="t")
    assert keyed.claim("q", "w") is not None
    for n in range(4):
        keyed.register_job("t", 1, f"t.{n}", "muse")
    keyed.update_job("t.3", "completed")
    keyed.update_job("t.1", "cancelled")

    told = lines(store, "t")[-3:]
    assert [(line.type, line.data) for line in told] == [
        ("job_updated", {"job_id": "t.1", "status": "cancelled"}),
        ("retry_scheduled", {"failures": 1}),
        ("jobs_cancel_requested", {"jobs": 2}),
    ]
    assert {(line.queue, line.worker, line.fencing_token, line.key_id) for line in told} == {
        ("q", "w", 1, issued.grant.key_id)
    }
    assert statuses(store) == ["cancel_requested", "cancelled", "cancel_requested", "completed"]


def test_the_only_job_asks_no_other(store: Tessera) -> None:
    """With no other job running, nobody is asked to stop."""
    task_id = leased(store, jobs=2)
    store.update_job(f"{task_id}.0", "failed")
    store.update_job(f"{task_id}.1", "in_progress")
    store.update_job(f"{task_id}.1", "cancelled")

    assert (statuses(store), asked(store)) == (["failed", "cancelled"], [])


@pytest.mark.parametrize("status", ["completed", "failed", "incomplete"])
def test_other_ends_of_a_job_leave_the_lease(store: Tessera, status: str) -> None:
    """A job that ends in another way is its holder's affair: the lease lives on."""
    task_id = leased(store, jobs=1)
    store.update_job(f"{task_id}.0", status)

    assert (store.task(task_id).state, store.task(task_id).failures) == ("leased", 0)
    assert store.submit(task_id, 1, None, "key").state == "done"


def test_a_cancelled_job_may_be_the_last_failure(store: Tessera) -> None:
    """At the last attempt the task is dead, leaves a tombstone, and its parent and dependents go on."""
    store.define_queue("q", max_attempts=1)
    parent = leased(store)
    (child,) = store.split(parent, 1, [{"brief": {}}])
    dependent = store.enqueue(queue="q", kind="k", brief={}, depends_on=[child])
    assert store.claim("q", "w").task_id == child
    store.register_job(child, 1, "job", "muse")
    store.update_job("job", "cancelled")

    assert [store.task(task_id).state for task_id in (child, parent, dependent)] == ["dead", "ready", "ready"]
    (tombstone,) = tables(store)["records"]
    assert (tombstone["key"], f'"last_error":"{ERROR}"' in tombstone["value"]) == (child, True)
    assert [line.type for line in lines(store, child)] == ["job_registered", "job_updated", "dead_lettered"]
    assert [line.type for line in lines(store, parent, "split")] == ["parent_ready"]
    assert [line.type for line in lines(store, dependent, "enqueued")] == ["dependencies_met"]


def test_a_job_cancelled_twice_fails_once(store: Tessera) -> None:
    """Cancelled again, while the next lease lives or not, the job fails nothing more."""
    task_id = leased(store, jobs=1)
    for _ in range(3):
        store.update_job(f"{task_id}.0", "cancelled")
        store.claim("q", "w")
        assert (store.task(task_id).state, store.task(task_id).failures) == ("leased", 1)


ENDINGS: dict[str, Callable[[Tessera, World, str], object]] = {
    "submit": lambda store, _, task_id: store.submit(task_id, 1, None, "key"),
    "failure": lambda store, _, task_id: store.submit(task_id, 1, None, "key", ok=False),
    "split": lambda store, _, task_id: store.split(task_id, 1, [{"brief": {}}]),
    "park": lambda store, _, task_id: store.park(task_id, 1, "why"),
    "release": lambda store, _, task_id: store.release(task_id, 1),
    "cancel": lambda store, _, task_id: store.cancel(task_id, "why"),
    "lapse": lambda store, world, _: (world.pass_seconds(LAPSE), store.reap()),
    "cancelled job": lambda store, _, task_id: store.update_job(f"{task_id}.1", "cancelled"),
}
ASKING = {"park", "release", "cancel", "lapse", "cancelled job"}


@pytest.mark.parametrize("ending", ENDINGS)
def test_after_the_lease_only_the_job_changes(store: Tessera, world: World, ending: str) -> None:
    """Once its lease is over, however, a job that is cancelled is a cancelled job and nothing else."""
    task_id = leased(store, jobs=2)
    ENDINGS[ending](store, world, task_id)
    again = store.claim("q", "next") if ending in ("failure", "release", "lapse", "cancelled job") else None
    before = tables(store)
    store.update_job(f"{task_id}.0", "cancelled")

    after = tables(store)
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {"jobs", "events"}
    assert len(after["events"]) == len(before["events"]) + 1
    line = store.events(limit=10_000)[-1]
    assert (line.type, line.worker, line.fencing_token) == ("job_updated", None, 1)
    if again is not None:
        assert store.submit(task_id, again.fencing_token, None, "again").state == "done"


def test_a_job_cancelled_after_an_unnoticed_lapse(store: Tessera, world: World) -> None:
    """When the deadline has come and nobody has noticed, the lapse is the failure, and the only one."""
    task_id = leased(store, jobs=2)
    world.pass_seconds(LAPSE)
    assert store.update_job(f"{task_id}.0", "cancelled").status == "cancelled"

    task = store.task(task_id)
    assert (task.state, task.failures, task.last_error) == ("ready", 1, "lease lapsed")
    assert statuses(store) == ["cancelled", "cancel_requested"]
    told = [line.type for line in lines(store, task_id)][2:]
    assert told == ["lease_lapsed", "retry_scheduled", "jobs_cancel_requested", "job_updated"]


# A lease ends


@pytest.mark.parametrize("ending", ENDINGS)
def test_whose_end_asks_jobs_to_stop(store: Tessera, world: World, ending: str) -> None:
    """A lease that is taken, given back or fails by its job asks running jobs to stop, in one line that names
    that lease; one that hands its work in does not. Jobs of other tasks and ended ones are left alone.
    """
    store.define_queue("long")
    task_id, other = leased(store, jobs=4), leased(store, jobs=1, queue="long")
    store.update_job(f"{task_id}.0", "in_progress")
    store.update_job(f"{task_id}.2", "completed")
    ENDINGS[ending](store, world, task_id)

    ended = "cancelled" if ending == "cancelled job" else None
    stop = ["cancel_requested", ended or "cancel_requested", "completed", "cancel_requested"]
    left = ["in_progress", "queued", "completed", "queued"]
    assert statuses(store, task_id) == (stop if ending in ASKING else left)
    told = [(task_id, "w", 1, {"jobs": 2 if ended else 3})]
    assert asked(store) == (told if ending in ASKING else [])
    assert statuses(store, other) == ["queued"]


def test_who_asked_jobs_to_stop(store: Tessera, world: World) -> None:
    """The line names the key that acted; after a lapse, as the lapse itself does, the key that held."""
    issued = store.issue_key()
    keyed = store.as_key(issued.key)
    for n, act in enumerate(
        [
            lambda task_id: store.cancel(task_id, "why"),
            lambda task_id: keyed.release(task_id, 1, 99),
            lambda _: (world.pass_seconds(LAPSE), store.reap()),
        ]
    ):
        task_id = store.enqueue(queue="q", kind="k", brief={}, priority=n)
        assert keyed.claim("q", "w").task_id == task_id
        keyed.register_job(task_id, 1, f"job-{n}", "muse")
        act(task_id)
    found = [line.key_id for line in store.events(limit=1_000) if line.type == "jobs_cancel_requested"]

    assert found == [None, issued.grant.key_id, issued.grant.key_id]


def test_a_cancelled_family_is_asked_to_stop(store: Tessera) -> None:
    """Cancelling a task asks its own jobs and those of its unfinished descendants, a line for each task."""
    root = leased(store, "root", jobs=1)
    done, busy, idle = store.split(root, 1, [{"brief": {}}] * 3)
    for task_id, worker in ((done, "w1"), (busy, "w2")):
        assert store.claim("q", worker).task_id == task_id
        store.register_job(task_id, 1, f"{task_id}.0", "muse")
    store.submit(done, 1, None, "key")
    store.cancel(root, "why")

    assert asked(store) == [(root, None, 1, {"jobs": 1}), (busy, "w2", 1, {"jobs": 1})]
    assert [statuses(store, task_id) for task_id in (root, done, busy, idle)] == [
        ["cancel_requested"], ["queued"], ["cancel_requested"], [],
    ]  # fmt: skip


def test_asked_to_stop_until_it_ends(store: Tessera) -> None:
    """Whatever its lane says, a job shows that it should stop until it ends; usage and cost are noted."""
    task_id = leased(store, jobs=1)
    store.release(task_id, 1)
    for status in ("in_progress", "queued", None):
        job = store.update_job(f"{task_id}.0", status, {"at": status}, 1)
        assert (job.status, job.usage, job.cost_usd) == ("cancel_requested", {"at": status}, 1)
    assert store.update_job(f"{task_id}.0", "completed").status == "completed"


def test_jobs_are_asked_once(store: Tessera, world: World) -> None:
    """A later end of a later lease asks only what still runs: new jobs, and old ones that nobody asked."""
    task_id = leased(store, jobs=1)
    store.release(task_id, 1)
    store.claim("q", "w2")
    store.register_job(task_id, 2, "kept-on", "muse")
    store.submit(task_id, 2, None, "key", ok=False)
    store.claim("q", "w3")
    store.register_job(task_id, 3, "new", "muse")
    world.pass_seconds(LAPSE)
    store.reap()

    assert asked(store) == [(task_id, "w", 1, {"jobs": 1}), (task_id, "w3", 3, {"jobs": 2})]
    assert statuses(store) == ["cancel_requested"] * 3
