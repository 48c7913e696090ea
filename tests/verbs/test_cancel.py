"""cancel: end a task that is to be done no more, and everything under it. (Contract §4.7.)"""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from verbs.bench import LAPSE, Bench
from verbs.refusals import refused

VERBS = ("cancel",)
REASON_BYTES = 8 << 10


def in_state(bench: Bench, state: str) -> str:
    """A task in a state that is not the end."""
    if state == "ready":
        return bench.enqueue()
    if state == "delayed":
        return bench.enqueue(delay_seconds=100)
    if state == "parked":
        return bench.parked(resume_within=5).task_id
    lease = bench.leased()
    if state == "split":
        bench.store.split(lease.task_id, 1, [{"brief": {}}])
    if state == "lapsed":
        bench.world.pass_seconds(LAPSE)
    return bench.enqueue(depends_on=[lease.task_id]) if state == "dependent" else lease.task_id


STATES = ["ready", "delayed", "leased", "lapsed", "split", "parked", "dependent"]


@pytest.mark.parametrize("state", STATES)
def test_the_whole_answer(bench: Bench, state: str) -> None:
    """From every state that is not the end a task is cancelled at once; the answer is the task as it is."""
    task_id = in_state(bench, state)
    before = bench.store.task(task_id)
    bench.world.pass_seconds(1)
    view = bench.store.cancel(task_id, "no longer ü")
    assert view == bench.store.task(task_id)
    assert view == msgspec.structs.replace(
        before, state="cancelled", cancel_reason="no longer ü", wait_reason=None, park_reason=None,
        parked_by=None, resume_at=None, worker=None, claimed_at=None, expires_at=None, updated_at=bench.now(),
    )  # fmt: skip
    bench.world.pass_seconds(1_000)
    bench.store.reap()
    assert bench.state(task_id) == "cancelled"
    assert bench.store.health().queues["q"].expired_leases == 0


@pytest.mark.parametrize("state", ["ready", "leased", "parked"])
def test_the_log_of_a_cancel(bench: Bench, state: str) -> None:
    """One event names the task, the lease that ended and the key, and holds no reason."""
    task_id = in_state(bench, state)
    key = bench.key()
    seq = bench.seq()
    key.cancel(task_id, "a secret reason")
    (line,) = bench.log(seq)
    assert (line.type, line.queue, line.task_id, line.data) == ("cancelled", "q", task_id, None)
    assert line.worker == ("w" if state == "leased" else None)
    assert line.fencing_token == (None if state == "ready" else 1)
    assert line.key_id == bench.key_id()


@pytest.mark.parametrize("end", ["done", "dead", "cancelled"])
def test_what_has_ended(bench: Bench, end: str) -> None:
    """A task that is done, dead or cancelled stays what it is."""
    bench.queue("q", max_attempts=1)
    lease = bench.leased()
    if end == "done":
        bench.ok(lease)
    elif end == "dead":
        bench.fail(lease)
    else:
        bench.store.cancel(lease.task_id, "first")
    refused(bench, "invalid_state", bench.store.cancel, lease.task_id, "second")


def family(bench: Bench) -> dict[str, str]:
    """A root with children in every state, one with a child of its own; task id by what it is."""
    bench.queue("other")
    bench.leased(task_id="root")
    kinds = ["done", "leased", "middle", "parked", "ready", "waiting"]
    bench.store.split("root", 1, [
        {"brief": {}, "kind": kind, "task_id": kind, "priority": 10 - n, "queue": "other",
         "after": [4] if kind == "waiting" else []}
        for n, kind in enumerate(kinds)
    ])  # fmt: skip
    bench.ok(bench.claim("other", kinds=["done"]))
    bench.claim("other", "worker-l", kinds=["leased"])
    bench.claim("other", kinds=["middle"])
    bench.store.split("middle", 1, [{"brief": {}, "task_id": "grandchild", "queue": "q"}])
    bench.claim("q", "worker-g")
    bench.claim("other", kinds=["parked"])
    bench.store.park("parked", 1, "r", 5)
    return {kind: bench.state(kind) for kind in kinds}


