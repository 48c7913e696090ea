"""The looks behind the pages, on a scripted world: whose parks are listed, and what a log tells of a task."""

from __future__ import annotations

from typing import Any

import pytest
from verbs.bench import Bench

from tessera import limits
from tessera.errors import InvalidState
from tessera.models import TaskRef
from tessera.rules.grants import OWNER, Caller
from tessera.verbs import pages
from tessera.verbs.guarded import Guarded

VERBS = ()


def look(bench: Bench, verb: Any, ask: Any, caller: Caller = OWNER) -> Any:
    """What a look without a door answers."""
    return bench.store._door._engine.read(Guarded(verb, None), caller, ask)


def park(bench: Bench, **more: Any) -> str:
    """A task that is parked, by the owner."""
    task_id = bench.store.enqueue(queue="q", kind="k", brief={})
    lease = bench.store.claim("q", worker="w")
    assert lease.task_id == task_id
    bench.store.park(task_id, lease.fencing_token, "why", **more)
    return task_id


def test_the_longest_parked_come_first(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parks are listed by how long they wait, not by the age of their tasks, up to a number, and the list
    says whether there are more.
    """
    monkeypatch.setattr(pages, "PARKED_SHOWN_MAX", 2)
    first = park(bench)
    bench.world.pass_seconds(1)
    second = park(bench)
    bench.store.resume(first, "go on")
    bench.world.pass_seconds(1)
    lease = bench.store.claim("q", worker="w")
    bench.store.park(first, lease.fencing_token, "again")
    found = look(bench, pages.parked, pages.AskParked())
    assert ([one.task_id for one in found.tasks], found.more) == ([second, first], False)
    bench.world.pass_seconds(1)
    park(bench)
    found = look(bench, pages.parked, pages.AskParked())

    assert ([one.task_id for one in found.tasks], found.more) == ([second, first], True)


def test_a_park_whose_time_is_up_is_not_offered(bench: Bench) -> None:
    """From the instant at which a park's time is up it is not listed, nor shown for an answer, though nobody
    has settled it yet.
    """
    task_id = park(bench, resume_within=10)
    bench.world.pass_seconds(9.9)
    assert [one.task_id for one in look(bench, pages.parked, pages.AskParked()).tasks] == [task_id]
    bench.world.pass_seconds(0.1)

    assert look(bench, pages.parked, pages.AskParked()).tasks == []
    with pytest.raises(InvalidState):
        look(bench, pages.parked_task, TaskRef(task_id=task_id))


def told(bench: Bench, task_id: str) -> tuple[list[int], int]:
    """The lines that a task's stretches tell of, and how many stretches it took."""
    seqs: list[int] = []
    since, stretches = None, 0
    while True:
        story = look(bench, pages.story, pages.AskStory(task_id, since))
        seqs += [one.seq for one in story.events]
        stretches += 1
        if (since := story.next) is None:
            return seqs, stretches


@pytest.mark.parametrize(("searched", "shown"), [(500_000, 500), (7, 500), (500_000, 1), (1, 1)])
def test_a_log_is_told_whole(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, searched: int, shown: int
) -> None:
    """However short the stretches, together they tell every line of a task once and in order, and none of
    another's.
    """
    monkeypatch.setattr(pages, "EVENTS_SEARCHED_MAX", searched)
    monkeypatch.setattr(pages, "EVENTS_SHOWN_MAX", shown)
    tasks = [park(bench) for _ in range(5) if bench.world.pass_seconds(1) is None]
    for task_id in reversed(tasks):
        bench.store.resume(task_id, 1)
    lines = bench.store.events(limit=limits.EVENTS_PAGE_MAX)

    for task_id in tasks:
        expected = [one.seq for one in lines if one.task_id == task_id]
        assert len(expected) == 4
        seqs, stretches = told(bench, task_id)
        assert seqs == expected
        assert (stretches > 1) == (searched < 500 or shown < 4)


def test_a_family_has_its_bounds(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of many relatives so many are told of, and the story says that it is not the whole family."""
    monkeypatch.setattr(pages, "RELATIVES_MAX", 3)
    task_id = bench.store.enqueue(queue="q", kind="k", brief={})
    lease = bench.store.claim("q", worker="w")
    bench.store.split(task_id, lease.fencing_token, [{"brief": {}}] * 3)
    whole = look(bench, pages.story, pages.AskStory(task_id)).family
    for _ in range(4):
        bench.store.enqueue(queue="q", kind="k", brief={}, depends_on=[task_id])
    cut = look(bench, pages.story, pages.AskStory(task_id)).family

    assert (len(whole.relatives), whole.whole) == (3, True)
    assert (len(cut.relatives), cut.whole) == (6, False)
