"""What a lease carries besides its brief: children, dependencies, inputs. (Contract §3.)"""

from __future__ import annotations

import pytest
from verbs.bench import Bench
from verbs.refusals import dump

from tessera.models import Outcome

VERBS = ()
MIB = 1 << 20


def text_of(size: int) -> str:
    """A text whose canonical JSON has this many bytes."""
    return "x" * (size - 2)


def family_of(bench: Bench, sizes: list[int]) -> list[Outcome]:
    """The children of a parent back from a split, whose outputs have these sizes."""
    bench.leased(task_id="p", kind="p")
    bench.store.split("p", 1, [{"brief": {}, "kind": "c"} for _ in sizes])
    for size in sizes:
        bench.ok(bench.claim(kinds=["c"]), text_of(size))
    return bench.claim().children


@pytest.mark.parametrize(
    ("sizes", "carried"),
    [
        ([MIB] * 4, [True] * 4),
        ([MIB] * 5, [True] * 4 + [False]),
        ([MIB, MIB, MIB, MIB - 2, 2, 2], [True] * 5 + [False]),
        ([MIB, MIB, MIB, MIB - 1, 2, MIB], [True] * 4 + [False, False]),
    ],
)
def test_outputs_share_four_mebibytes(bench: Bench, sizes: list[int], carried: list[bool]) -> None:
    """Outputs are on the lease in order while they fit into 4 MiB together; the rest say where to be read."""
    children = family_of(bench, sizes)
    assert [child.output is not None for child in children] == carried
    for child, size in zip(children, sizes, strict=True):
        (result,) = bench.store.results(child.task_id)
        assert (child.result_id, child.output_sha256) == (result.result_id, result.sha256)
        assert child.output in (None, text_of(size))
        assert result.output == text_of(size)


def test_children_and_dependencies_share_them(bench: Bench) -> None:
    """A task with children and dependencies has one allowance for both, the children first."""
    firsts = []
    for _ in range(2):
        lease = bench.leased(kind="first")
        bench.ok(lease, text_of(MIB))
        firsts.append(lease.task_id)
    bench.enqueue(task_id="p", kind="p", depends_on=firsts)
    assert [one.output is not None for one in bench.claim().dependencies] == [True, True]
    bench.store.split("p", 1, [{"brief": {}, "kind": "c"}] * 3)
    for _ in range(3):
        bench.ok(bench.claim(kinds=["c"]), text_of(MIB))
    lease = bench.claim()
    assert [one.output is not None for one in lease.children] == [True] * 3
    assert [one.output is not None for one in lease.dependencies] == [True, False]


def test_an_output_of_null_is_not_no_output(bench: Bench) -> None:
    """A success whose output is null has a hash and a result; a task without a success has neither."""
    bench.ok(bench.leased(task_id="null"), None)
    bench.store.cancel(bench.enqueue(task_id="none"), "r")
    bench.enqueue(depends_on=["null", "none"])
    null, none = bench.claim().dependencies
    assert (null.output, none.output, none.output_sha256, none.result_id) == (None, None, None, None)
    assert null.output_sha256 is not None
    assert null.result_id is not None


def test_only_successes_are_outputs(bench: Bench) -> None:
    """What a failed attempt handed in is no output: the later success is, and a dead task has none."""
    bench.queue("q", max_attempts=2)
    bench.enqueue(task_id="late", kind="x")
    bench.store.submit("late", bench.claim().fencing_token, "of the failure", "i1", ok=False)
    bench.ok(bench.claim(), "of the success")
    bench.dead(task_id="dead", kind="x")
    bench.enqueue(depends_on=["late", "dead"])
    assert [one.output for one in bench.claim().dependencies] == ["of the success", None]


def test_dependencies_are_shown_oldest_first(bench: Bench) -> None:
    """In whatever order they were named, dependencies are listed as they were made, on every lease."""
    made = [bench.enqueue(task_id=name, kind="x") for name in ("z", "a", "m")]
    bench.enqueue(task_id="d", depends_on=["a", "m", "z"])
    for _ in made:
        bench.ok(bench.claim())
    for token in (1, 2):
        assert [one.task_id for one in bench.claim().dependencies] == made
        bench.store.release("d", token)


def test_inputs_are_all_there(bench: Bench) -> None:
    """Inputs have no allowance: each is up to a mebibyte, and all of them are on the lease."""
    task_id = bench.enqueue()
    for token in range(1, 7):
        bench.claim()
        bench.store.park(task_id, token, "r")
        bench.store.resume(task_id, text_of(MIB))
    assert [len(one.input) for one in bench.claim().inputs] == [MIB - 2] * 6


def test_a_plain_task_reads_no_more_than_its_row(bench: Bench) -> None:
    """A task that never waited for anything carries three empty lists."""
    lease = bench.leased()
    assert (lease.children, lease.dependencies, lease.inputs) == ([], [], [])
    assert dump(bench.path)["task_deps"] == []
