"""requeue: give a dead task's work another chance. (Contract §3.)"""

from __future__ import annotations

import apsw
import msgspec
import pytest
from verbs.bench import Bench
from verbs.refusals import refused, unchanged

VERBS = ("requeue",)


@pytest.fixture
def dead(bench: Bench) -> str:
    """A task that has died of its only attempt."""
    bench.queue("q", max_attempts=1)
    return bench.dead(task_id="gone", kind="sad", brief={"n": 1}, priority=4, effect_class="write-internal")


def test_a_new_task_goes_on(bench: Bench, dead: str) -> None:
    """The dead task stays dead; a new one with its work is ready, and says whom it goes on for."""
    before = bench.store.task(dead)
    bench.world.pass_seconds(1)
    new = bench.store.requeue(dead)
    assert bench.store.task(dead) == before
    assert bench.store.task(new) == msgspec.structs.replace(
        before, task_id=new, state="ready", attempts=0, failures=0, fencing_token=0, last_error=None,
        created_at=bench.now(), updated_at=bench.now(), requeued_from=dead,
    )  # fmt: skip
    lease = bench.claim()
    assert (lease.task_id, lease.brief, lease.fencing_token) == (new, {"n": 1}, 1)


def test_the_log_of_a_requeue(bench: Bench, dead: str) -> None:
    """One event names the new task, the dead one and the key."""
    key = bench.key(scopes=["admin"], effect_classes=["write-internal"])
    seq = bench.seq()
    new = key.requeue(dead)
    (line,) = bench.log(seq)
    assert (line.type, line.queue, line.task_id, line.data) == ("requeued", "q", new, {"requeued_from": dead})
    assert (line.worker, line.fencing_token, line.key_id) == (None, None, bench.key_id())


def test_requeuing_twice(bench: Bench, dead: str) -> None:
    """While the new task has not ended, asking again gives its id and changes nothing; then anew."""
    first = bench.store.requeue(dead)
    assert unchanged(bench, bench.store.requeue, dead) == first
    lease = bench.claim()
    assert unchanged(bench, bench.store.requeue, dead) == first
    bench.fail(lease)
    second = bench.store.requeue(dead)
    assert second != first
    assert bench.store.requeue(first) not in {dead, first, second}


@pytest.mark.parametrize("state", ["ready", "leased", "waiting", "done", "cancelled"])
def test_only_the_dead(bench: Bench, state: str) -> None:
    """A task in any other state is not requeued."""
    task_id = bench.enqueue()
    if state != "ready":
        lease = bench.claim()
    if state == "waiting":
        bench.store.park(task_id, 1, "r")
    if state == "done":
        bench.ok(lease)
    if state == "cancelled":
        bench.store.cancel(task_id, "r")
    refused(bench, "invalid_state", bench.store.requeue, task_id)


def test_a_child_goes_on_as_a_root(bench: Bench) -> None:
    """The new task of a dead child has no parent: the old one has counted the child already."""
    bench.queue("q", max_attempts=1)
    bench.leased(task_id="p", kind="p")
    bench.store.split("p", 1, [{"brief": {}, "kind": "c", "task_id": "c"}])
    bench.fail(bench.claim(kinds=["c"]))
    task = bench.store.task(bench.store.requeue("c"))
    assert (task.parent_id, task.depth) == (None, 0)
    assert [one.task_id for one in bench.claim(kinds=["p"]).children] == ["c"]


def test_a_damaged_brief(bench: Bench, dead: str) -> None:
    """Work whose brief no longer matches its hash is not started again."""
    file = apsw.Connection(str(bench.path))
    file.execute("update briefs set brief = '{}'")
    file.close()
    refused(bench, "invalid_state", bench.store.requeue, dead)


def test_an_unknown_task(bench: Bench, dead: str) -> None:
    """A task that does not exist is not found."""
    refused(bench, "not_found", bench.store.requeue, "none")


def test_what_names_no_task(bench: Bench, dead: str) -> None:
    """A task id is 1 to 128 characters of text."""
    for task_id in ["", "x" * 129, None, 1]:
        refused(bench, "invalid_request", bench.store.requeue, task_id)


def test_what_a_key_needs(bench: Bench, dead: str) -> None:
    """Requeuing is for admin keys of the queue and the kind that hold the effect class."""
    grant = {"scopes": ["admin"], "effect_classes": ["write-internal"]}
    refused(bench, "scope_denied", bench.key(effect_classes=["write-internal"]).requeue, dead)
    refused(bench, "forbidden", bench.key(**grant, queues=["other"]).requeue, dead)
    refused(bench, "forbidden", bench.key(**grant, kinds=["other"]).requeue, dead)
    refused(bench, "scope_denied", bench.key(scopes=["admin"]).requeue, dead)
    assert bench.key(**grant, queues=["q"], kinds=["sad"]).requeue(dead)
