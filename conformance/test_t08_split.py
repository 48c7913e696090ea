"""T08: a split parent waits for all its children, then comes back with what they produced."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from conformance.audit import audit
from conformance.bench import PAST_SHORT, SHORT, Bench, brief_of
from conformance.receipts import receipt

MIB = 1 << 20


def split(bench: Bench, queue: str, *children: dict[str, Any]) -> tuple[str, list[str]]:
    """Claim the queue's next task and split it; the parent's id and the children's."""
    lease = bench.claim(queue, "splitter")
    return lease.task_id, bench.client.split(lease.task_id, lease.fencing_token, children)


def test_a_parent_waits_and_returns_with_its_children_s_results(bench: Bench) -> None:
    """While children are unfinished the parent is not claimable; then its lease lists them with outputs."""
    queue = bench.queue()
    root = bench.enqueue(queue, priority=1_000, brief={"whole": True})
    parent, children = split(bench, queue, *({"brief": {"part": n}, "priority": 0} for n in range(3)))
    view = bench.task(parent)
    assert (parent, view.state, view.wait_reason) == (root, "waiting", "children")
    assert (view.pending_children, view.children, view.failures) == (3, children, 0)
    assert bench.counts(queue) == {"ready": 3, "waiting": 1}
    for left in (2, 1, 0):
        lease = bench.claim(queue)
        assert lease.task_id in children
        bench.ok(lease, {"made": brief_of(lease)["part"]})
        assert bench.task(parent).pending_children == left
    merge = bench.claim(queue, "merger")
    assert (merge.task_id, merge.brief, merge.attempts, merge.failures) == (parent, {"whole": True}, 2, 0)
    assert [(child.task_id, child.state, child.output) for child in merge.children] == [
        (task_id, "done", {"made": n}) for n, task_id in enumerate(children)
    ]
    for child in merge.children:
        assert child.output_sha256 == receipt(child.task_id, 1, True, child.output, None)
        assert [result.result_id for result in bench.client.results(child.task_id)] == [child.result_id]
    assert bench.ok(merge, "merged").state == "done"
    assert bench.story(parent) == ["enqueued", "claimed", "split", "parent_ready", "claimed", "submitted"]
    audit(bench)


def test_children_inherit_what_they_do_not_name(bench: Bench) -> None:
    """Queue, kind, effect class and priority come from the parent unless the child names its own."""
    queue, elsewhere = bench.queue(), bench.queue()
    bench.enqueue(queue, kind="whole", priority=7, effect_class="write-internal")
    chosen = bench.name("child")
    named = {
        "brief": {"n": 2}, "queue": elsewhere, "kind": "part", "priority": -7, "effect_class": "read",
        "task_id": chosen,
    }  # fmt: skip
    parent, children = split(bench, queue, {"brief": {"n": 1}}, named)
    first, second = (bench.task(task_id) for task_id in children)
    assert (first.queue, first.kind, first.priority, first.effect_class) == (
        queue, "whole", 7, "write-internal",
    )  # fmt: skip
    assert (second.queue, second.kind, second.priority, second.effect_class) == (
        elsewhere, "part", -7, "read",
    )  # fmt: skip
    assert second.task_id == chosen
    assert [(child.parent_id, child.depth) for child in (first, second)] == [(parent, 1)] * 2
    audit(bench)


def test_children_end_as_they_like_and_all_count(bench: Bench) -> None:
    """Done, dead, lapsed and cancelled children all count as resolved; only success has an output."""
    queue, fragile = bench.queue(), bench.queue(max_attempts=1, **SHORT)
    bench.enqueue(queue)
    parent, children = split(
        bench, queue, {"brief": {}}, {"brief": {}, "queue": fragile}, {"brief": {}},
        {"brief": {}, "queue": fragile},
    )  # fmt: skip
    bench.ok(bench.claim(queue), [1])
    bench.fail(bench.claim(fragile), output={"not": "shown"})
    bench.client.cancel(children[2], "superfluous")
    assert (bench.state(parent), bench.task(parent).pending_children) == ("waiting", 1)
    bench.claim(fragile)
    bench.pass_seconds(PAST_SHORT)
    bench.client.reap()
    merge = bench.claim(queue)
    assert [(child.state, child.output) for child in merge.children] == [
        ("done", [1]), ("dead", None), ("cancelled", None), ("dead", None),
    ]  # fmt: skip
    assert [child.output_sha256 is None for child in merge.children] == [False, True, True, True]
    assert bench.story(parent).count("parent_ready") == 1
    audit(bench)


def test_a_lease_carries_four_mebibytes_of_outputs(bench: Bench) -> None:
    """Outputs that do not fit on the parent's lease are named by hash and result, to be read there."""
    queue = bench.queue()
    bench.enqueue(queue)
    _, children = split(bench, queue, *({"brief": {"n": n}} for n in range(5)))
    receipts = [bench.ok(bench.claim(queue), str(n) * (MIB - 2)) for n in range(5)]
    merge = bench.claim(queue)
    assert [child.output is None for child in merge.children] == [False] * 4 + [True]
    assert [child.output_sha256 for child in merge.children] == [one.sha256 for one in receipts]
    (unshown,) = bench.client.results(children[4])
    assert (unshown.result_id, unshown.output) == (merge.children[4].result_id, "4" * (MIB - 2))
    audit(bench)


