"""enqueue: put a task on a queue. (Specification §5.2; contract §3.)"""

from __future__ import annotations

from typing import Any

import pytest
from verbs.bench import Bench
from verbs.refusals import refused, unchanged

from tessera.models import TaskView

VERBS = ("enqueue",)
TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def expected(bench: Bench, task_id: str, **changes: object) -> TaskView:
    """How a new plain task looks."""
    fields: dict[str, Any] = {
        **dict(task_id=task_id, queue="q", kind="k", effect_class="read", priority=0, state="ready"),
        **dict(
            wait_reason=None, brief={"for": "q"}, parent_id=None, depth=0, attempts=0, failures=0, parks=0
        ),
        **dict(fencing_token=0, pending_children=0, pending_deps=0, depends_on=[], children=[], worker=None),
        **dict(claimed_at=None, expires_at=None, created_at=bench.now(), updated_at=bench.now()),
        **dict(not_before=None, park_reason=None, parked_by=None, resume_at=None, last_error=None),
        **dict(cancel_reason=None, requeued_from=None),
    }
    return TaskView(**{**fields, **changes})


def test_a_plain_task(bench: Bench) -> None:
    """A task of a queue, a kind and a brief is ready, with every other field at its default."""
    task_id = bench.enqueue()
    assert task_id.startswith("t_")
    assert bench.store.task(task_id) == expected(bench, task_id)
    assert bench.counts().ready == 1


def test_a_task_with_everything(bench: Bench) -> None:
    """Every field that may be given is kept and shown."""
    bench.enqueue(task_id="first")
    bench.enqueue(
        task_id="all", kind="other", effect_class="write-repo", priority=-7, depends_on=["first"],
        delay_seconds=1.5, brief={"b": [1.0, None], "a": "é"}, traceparent=TRACE,
    )  # fmt: skip
    assert bench.store.task("all") == expected(
        bench, "all", kind="other", effect_class="write-repo", priority=-7, depends_on=["first"],
        pending_deps=1, state="waiting", wait_reason="dependencies", not_before=bench.after(1.5),
        brief={"a": "é", "b": [1, None]},
    )  # fmt: skip


def test_the_log_of_an_enqueue(bench: Bench) -> None:
    """One event names the queue, the task and the key; its data holds the trace and no brief."""
    key = bench.key(queues=["q"])
    seq = bench.seq()
    plain = key.enqueue(queue="q", kind="k", brief={"secret": 1})
    traced = key.enqueue(queue="q", kind="k", brief={}, traceparent=TRACE)
    first, second = bench.log(seq)
    assert (first.type, first.queue, first.task_id, first.data) == ("enqueued", "q", plain, None)
    assert (first.worker, first.fencing_token, first.key_id) == (None, None, bench.key_id())
    assert (second.task_id, second.data) == (traced, {"traceparent": TRACE})


def test_ids_sort_by_creation(bench: Bench) -> None:
    """Generated ids rise, so that tasks of one instant are claimed in the order they came."""
    made = [bench.enqueue() for _ in range(5)]
    assert made == sorted(made)
    assert [bench.claim().task_id for _ in made] == made


def test_an_id_that_is_there_changes_nothing(bench: Bench) -> None:
    """The same id again is a no-op that returns it, whatever else is asked: not even a dependency that does
    not exist is looked at.
    """
    other = {"kind": "x", "brief": {"n": 2}, "priority": 9, "depends_on": ["none"], "delay_seconds": 5}
    bench.enqueue(task_id="same")
    for state in ("ready", "leased", "waiting"):
        if state == "leased":
            lease = bench.claim()
        if state == "waiting":
            bench.store.park("same", lease.fencing_token, "r")
        assert bench.state("same") == state
        assert unchanged(bench, bench.store.enqueue, queue="q", task_id="same", **other) == "same"


@pytest.mark.parametrize("end", ["done", "dead", "cancelled"])
def test_an_id_that_has_ended_stays_ended(bench: Bench, end: str) -> None:
    """A task that is done, dead or cancelled is not started again by its id: pipelines may run twice."""
    bench.store.define_queue("q", max_attempts=1)
    lease = bench.leased(task_id="slot:1")
    if end == "done":
        bench.ok(lease)
    elif end == "dead":
        bench.fail(lease)
    else:
        bench.store.cancel("slot:1", "no more")
    assert unchanged(bench, bench.enqueue, task_id="slot:1") == "slot:1"
    assert bench.state("slot:1") == end


def test_dependencies_count_while_they_are_open(bench: Bench) -> None:
    """`pending_deps` counts the dependencies that have not ended; one named twice counts once."""
    for task_id in ("done", "open", "parked"):
        bench.enqueue(task_id=task_id, kind=task_id)
    bench.ok(bench.claim(kinds=["done"]))
    parked = bench.claim(kinds=["parked"])
    bench.store.park("parked", parked.fencing_token, "r")
    task = bench.store.task(bench.enqueue(depends_on=["open", "done", "parked", "open", "done"]))
    assert (task.state, task.wait_reason, task.pending_deps) == ("waiting", "dependencies", 2)
    assert task.depends_on == ["done", "open", "parked"]
    ready = bench.store.task(bench.enqueue(depends_on=["done", "done"]))
    assert (ready.state, ready.wait_reason, ready.pending_deps) == ("ready", None, 0)


