"""T18: children of a split may follow one another, so a split can run in waves."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.audit import audit
from conformance.bench import Bench, brief_of


def wave(bench: Bench, queue: str) -> list[str]:
    """Finish everything that can be claimed now; the names of the parts, in the order of their leases."""
    leases = []
    while (lease := bench.client.claim(queue, "surfer", kinds=["part"])) is not None:
        leases.append(lease)
    for lease in leases:
        bench.ok(lease, {"did": brief_of(lease)["part"]})
    return [brief_of(lease)["part"] for lease in leases]


def parts(*names_and_afters: tuple[str, list[int]]) -> list[dict[str, Any]]:
    return [{"kind": "part", "brief": {"part": name}, "after": after} for name, after in names_and_afters]


def test_children_run_in_waves(bench: Bench) -> None:
    """A child with `after` waits for those children and carries their outputs; then the parent merges all."""
    queue = bench.queue()
    bench.enqueue(queue, kind="whole")
    lease = bench.claim(queue)
    plan = parts(("a", []), ("b", []), ("c", [0, 1]), ("d", [0]), ("e", [2, 3]))
    children = bench.client.split(lease.task_id, lease.fencing_token, plan)
    views = [bench.task(task_id) for task_id in children]
    assert [view.state for view in views] == ["ready", "ready", "waiting", "waiting", "waiting"]
    assert [view.pending_deps for view in views] == [0, 0, 2, 1, 2]
    assert views[2].depends_on == [children[0], children[1]]
    assert bench.counts(queue) == {"ready": 2, "waiting": 4}
    assert sorted(wave(bench, queue)) == ["a", "b"]
    assert sorted(wave(bench, queue)) == ["c", "d"]
    last = bench.claim(queue, kinds=["part"])
    assert [(one.task_id, one.output) for one in last.dependencies] == [
        (children[2], {"did": "c"}), (children[3], {"did": "d"}),
    ]  # fmt: skip
    bench.idle(queue)
    bench.ok(last, {"did": "e"})
    merge = bench.claim(queue, kinds=["whole"])
    assert [child.output for child in merge.children] == [{"did": name} for name in "abcde"]
    bench.ok(merge)
    audit(bench)


def test_a_chain_runs_one_by_one(bench: Bench) -> None:
    """Ten children in a row are never claimable two at a time."""
    queue = bench.queue()
    bench.enqueue(queue, kind="whole")
    lease = bench.claim(queue)
    plan = parts(*((str(n), [n - 1] if n else []) for n in range(10)))
    bench.client.split(lease.task_id, lease.fencing_token, plan)
    assert [wave(bench, queue) for _ in range(11)] == [[str(n)] for n in range(10)] + [[]]
    assert bench.claim(queue).kind == "whole"
    audit(bench)


def test_a_wave_goes_on_after_a_dead_or_cancelled_child(bench: Bench) -> None:
    """What comes after a child that did not succeed still runs, and sees how it ended."""
    queue = bench.queue(max_attempts=1)
    bench.enqueue(queue, kind="whole")
    lease = bench.claim(queue)
    plan = parts(("dies", []), ("goes", []), ("follows", [0, 1]))
    children = bench.client.split(lease.task_id, lease.fencing_token, plan)
    bench.fail(bench.claim(queue, kinds=["part"]))
    bench.client.cancel(children[1], "superfluous")
    last = bench.claim(queue, kinds=["part"])
    assert [(one.state, one.output) for one in last.dependencies] == [("dead", None), ("cancelled", None)]
    bench.ok(last)
    assert [child.state for child in bench.claim(queue).children] == ["dead", "cancelled", "done"]
    audit(bench)


def test_an_index_named_twice_counts_once(bench: Bench) -> None:
    """A child that names the same earlier child twice waits for it once."""
    queue = bench.queue()
    bench.enqueue(queue, kind="whole")
    lease = bench.claim(queue)
    children = bench.client.split(lease.task_id, lease.fencing_token, parts(("a", []), ("b", [0, 0])))
    assert bench.task(children[1]).pending_deps == 1
    assert [wave(bench, queue), wave(bench, queue)] == [["a"], ["b"]]
    audit(bench)


@pytest.mark.parametrize(
    "afters", [[[0]], [[], [1]], [[], [2], []], [[], [-1]], [[1], [0]], [[], [0, 7]]], ids=str
)
def test_only_earlier_children_can_be_waited_for(bench: Bench, afters: list[list[int]]) -> None:
    """An index that is not an earlier child's refuses the whole split, so no circle can arise."""
    queue = bench.queue()
    task_id = bench.enqueue(queue)
    lease = bench.claim(queue)
    with bench.refused("invalid_request", task_id):
        bench.client.split(task_id, lease.fencing_token, parts(*(("x", after) for after in afters)))
    assert bench.counts(queue) == {"leased": 1}
    audit(bench)