def test_a_retried_child_is_not_a_resolved_one(bench: Bench) -> None:
    """A child that fails and is tried again keeps its parent waiting."""
    queue = bench.queue()
    bench.enqueue(queue)
    parent, _ = split(bench, queue, {"brief": {}})
    bench.fail(bench.claim(queue))
    assert (bench.state(parent), bench.task(parent).pending_children) == ("waiting", 1)
    bench.ok(bench.claim(queue), "at last")
    assert [child.output for child in bench.claim(queue).children] == ["at last"]
    audit(bench)


def test_a_parent_may_split_again(bench: Bench) -> None:
    """Back from one split a parent may split once more, and then sees all its children, oldest first."""
    queue = bench.queue()
    bench.enqueue(queue)
    parent, first = split(bench, queue, {"brief": {}})
    bench.ok(bench.claim(queue), 1)
    _, second = split(bench, queue, {"brief": {}}, {"brief": {}})
    for output in (2, 3):
        bench.ok(bench.claim(queue), output)
    merge = bench.claim(queue)
    assert [(child.task_id, child.output) for child in merge.children] == list(
        zip(first + second, (1, 2, 3), strict=True)
    )
    assert bench.task(parent).children == first + second
    bench.ok(merge)
    audit(bench)


def test_nesting_stops_at_the_fourth_generation(bench: Bench) -> None:
    """Great-great-grandchildren exist; they cannot be split, and their ends travel up to the root."""
    queue = bench.queue()
    root = bench.enqueue(queue)
    for depth in range(1, 5):
        _, (child,) = split(bench, queue, {"brief": {"depth": depth}})
        assert bench.task(child).depth == depth
    deepest = bench.claim(queue)
    with bench.refused("invalid_request", deepest.task_id):
        bench.client.split(deepest.task_id, deepest.fencing_token, [{"brief": {}}])
    bench.ok(deepest)
    assert bench.counts(queue) == {"ready": 1, "waiting": 3, "done": 1}
    for _ in range(4):
        bench.ok(bench.claim(queue))
    assert bench.state(root) == "done"
    audit(bench)


def test_a_split_is_all_or_nothing(bench: Bench) -> None:
    """A fault in any child refuses the whole split: no child exists and the lease goes on."""
    queue = bench.queue()
    known, task_id = bench.enqueue(queue, priority=-1), bench.enqueue(queue)
    lease = bench.claim(queue)
    fresh = bench.name("child")
    good = {"brief": {}, "task_id": fresh}
    faults: list[tuple[str, list[dict[str, Any]]]] = [
        ("invalid_request", []),
        ("invalid_request", [{"brief": {}}] * 101),
        ("invalid_request", [good, {"brief": {}, "task_id": known}]),
        ("invalid_request", [good, good]),
        ("invalid_request", [good, {"brief": "no object"}]),
        ("invalid_request", [good, {"brief": {}, "unknown": 1}]),
        ("not_found", [good, {"brief": {}, "queue": bench.name("nowhere")}]),
    ]
    for code, children in faults:
        with bench.refused(code, task_id, known):
            bench.client.split(task_id, lease.fencing_token, children)
        with bench.refused("not_found"):
            bench.client.task(fresh)
    assert bench.counts(queue) == {"ready": 1, "leased": 1}
    assert len(bench.client.split(task_id, lease.fencing_token, [{"brief": {}}] * 100)) == 100
    assert bench.task(task_id).pending_children == 100
    audit(bench)


def test_cancelling_a_parent_cancels_its_unfinished_descendants(bench: Bench) -> None:
    """Children and grandchildren end with their ancestor, whatever state they are in; finished ones stay."""
    queue = bench.queue()
    root = bench.enqueue(queue)
    _, (finished, branch, ready) = split(bench, queue, *({"brief": {"n": n}} for n in range(3)))
    bench.ok(bench.claim(queue), "kept")
    lease = bench.claim(queue)
    (grandchild,) = bench.client.split(branch, lease.fencing_token, [{"brief": {}, "priority": 5}])
    held = bench.claim(queue)
    assert held.task_id == grandchild
    view = bench.client.cancel(root, "plans changed")
    assert (view.state, view.cancel_reason) == ("cancelled", "plans changed")
    assert [bench.state(task_id) for task_id in (branch, ready, grandchild)] == ["cancelled"] * 3
    assert bench.state(finished) == "done"
    with bench.refused("stale_lease", grandchild):
        bench.client.submit(grandchild, held.fencing_token, None, bench.name("k"))
    bench.idle(queue)
    assert bench.counts(queue) == {"done": 1, "cancelled": 4}
    for task_id in (root, branch, ready, grandchild):
        assert bench.story(task_id).count("cancelled") == 1
    line = bench.last(grandchild, "cancelled")
    assert (line.worker, line.fencing_token) == (held.worker, held.fencing_token)
    audit(bench)


@pytest.mark.parametrize("verb", ["heartbeat", "submit", "split", "park", "resume"])
def test_a_waiting_parent_takes_no_orders(bench: Bench, verb: str) -> None:
    """While it waits for children a parent has no lease to act under, and no park to resume."""
    queue = bench.queue()
    bench.enqueue(queue)
    parent, _ = split(bench, queue, {"brief": {}})
    acts: dict[str, Callable[[], object]] = {
        "heartbeat": lambda: bench.client.heartbeat(parent, 1),
        "submit": lambda: bench.client.submit(parent, 1, None, bench.name("k")),
        "split": lambda: bench.client.split(parent, 1, [{"brief": {}}]),
        "park": lambda: bench.client.park(parent, 1, "why"),
        "resume": lambda: bench.client.resume(parent, {}),
    }
    with bench.refused("invalid_state" if verb == "resume" else "stale_lease", parent):
        acts[verb]()
    audit(bench)