def test_a_dependency_that_is_not_there_is_named_by_its_place(bench: Bench) -> None:
    """The refusal has the place in the list as it was sent, counted from 0, alone and in a batch."""
    bench.enqueue(task_id="there")
    spec = {"queue": "q", "kind": "k", "brief": {}, "depends_on": ["there", "there", "absent"]}
    said = "depends_on[2]: no such task: enqueue it first"
    assert refused(bench, "not_found", bench.store.enqueue, spec).detail == said
    refusal = refused(bench, "not_found", bench.store.enqueue_batch, [{**spec, "depends_on": []}, spec])
    assert refusal.detail == f"tasks[1]: {said}"


def test_dependencies_may_be_in_another_queue(bench: Bench) -> None:
    """A task waits for tasks of other queues too, when the key covers them."""
    bench.queue("other")
    first = bench.enqueue("other")
    key = bench.key(queues=["q", "other"])
    task_id = key.enqueue(queue="q", kind="k", brief={}, depends_on=[first])
    assert bench.state(task_id) == "waiting"
    bench.ok(bench.claim("other"))
    assert bench.claim().task_id == task_id


def test_a_delayed_task_is_ready_and_not_claimable(bench: Bench) -> None:
    """A delay keeps a task from claims until its microsecond, and counts as ready meanwhile."""
    task_id = bench.enqueue(delay_seconds=2.5)
    task = bench.store.task(task_id)
    assert (task.state, task.not_before) == ("ready", bench.after(2.5))
    assert bench.store.claim_or_wait("q", "w").retry_after_seconds == 3
    assert bench.store.health().queues["q"].oldest_ready_age_seconds is None
    bench.world.pass_seconds(2.499999)
    assert bench.store.claim("q", "w") is None
    bench.world.pass_seconds(0.000001)
    assert bench.claim().task_id == task_id


def test_a_delay_outlasts_the_dependencies(bench: Bench) -> None:
    """A dependent with a delay waits for both: its dependencies, and its own time."""
    bench.enqueue(task_id="first", kind="first")
    bench.enqueue(task_id="late", depends_on=["first"], delay_seconds=5)
    bench.ok(bench.claim())
    assert bench.state("late") == "ready"
    assert bench.store.claim("q", "w") is None
    bench.world.pass_seconds(5)
    assert bench.claim().task_id == "late"


def test_a_delay_may_be_over_before_the_dependencies(bench: Bench) -> None:
    """A dependent whose delay is over starts as soon as its dependencies have ended."""
    bench.enqueue(task_id="first", kind="first")
    bench.enqueue(task_id="late", depends_on=["first"], delay_seconds=5)
    bench.world.pass_seconds(6)
    assert bench.store.claim("q", "w", kinds=["k"]) is None
    bench.ok(bench.claim())
    assert bench.claim().task_id == "late"


@pytest.mark.parametrize("delay", [0, 0.0, -0.0, 1e-9, 0.0000005])
def test_a_delay_below_a_microsecond_is_none(bench: Bench, delay: float) -> None:
    """A delay too short for the clock leaves the task claimable at once."""
    task_id = bench.enqueue(delay_seconds=delay)
    assert bench.claim().task_id == task_id


@pytest.mark.parametrize("effect", ["read", "write-internal"])
def test_plain_keys_enqueue_what_they_hold(bench: Bench, effect: str) -> None:
    """A key without the admin scope starts work of the narrow effect classes that it holds."""
    key = bench.key(queues=["q"], kinds=["k"], effect_classes=[effect])
    task_id = key.enqueue(queue="q", kind="k", brief={}, effect_class=effect)
    assert bench.store.task(task_id).effect_class == effect


def test_an_admin_key_enqueues_broad_work(bench: Bench) -> None:
    """With the admin scope and the class itself, a key starts work that may write to the repository."""
    key = bench.key(scopes=["admin"], effect_classes=["write-repo"])
    task_id = key.enqueue(queue="q", kind="k", brief={}, effect_class="write-repo")
    assert bench.store.task(task_id).effect_class == "write-repo"


@pytest.mark.parametrize(
    ("given", "kept"),
    [({"b": 1, "a": 2.0}, {"a": 2, "b": 1}), ({"n": -0.0}, {"n": 0}), ({"t": (1,)}, {"t": [1]}), ({}, {})],
)
def test_a_brief_is_kept_in_canonical_form(bench: Bench, given: object, kept: object) -> None:
    """What the task and the lease show is the canonical document of what was given."""
    task_id = bench.enqueue(brief=given)
    assert bench.store.task(task_id).brief == bench.claim().brief == kept
