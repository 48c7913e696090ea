"""split: turn one task into children, and wait for them. (Specification §5.2; contract §3, §4.6.)"""

from __future__ import annotations

import pytest
from verbs.bench import LAPSE, Bench

from tessera.models import Outcome

VERBS = ("split",)


def test_children_take_after_their_parent(bench: Bench) -> None:
    """What a child leaves out comes from its parent: queue, kind, effect class and priority."""
    lease = bench.leased(kind="parent", effect_class="write-internal", priority=5)
    bench.world.pass_seconds(1)
    (made,) = bench.store.split(lease.task_id, 1, [{"brief": {"part": 1}}])
    child = bench.store.task(made)
    assert (child.queue, child.kind, child.effect_class, child.priority) == (
        "q", "parent", "write-internal", 5,
    )  # fmt: skip
    assert (child.state, child.brief, child.parent_id, child.depth) == (
        "ready", {"part": 1}, lease.task_id, 1,
    )  # fmt: skip
    assert (child.fencing_token, child.attempts, child.failures, child.created_at) == (0, 0, 0, bench.now())
    assert made.startswith("t_")


def test_children_may_differ(bench: Bench) -> None:
    """A child may say its own id, queue, kind, narrower effect class and priority."""
    bench.queue("other")
    lease = bench.leased(effect_class="write-repo")
    given = {"queue": "other", "kind": "x", "effect_class": "read", "priority": -3, "task_id": "mine"}
    assert bench.store.split(lease.task_id, 1, [{"brief": {}, **given}]) == ["mine"]
    child = bench.store.task("mine")
    assert {name: getattr(child, name) for name in given} == given
    assert (bench.counts("other").ready, bench.counts("q").waiting) == (1, 1)


def test_the_parent_waits(bench: Bench) -> None:
    """The parent's lease is over without a failure; it waits for its children and cannot be claimed."""
    lease = bench.leased(task_id="p", kind="p")
    bench.world.pass_seconds(1)
    made = bench.store.split("p", 1, [{"brief": {}, "kind": "c"}, {"brief": {}, "kind": "c"}])
    parent = bench.store.task("p")
    assert (parent.state, parent.wait_reason, parent.pending_children) == ("waiting", "children", 2)
    assert (parent.children, parent.failures, parent.attempts, parent.fencing_token) == (made, 0, 1, 1)
    assert (parent.worker, parent.claimed_at, parent.expires_at) == (None, None, None)
    assert (parent.updated_at, lease.task_id) == (bench.now(), "p")
    assert bench.store.claim("q", "w", kinds=["p"]) is None
    assert (bench.counts().waiting, bench.counts().ready, bench.counts().leased) == (1, 2, 0)


def test_the_log_of_a_split(bench: Bench) -> None:
    """Each child is one event that names its parent; the split itself names the lease that ended."""
    key = bench.key()
    task_id = bench.enqueue()
    key.claim("q", "w")
    seq = bench.seq()
    made = key.split(task_id, 1, [{"brief": {"secret": 1}}, {"brief": {}}])
    *children, split = bench.log(seq)
    assert [(line.type, line.task_id, line.data) for line in children] == [
        ("enqueued", child, {"parent": task_id}) for child in made
    ]
    assert (split.type, split.task_id, split.worker, split.fencing_token) == ("split", task_id, "w", 1)
    assert split.data == {"children": 2}
    assert {line.key_id for line in (*children, split)} == {bench.key_id()}


def test_the_merge(bench: Bench) -> None:
    """Back from its split, a parent's lease lists every child with its state and its successful output."""
    bench.queue("q", max_attempts=2)
    lease = bench.leased(task_id="p", kind="p")
    made = bench.store.split(
        "p", 1, [{"brief": {}, "kind": kind, "task_id": kind} for kind in ("ok", "dead", "gone", "retried")]
    )
    bench.ok(bench.claim(kinds=["ok"]), {"n": 1})
    for _ in range(2):
        bench.fail(bench.claim(kinds=["dead"]))
    bench.store.cancel("gone", "r")
    assert bench.store.task("p").pending_children == 1
    bench.fail(bench.claim(kinds=["retried"]))
    assert bench.state("p") == "waiting"
    bench.ok(bench.claim(kinds=["retried"]))
    merge = bench.claim()
    results = {task_id: bench.store.results(task_id) for task_id in made}
    assert merge.task_id == lease.task_id
    assert (merge.fencing_token, merge.attempts, merge.failures) == (2, 2, 0)
    assert merge.children == [
        outcome("ok", "done", {"n": 1}, results["ok"][0]), outcome("dead", "dead", None, None),
        outcome("gone", "cancelled", None, None), outcome("retried", "done", None, results["retried"][1]),
    ]  # fmt: skip
    assert bench.story("p") == ["enqueued", "claimed", "split", "parent_ready", "claimed"]