def test_everything_under_it(bench: Bench) -> None:
    """Unfinished descendants of every generation, queue and state go with it; what has ended stays."""
    family(bench)
    key = bench.key()
    bench.world.pass_seconds(1)
    seq = bench.seq()
    key.cancel("root", "all of it")
    lines = bench.log(seq)
    assert [line.task_id for line in lines] == [
        "root", "leased", "middle", "parked", "ready", "waiting", "grandchild",
    ]  # fmt: skip
    for line in lines:
        task = bench.store.task(str(line.task_id))
        assert (task.state, task.cancel_reason, task.worker) == ("cancelled", "all of it", None)
        assert (task.wait_reason, task.resume_at, task.updated_at) == (None, None, bench.now())
        assert (line.type, line.queue, line.key_id) == ("cancelled", task.queue, bench.key_id())
        assert line.data == (None if line.task_id == "root" else {"under": "root"})
    named = {line.task_id: (line.worker, line.fencing_token) for line in lines}
    assert named["leased"] == ("worker-l", 1)
    assert named["grandchild"] == ("worker-g", 1)
    assert (named["ready"], named["parked"], named["root"]) == ((None, None), (None, 1), (None, 1))
    assert bench.state("done") == "done"
    bench.world.pass_seconds(1_000)
    assert bench.store.reap() == 0


def test_the_holders_of_descendants_learn_of_it(bench: Bench) -> None:
    """The next word of whoever worked under a cancelled root is refused."""
    family(bench)
    bench.store.cancel("root", "r")
    refused(bench, "stale_lease", bench.store.heartbeat, "leased", 1)
    refused(bench, "stale_lease", bench.store.submit, "grandchild", 1, None, "i")


def test_what_waited_is_told(bench: Bench) -> None:
    """Cancelling counts as resolved: for the parent, and for dependents inside and outside the family."""
    family(bench)
    bench.enqueue(task_id="outside", depends_on=["grandchild", "ready", "middle"])
    bench.enqueue(task_id="patient", depends_on=["grandchild", "root"])
    bench.store.cancel("middle", "r")
    assert (bench.store.task("outside").pending_deps, bench.store.task("root").pending_children) == (1, 4)
    bench.store.cancel("root", "r")
    assert (bench.state("outside"), bench.state("patient")) == ("ready", "ready")
    assert bench.story("outside") == ["enqueued", "dependencies_met"]
    lease = bench.claim(kinds=["k"])
    assert {(one.task_id, one.state, one.output) for one in lease.dependencies} == {
        ("grandchild", "cancelled", None), ("ready", "cancelled", None), ("middle", "cancelled", None),
    }  # fmt: skip


def test_the_last_child(bench: Bench) -> None:
    """Cancelling the last open child brings the parent back."""
    bench.leased(task_id="p")
    (child,) = bench.store.split("p", 1, [{"brief": {}}])
    bench.store.cancel(child, "r")
    assert bench.story("p")[-1] == "parent_ready"
    assert [(one.task_id, one.state) for one in bench.claim().children] == [(child, "cancelled")]


def test_dependents_are_not_descendants(bench: Bench) -> None:
    """A task that depends on a cancelled one is released, not cancelled."""
    first = bench.enqueue(kind="first")
    dependent = bench.enqueue(depends_on=[first])
    bench.store.cancel(first, "r")
    assert bench.state(dependent) == "ready"


@pytest.mark.parametrize("character", ["x", "é", "€", "\U0001f600"])
def test_the_size_of_a_reason(bench: Bench, character: str) -> None:
    """A reason has at most 8 KiB of UTF-8, and may be empty."""
    width = len(character.encode())
    reason = character * (REASON_BYTES // width) + "x" * (REASON_BYTES % width)
    task_id = bench.enqueue()
    refused(bench, "invalid_request", bench.store.cancel, task_id, reason + "x")
    assert bench.store.cancel(task_id, reason).cancel_reason == reason
    assert bench.store.cancel(bench.enqueue(), "").cancel_reason == ""


@pytest.mark.parametrize("reason", [None, 1, ["r"], "\ud800"], ids=ascii)
def test_what_is_no_reason(bench: Bench, reason: Any) -> None:
    """A reason is a text that Unicode knows."""
    refused(bench, "invalid_request", bench.store.cancel, bench.enqueue(), reason)


def test_an_unknown_task(bench: Bench) -> None:
    """A task that does not exist is not found."""
    refused(bench, "not_found", bench.store.cancel, "none", "r")


def test_outside_the_grant(bench: Bench) -> None:
    """A key needs the task's queue and its kind."""
    task_id = bench.leased().task_id
    refused(bench, "forbidden", bench.key(queues=["other"], scopes=["admin"]).cancel, task_id, "r")
    refused(bench, "forbidden", bench.key(kinds=["x"]).cancel, task_id, "r")


def test_effect_classes(bench: Bench) -> None:
    """A key needs the task's effect class, not the admin scope, and not the lease."""
    task_id = bench.leased(effect_class="write-repo").task_id
    refused(bench, "scope_denied", bench.key().cancel, task_id, "r")
    refused(bench, "scope_denied", bench.key(scopes=["admin"]).cancel, task_id, "r")
    assert bench.key(effect_classes=["write-repo"]).cancel(task_id, "r").state == "cancelled"
