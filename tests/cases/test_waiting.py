"""Waiting: for children, for dependencies, for input; and what ends each wait."""

from __future__ import annotations

from typing import Any

import apsw
import pytest
from verbs.bench import Bench
from verbs.refusals import refused

CHILD = {"brief": {}, "kind": "c"}


def ended(bench: Bench, end: str, **fields: Any) -> str:
    """A task that has ended in a given way."""
    bench.queue("ends", max_attempts=1)
    task_id = bench.enqueue("ends", **fields)
    if end == "cancelled":
        bench.store.cancel(task_id, "r")
    else:
        lease = bench.claim("ends")
        bench.ok(lease, f"out of {task_id}") if end == "done" else bench.fail(lease)
    assert bench.state(task_id) == end
    return task_id


def test_d01_every_end_of_a_child_counts_one(bench: Bench) -> None:
    """D01: however a child ends, in whatever queue, its parent counts exactly one less, and comes back once
    with all of them on its lease.
    """
    bench.queue("other", max_attempts=1)
    bench.leased(task_id="p", kind="p")
    made = bench.store.split("p", 1, [{**CHILD, "queue": "other", "kind": kind} for kind in ("a", "b", "c")])
    assert bench.store.task("p").pending_children == 3
    bench.ok(bench.claim("other", kinds=["a"]), "of a")
    assert bench.store.task("p").pending_children == 2
    bench.claim("other", kinds=["b"])
    bench.world.pass_seconds(10)
    bench.store.reap()
    assert bench.store.task("p").pending_children == 1
    bench.store.cancel(made[2], "r")
    assert (bench.state("p"), bench.store.task("p").pending_children) == ("ready", 0)
    assert bench.story("p").count("parent_ready") == 1
    assert [(one.state, one.output) for one in bench.claim().children] == [
        ("done", "of a"), ("dead", None), ("cancelled", None),
    ]  # fmt: skip


def test_d04_a_waiting_parent_is_never_leased(bench: Bench) -> None:
    """D04: a parent of top priority is not leased before its last child has ended, whoever asks how often."""
    bench.leased(task_id="p", kind="p", priority=1_000)
    bench.store.split("p", 1, [{**CHILD, "priority": -n, "after": [n - 1] if n else []} for n in range(4)])
    for _ in range(4):
        claims = [bench.store.claim("q", f"w{number}") for number in range(8)]
        (lease,) = [one for one in claims if one is not None]
        assert lease.kind == "c"
        assert bench.store.claim("q", "w", kinds=["p"]) is None
        bench.ok(lease)
    assert bench.claim().task_id == "p"


def test_d05_the_reaper_releases_dependents(bench: Bench) -> None:
    """D05: when the last lapse of a task is met by the reaper alone, its dependents go on in that run."""
    bench.queue("q", max_attempts=1)
    first = bench.leased(kind="first").task_id
    second = bench.enqueue(depends_on=[first])
    bench.world.pass_seconds(10)
    assert bench.store.reap() == 1
    assert (bench.state(first), bench.state(second)) == ("dead", "ready")
    assert bench.story(second) == ["enqueued", "dependencies_met"]
    (one,) = bench.claim().dependencies
    assert (one.task_id, one.state, one.output, one.result_id) == (first, "dead", None, None)


def test_d09_a_dependency_must_exist(bench: Bench) -> None:
    """D09: an unknown dependency is not taken for a resolved one: nothing is made. One named twice counts
    once, none is none, and one in a queue outside the grant is refused without a word about it.
    """
    bench.queue("hidden")
    bench.enqueue(task_id="a", delay_seconds=100)
    bench.enqueue("hidden", task_id="h")
    key = bench.key(queues=["q"])
    for depends_on in (["nope"], ["a", "nope"], ["nope", "a"]):
        refused(bench, "not_found", bench.enqueue, depends_on=depends_on)
        refused(bench, "not_found", key.enqueue, queue="q", kind="k", brief={}, depends_on=depends_on)
    for depends_on in (["h"], ["a", "h"], ["nope", "h"]):
        task = dict(queue="q", kind="k", brief={}, depends_on=depends_on)
        refusal = refused(bench, "forbidden", key.enqueue, task)
        assert "hidden" not in refusal.detail
    assert bench.store.task(bench.enqueue(depends_on=["a", "a"])).pending_deps == 1
    assert bench.store.task(bench.enqueue(depends_on=[])).state == "ready"


