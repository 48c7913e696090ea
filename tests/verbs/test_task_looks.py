"""task, tasks, results: look at tasks and at what was handed in. (Contract §3.)"""

from __future__ import annotations

from typing import Any

import pytest
from verbs.bench import Bench
from verbs.refusals import refused, unchanged

VERBS = ("task", "tasks", "results")
MIB = 1 << 20


def ids(bench: Bench, **filters: Any) -> list[str]:
    """The ids of one page."""
    return [task.task_id for task in bench.store.tasks(**filters).tasks]


def test_a_task_is_the_same_from_both_looks(bench: Bench) -> None:
    """The list shows each task exactly as a look at the one does, and looking writes nothing."""
    bench.queue("q", max_attempts=1)
    made = [bench.parked().task_id, bench.dead(), bench.enqueue(), bench.enqueue(delay_seconds=5)]
    bench.enqueue(depends_on=made)
    page = unchanged(bench, bench.store.tasks)
    assert page.next is None
    assert page.tasks == [unchanged(bench, bench.store.task, task.task_id) for task in page.tasks]
    assert [task.task_id for task in page.tasks][:4] == made


def test_filters(bench: Bench) -> None:
    """A filter takes the tasks of one queue, state and kind; together they narrow."""
    bench.queue("other")
    a, b = bench.enqueue(kind="x"), bench.enqueue(kind="y")
    c = bench.enqueue("other", kind="x")
    lease = bench.claim("q", kinds=["x"])
    assert ids(bench) == [a, b, c]
    assert ids(bench, queue="q") == [a, b]
    assert ids(bench, kind="x") == [a, c]
    assert ids(bench, state="leased") == [lease.task_id] == [a]
    assert ids(bench, state="ready", kind="x") == [c]
    assert ids(bench, queue="q", state="ready", kind="x") == []
    assert ids(bench, kind="none") == []


@pytest.mark.parametrize("limit", [1, 2, 3, 6, 7, 1_000])
def test_pages(bench: Bench, limit: int) -> None:
    """Pages follow each other without a gap or a repeat, oldest first, and the last has no next."""
    bench.queue("other")
    for number in range(14):
        bench.enqueue("other" if number % 2 else "q", task_id=f"z{14 - number:02}")
    seen: list[str] = []
    after = None
    while True:
        page = bench.store.tasks("q", limit=limit, after=after)
        assert len(page.tasks) <= limit
        seen += [task.task_id for task in page.tasks]
        if page.next is None:
            break
        assert page.next == page.tasks[-1].task_id
        after = page.next
    assert seen == [f"z{14 - number:02}" for number in range(0, 14, 2)]


def test_a_page_ends_early_when_briefs_are_large(bench: Bench) -> None:
    """A page holds about 4 MiB of briefs; `next` goes on from there, and one brief always fits."""
    made = [bench.enqueue(brief={"b": "x" * (MIB - 100)}) for _ in range(7)]
    first = bench.store.tasks()
    assert [task.task_id for task in first.tasks] == made[:5]
    rest = bench.store.tasks(after=first.next)
    assert ([task.task_id for task in rest.tasks], rest.next) == (made[5:], None)


def test_what_is_no_limit(bench: Bench) -> None:
    """A page has 1 to 1,000 tasks."""
    for limit in [0, -1, 1_001, 1.5, "10", None, True]:
        refused(bench, "invalid_request", bench.store.tasks, limit=limit)


def test_what_is_no_state(bench: Bench) -> None:
    """There are six states."""
    for state in ["", "READY", "parked", "ready\n", 0, ["ready"]]:
        refused(bench, "invalid_request", bench.store.tasks, state=state)


def test_what_names_no_task(bench: Bench) -> None:
    """A task id is 1 to 128 characters of text."""
    for task_id in ["", "x" * 129, None, 1, ["t"]]:
        refused(bench, "invalid_request", bench.store.task, task_id)
        refused(bench, "invalid_request", bench.store.results, task_id)


UNKNOWN: list[Any] = ["none", "x" * 128, "claim", "é", "\x00", "%", "t' or 1=1--"]


def test_what_does_not_exist(bench: Bench) -> None:
    """An unknown task, as a task, as a cursor or by its results, and an unknown queue are not found."""
    for task_id in UNKNOWN:
        bench.enqueue(task_id="t")
        refused(bench, "not_found", bench.store.task, task_id)
        refused(bench, "not_found", bench.store.results, task_id)
        refused(bench, "not_found", bench.store.tasks, after=task_id)
        refused(bench, "not_found", bench.store.tasks, "none")


def test_outside_the_grant(bench: Bench) -> None:
    """A key sees the tasks of its queues, of every kind, and a list without a queue shows no others."""
    bench.queue("other")
    mine, far = bench.enqueue(kind="x"), bench.enqueue("other")
    key = bench.key(queues=["q"], kinds=["k"], scopes=["admin"])
    refused(bench, "forbidden", key.task, far)
    refused(bench, "forbidden", key.results, far)
    refused(bench, "forbidden", key.tasks, "other")
    assert key.task(mine).kind == "x"
    assert [task.task_id for task in key.tasks().tasks] == [mine]
    assert key.results(mine) == []
    nowhere = bench.key(queues=["not-defined-yet"])
    assert nowhere.tasks().tasks == []


def test_results_oldest_first(bench: Bench) -> None:
    """Every submit is there in its order, with its own token, worker, output and key."""
    bench.queue("q", max_attempts=3)
    task_id = bench.enqueue()
    for number in (1, 2, 3):
        bench.claim(worker=f"w{number}")
        bench.world.pass_seconds(1)
        bench.store.submit(task_id, number, {"n": number}, f"i{number}", ok=number == 3, error=f"e{number}")
    results = unchanged(bench, bench.store.results, task_id)
    assert [
        (one.fencing_token, one.worker, one.ok, one.output, one.error, one.idempotency_key) for one in results
    ] == [(n, f"w{n}", n == 3, {"n": n}, f"e{n}", f"i{n}") for n in (1, 2, 3)]
    assert len({one.result_id for one in results}) == 3
    assert [one.submitted_at for one in results] == [bench.after(-2), bench.after(-1), bench.now()]


def test_a_lapse_leaves_no_result(bench: Bench) -> None:
    """Only submits have results; a lapse has none."""
    lease = bench.leased()
    bench.world.pass_seconds(100)
    bench.store.reap()
    assert bench.store.results(lease.task_id) == []


def test_a_look_settles_nothing(bench: Bench) -> None:
    """Looking at an overdue lease shows what is stored; it is settled by verbs."""
    lease = bench.leased()
    bench.world.pass_seconds(100)
    assert unchanged(bench, bench.store.task, lease.task_id).state == "leased"
    assert unchanged(bench, bench.store.counts).queues["q"].leased == 1
