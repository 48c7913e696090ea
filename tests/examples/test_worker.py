"""The worker and what it does for each kind of task, on a real store with a scripted clock."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from examples.stdlib_swarm.plan import REPORT, plan_for
from examples.stdlib_swarm.work import WAVE, act
from examples.stdlib_swarm.worker import worker_at
from tessera.errors import Forbidden
from tessera.models import Lease
from tessera.worker import Split

SwarmOn = Callable[..., Any]


def lease_on(kind: str, brief: dict[str, object], **more: object) -> Lease:
    """A lease as a worker gets it."""
    fields = dict(
        task_id="t_1", queue="study", kind=kind, effect_class="read", priority=0, brief=brief, worker="w",
        fencing_token=1, attempts=1, failures=0, parks=0, claimed_at="", expires_at="", hard_expires_at="",
        heartbeat_seconds=1, parent_id=None, depth=0,
    )  # fmt: skip
    return Lease(**{**fields, **more})


def events(swarm: Any, kind: str) -> list[str]:
    return [str(event.task_id) for event in swarm.store.events(limit=10_000) if event.type == kind]


def test_whole_run(swarm_on: SwarmOn) -> None:
    """Every task that the plan foresees is done, and no other; the report rests on every package."""
    swarm = swarm_on("json", "tomllib")
    swarm.finish()
    tasks = swarm.store.tasks(limit=1000).tasks
    summary = swarm.store.results(REPORT)[-1].output["summary"]

    assert len(tasks) == swarm.plan.tasks
    assert {task.state for task in tasks} == {"done"}
    assert summary["packages"] == "2"
    assert summary["modules"] == str(len(swarm.plan.packages["json"] + swarm.plan.packages["tomllib"]))


def test_staged_failure_is_retried(swarm_on: SwarmOn) -> None:
    """The chosen file's first attempt fails with its error kept; the second succeeds."""
    swarm = swarm_on("json", "tomllib")
    swarm.finish()
    [task_id] = events(swarm, "retry_scheduled")
    task = swarm.store.task(task_id)
    failed, succeeded = swarm.store.results(task_id)

    assert task.brief["file"] == swarm.plan.stumbles_on
    assert (failed.ok, succeeded.ok) == (False, True)
    assert (failed.error or "").startswith("OSError: ")


def test_refused_package(swarm_on: SwarmOn) -> None:
    """A reviewer may say no: the package is handed in without its files, and the report says why."""
    swarm = swarm_on("json", "tomllib")
    parked = f"study-{swarm.plan.asks_first}"
    while swarm.store.task(parked).wait_reason != "input":
        swarm.step()
    with pytest.raises(Forbidden):
        swarm.store.as_key(swarm.keys.worker).resume(parked, {"approved": True})
    reviewer = swarm.store.as_key(swarm.keys.reviewer)
    reviewer.resume(parked, {"approved": False, "note": "another day"})
    swarm.finish()
    page = swarm.store.results(REPORT)[-1].output["files"]["report.md"]["text"]

    assert "was not studied, as the reviewer wished: another day" in page


def test_told_to_stop(swarm_on: SwarmOn) -> None:
    """A worker that is told to stop in the middle of a file gives it back, and no failure is counted."""
    swarm = swarm_on("json")
    while not [
        task for task in swarm.store.tasks("study", "ready", "file").tasks if not task.brief["stumble"]
    ]:
        swarm.step()
    slow = worker_at(swarm.store.as_key(swarm.keys.worker), "slow", seconds_per_line=3600)
    running = threading.Thread(target=slow.run)
    running.start()
    while not (
        held := [task for task in swarm.store.tasks("study", "leased").tasks if task.worker == "slow"]
    ):
        assert running.is_alive()
    slow.stop()
    running.join(30)

    task = swarm.store.task(held[0].task_id)
    assert not running.is_alive()
    assert (task.state, task.failures, task.attempts) == ("ready", 0, 1)


def test_large_packages_come_in_waves(monkeypatch: pytest.MonkeyPatch) -> None:
    """A package with more files than a split may have children is split again and again, each wave closed by
    a child that waits for all of it.
    """
    files = [f"json/m{number}.py" for number in range(2 * WAVE + 1)]
    monkeypatch.setattr("examples.stdlib_swarm.work.files_of", lambda package: files)
    brief = {"package": "json", "ask_first": False, "stumble_on": None}
    waves = []
    children: list[object] = []
    while isinstance(outcome := act(lease_on("package", brief, children=children)), Split):
        waves.append(outcome.children)
        children += [Child(one["kind"]) for one in outcome.children]

    assert [len(wave) for wave in waves] == [WAVE + 1, WAVE + 1, 2]
    assert [one["brief"]["file"] for wave in waves for one in wave[:-1]] == files
    assert all(wave[-1]["after"] == list(range(len(wave) - 1)) for wave in waves)


class Child:
    """A child that came to nothing."""

    output = None

    def __init__(self, kind: str) -> None:
        self.kind = kind


def test_plan_counts_waves(monkeypatch: pytest.MonkeyPatch) -> None:
    """The plan knows beforehand how many tasks there will be."""
    files = [f"json/m{number}.py" for number in range(2 * WAVE + 1)]
    monkeypatch.setattr("examples.stdlib_swarm.plan.files_of", lambda package: files)

    assert plan_for(["json"]).tasks == 1 + len(files) + 3 + 1


def test_unknown_packages() -> None:
    """What this machine has no source of is refused by name, and so is nothing at all."""
    with pytest.raises(LookupError, match="no_such_package"):
        plan_for(["json", "no_such_package"])
    with pytest.raises(LookupError, match="standard library"):
        plan_for([])