def test_d10_one_meaning_of_claimable(bench: Bench) -> None:
    """D10: claims, health and the lists agree on what could be claimed now: what is delayed, waits or is
    parked could not, though a delayed task counts as ready.
    """
    bench.enqueue(task_id="delayed", delay_seconds=50)
    bench.parked()
    bench.enqueue(task_id="dependent", depends_on=["delayed"])
    bench.world.pass_seconds(10)
    assert bench.counts().ready == 1
    assert bench.store.health().queues["q"].oldest_ready_age_seconds is None
    assert bench.store.claim("q", "w") is None
    bench.enqueue(task_id="now")
    bench.world.pass_seconds(5)
    assert bench.store.health().queues["q"].oldest_ready_age_seconds == 5
    ready = bench.store.tasks(state="ready").tasks
    assert [(task.task_id, task.not_before is None) for task in ready] == [("delayed", False), ("now", True)]
    assert bench.claim().task_id == "now"
    assert bench.store.health().queues["q"].oldest_ready_age_seconds is None
    bench.world.pass_seconds(38)
    assert bench.store.health().queues["q"].oldest_ready_age_seconds == 3
    assert bench.claim().task_id == "delayed"


@pytest.mark.parametrize("end", ["done", "dead", "cancelled"])
def test_d11_a_dependency_that_has_ended_already(bench: Bench, end: str) -> None:
    """D11: an edge to a task that has ended holds nothing up, and still carries its outcome."""
    first = ended(bench, end)
    open_one = bench.enqueue(kind="open")
    free = bench.store.task(bench.enqueue(depends_on=[first]))
    mixed = bench.store.task(bench.enqueue(depends_on=[first, open_one]))
    assert (free.state, free.pending_deps) == ("ready", 0)
    assert (mixed.state, mixed.pending_deps, mixed.depends_on) == ("waiting", 1, [first, open_one])
    output = f"out of {first}" if end == "done" else None
    assert [(one.state, one.output) for one in bench.claim(kinds=["k"]).dependencies] == [(end, output)]
    bench.ok(bench.claim(kinds=["open"]), "late")
    assert [(one.state, one.output) for one in bench.claim().dependencies] == [
        (end, output), ("done", "late"),
    ]  # fmt: skip


def test_d12_all_children_cancelled(bench: Bench) -> None:
    """D12: a parent whose children are cancelled one by one comes back after the last."""
    bench.leased(task_id="p", kind="p")
    made = bench.store.split("p", 1, [CHILD] * 3)
    for left, child in zip((2, 1, 0), made, strict=True):
        assert bench.state("p") == "waiting"
        bench.store.cancel(child, "r")
        assert bench.store.task("p").pending_children == left
    assert [one.state for one in bench.claim(kinds=["p"]).children] == ["cancelled"] * 3


def test_d13_an_answer_is_for_its_park(bench: Bench) -> None:
    """D13: a resume that names a park answers that one and no later one, and nothing of it is kept."""
    task_id = bench.parked().task_id
    bench.store.resume(task_id, "first")
    bench.store.park(task_id, bench.claim().fencing_token, "again")
    refused(bench, "invalid_state", bench.store.resume, task_id, "stray", 1)
    refused(bench, "invalid_state", bench.store.resume, task_id, "stray", 3)
    bench.store.resume(task_id, "second", 2)
    for park in (1, 2, 3, None):
        refused(bench, "invalid_state", bench.store.resume, task_id, "stray", park)
    assert [(one.park, one.input) for one in bench.claim().inputs] == [(1, "first"), (2, "second")]