def outcome(task_id: str, state: str, output: object, result: object) -> Outcome:
    """A child whose kind is its id, as its parent sees it."""
    return Outcome(
        task_id=task_id, kind=task_id, state=state, output=output,
        output_sha256=getattr(result, "sha256", None), result_id=getattr(result, "result_id", None),
    )  # fmt: skip


def test_waves(bench: Bench) -> None:
    """`after` names earlier children by index; one named twice counts once."""
    lease = bench.leased(kind="p")
    afters = [[], [0], [0, 0, 1], []]
    made = bench.store.split(
        lease.task_id, 1, [{"brief": {}, "kind": f"c{i}", "after": after} for i, after in enumerate(afters)]
    )
    waits = [(bench.store.task(child).pending_deps, bench.store.task(child).state) for child in made]
    assert waits == [(0, "ready"), (1, "waiting"), (2, "waiting"), (0, "ready")]
    assert bench.store.task(made[2]).depends_on == made[:2]
    done = []
    while (claimed := bench.store.claim("q", "w")) is not None and claimed.kind != "p":
        bench.ok(claimed)
        done.append(claimed.kind)
    assert done == ["c0", "c1", "c2", "c3"] or done == ["c0", "c3", "c1", "c2"]
    assert claimed is not None
    assert len(claimed.children) == 4


def test_a_wave_carries_what_it_waited_for(bench: Bench) -> None:
    """A child's lease lists the earlier children it depended on, with their outputs."""
    lease = bench.leased(kind="p")
    bench.store.split(
        lease.task_id, 1,
        [{"brief": {}, "kind": "a", "task_id": "a"}, {"brief": {}, "kind": "b", "after": [0]}],
    )  # fmt: skip
    bench.ok(bench.claim(kinds=["a"]), "from a")
    (one,) = bench.claim(kinds=["b"]).dependencies
    assert (one.task_id, one.state, one.output) == ("a", "done", "from a")


def test_a_cancelled_wave_releases_the_next(bench: Bench) -> None:
    """A child that ends without success still lets those after it begin."""
    lease = bench.leased(kind="p")
    first, second = bench.store.split(
        lease.task_id, 1, [{"brief": {}, "kind": "c"}, {"brief": {}, "kind": "c", "after": [0]}]
    )
    bench.store.cancel(first, "r")
    assert bench.claim(kinds=["c"]).task_id == second


def test_splitting_again(bench: Bench) -> None:
    """A parent back from a split may split again; its next lease lists all its children, oldest first."""
    lease = bench.leased(task_id="p")
    made = bench.store.split("p", 1, [{"brief": {}}])
    bench.ok(bench.claim(), "first")
    assert bench.claim().task_id == lease.task_id
    made += bench.store.split("p", 2, [{"brief": {}}, {"brief": {}}])
    assert bench.store.task("p").pending_children == 2
    for number in range(2):
        bench.ok(bench.claim(), number)
    merge = bench.claim()
    assert [(child.task_id, child.output) for child in merge.children] == list(
        zip(made, ["first", 0, 1], strict=True)
    )
    assert bench.store.task("p").children == made


def test_a_failed_merge_comes_back_with_its_children(bench: Bench) -> None:
    """A parent whose merge fails or lapses is ready again at once, with the same children on its lease."""
    bench.leased(task_id="p")
    bench.store.split("p", 1, [{"brief": {}}])
    bench.ok(bench.claim(), 1)
    first = bench.claim()
    bench.world.pass_seconds(LAPSE)
    second = bench.claim()
    assert (second.task_id, second.fencing_token, second.failures) == ("p", 3, 1)
    assert second.children == first.children


def test_four_levels(bench: Bench) -> None:
    """A root's line may go four generations down, and a task of the last one cannot split."""
    bench.leased()
    for depth in (1, 2, 3, 4):
        lease = bench.store.claim("q", "w") or bench.store.tasks(state="leased").tasks[0]
        (child,) = bench.store.split(lease.task_id, lease.fencing_token, [{"brief": {}}])
        assert bench.store.task(child).depth == depth
    assert bench.claim().depth == 4


@pytest.mark.parametrize("number", [1, 100])
def test_the_number_of_children(bench: Bench, number: int) -> None:
    """A split makes one to a hundred children, in the order given."""
    lease = bench.leased()
    made = bench.store.split(lease.task_id, 1, [{"brief": {"n": n}} for n in range(number)])
    assert [bench.store.task(child).brief for child in made] == [{"n": n} for n in range(number)]
    assert bench.store.task(lease.task_id).pending_children == number


def test_a_paused_queue_takes_children(bench: Bench) -> None:
    """A child may be put on a paused queue; it waits there for the queue."""
    bench.queue("other")
    bench.store.pause_queue("other")
    lease = bench.leased()
    bench.store.split(lease.task_id, 1, [{"brief": {}, "queue": "other"}])
    assert bench.store.claim("other", "w") is None
    bench.store.resume_queue("other")
    bench.ok(bench.claim("other"))
    assert bench.claim().task_id == lease.task_id