def test_d15_parks_outlive_the_process(bench: Bench) -> None:
    """D15: parked tasks survive a restart; time brings back the one with an end, and inputs keep order."""
    timed = bench.parked(resume_within=60).task_id
    first, second = bench.parked().task_id, bench.parked(input_schema={"type": "string"}).task_id
    bench.reopened()
    assert {bench.store.task(one).wait_reason for one in (timed, first, second)} == {"input"}
    assert bench.store.task(timed).resume_at == bench.after(60)
    bench.world.pass_seconds(60)
    bench.store.resume(first, {"n": 1})
    bench.reopened()
    refused(bench, "invalid_request", bench.store.resume, second, 5)
    bench.store.resume(second, "text")
    got = {lease.task_id: [one.input for one in lease.inputs] for lease in [bench.claim() for _ in range(3)]}
    assert got == {timed: [{"timed_out": True}], first: [{"n": 1}], second: ["text"]}
    bench.store.park(first, 2, "again")
    bench.reopened()
    bench.store.resume(first, {"n": 2})
    assert [one.input for one in bench.claim().inputs] == [{"n": 1}, {"n": 2}]


def test_d17_a_right_that_was_taken_away(bench: Bench) -> None:
    """D17: between a park and its resume, or a claim and its submit, a key may be revoked or expire: what
    counts is the right at that instant, and a lacking effect class is told as such.
    """
    parked = bench.parked(effect_class="write-internal").task_id
    narrow, resumer = bench.key(), bench.key(effect_classes=["write-internal"])
    refused(bench, "scope_denied", narrow.resume, parked, 1)
    bench.store.revoke_key(bench.key_id())
    refused(bench, "unauthorized", resumer.resume, parked, 1)
    short = bench.key(days=1)
    bench.world.pass_seconds(24 * 3_600 - 5)
    bench.enqueue(task_id="t")
    assert short.claim("q", "w", ["k"]) is not None
    bench.world.pass_seconds(5)
    refused(bench, "unauthorized", short.submit, "t", 1, None, "i")
    refused(bench, "unauthorized", short.heartbeat, "t", 1)
    assert bench.state("t") == "leased"


def test_d17_an_effect_class_that_was_cut(bench: Bench) -> None:
    """D17: a grant that is narrowed in the store counts narrowed from the next verb on."""
    parked = bench.parked(effect_class="write-internal").task_id
    key = bench.key(effect_classes=["read", "write-internal"])
    file = apsw.Connection(str(bench.path))
    file.execute("update keys set grant_json = replace(grant_json, ',\"write-internal\"', '')")
    file.close()
    refused(bench, "scope_denied", key.resume, parked, 1)
    assert bench.store.keys()[0].effect_classes == ["read"]


def test_d22_no_lease_no_right(bench: Bench) -> None:
    """D22: the last token of a task that waits, for whatever reason, is no lease; only a park is answered."""
    bench.enqueue(task_id="first", delay_seconds=1_000)
    bench.enqueue(task_id="deps", depends_on=["first"])
    bench.leased(task_id="children")
    bench.store.split("children", 1, [CHILD])
    bench.claim()
    parked = bench.parked().task_id
    for task_id in ("deps", "children", parked):
        refused(bench, "stale_lease", bench.store.submit, task_id, 1, None, "i")
        refused(bench, "stale_lease", bench.store.split, task_id, 1, [CHILD])
        refused(bench, "stale_lease", bench.store.park, task_id, 1, "r")
        refused(bench, "stale_lease", bench.store.heartbeat, task_id, 1)
        refused(bench, "stale_lease", bench.store.release, task_id, 1)
        if task_id != parked:
            refused(bench, "invalid_state", bench.store.resume, task_id, 1)
    assert bench.store.resume(parked, 1).state == "ready"
