"""The summary: it holds after an honest run, and each lie is noticed by the check that is there for it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace as changed

from examples.stdlib_swarm.summary import Evidence, Run, checks, figures

Honest = tuple[Evidence, Run, Path]


def wrong(seen: Evidence, run: Run, folder: Path) -> list[str]:
    return [check.claim for check in checks(seen, run, folder) if not check.holds]


def test_honest_run(honest: Honest) -> None:
    """All checks hold, and the figures add up."""
    seen, run, _ = honest

    assert wrong(*honest) == []
    assert figures(seen, run)["tasks"] == f"{run.expected} done"
    assert "1 failed" in figures(seen, run)["attempts"]
    assert "1 lapsed" in figures(seen, run)["attempts"]


def without(seen: Evidence, *types: str) -> Evidence:
    return replace(seen, events=[event for event in seen.events if event.type not in types])


def result_changed(seen: Evidence, **values: Any) -> Evidence:
    return replace(seen, results=[changed(seen.results[0], **values), *seen.results[1:]])


def token_given_twice(seen: Evidence) -> Evidence:
    claim = next(event for event in seen.events if event.type == "claimed")
    return replace(seen, events=[*seen.events, claim])


def resumed_by_parker(seen: Evidence) -> Evidence:
    parker = next(event.key_id for event in seen.events if event.type == "parked")
    events = [changed(event, key_id=parker) if event.type == "resumed" else event for event in seen.events]
    return replace(seen, events=events)


LIES: dict[str, tuple[Callable[[Evidence], Evidence], str]] = {
    "a task is missing": (lambda seen: replace(seen, tasks=seen.tasks[1:]), "tasks are done"),
    "a task is dead": (
        lambda seen: replace(seen, tasks=[changed(seen.tasks[0], state="dead"), *seen.tasks[1:]]),
        "tasks are done",
    ),
    "counts are off": (lambda seen: replace(seen, counts=changed(seen.counts, agree=False)), "recount"),
    "an output was changed": (lambda seen: result_changed(seen, output={"lines": 0}), "receipts verify"),
    "an error was added": (lambda seen: result_changed(seen, error="oh"), "receipts verify"),
    "a result is missing": (lambda seen: replace(seen, results=seen.results[1:]), "receipts verify"),
    "a token was given twice": (token_given_twice, "one winner each"),
    "a lease vanished": (lambda seen: without(seen, "split"), "have an end in the log"),
    "a success counts twice": (
        lambda seen: replace(seen, results=[*seen.results, next(one for one in seen.results if one.ok)]),
        "exactly one success",
    ),
    "the killed worker's lease never lapsed": (lambda seen: without(seen, "lease_lapsed"), "was killed"),
    "nothing failed": (
        lambda seen: replace(seen, results=[one for one in seen.results if one.ok]),
        "with a failed attempt",
    ),
    "nobody asked": (lambda seen: without(seen, "parked", "resumed"), "parked by one key"),
    "the asker answered": (resumed_by_parker, "parked by one key"),
}


@pytest.mark.parametrize("name", LIES)
def test_lies_are_noticed(name: str, honest: Honest) -> None:
    """Evidence that was tampered with fails the check that is about it."""
    seen, run, folder = honest
    lie, claim = LIES[name]

    assert any(claim in one for one in wrong(lie(seen), run, folder))


def test_report_on_disk_was_changed(honest: Honest, tmp_path: Path) -> None:
    """A file that is not what its receipt vouches for fails the check."""
    seen, run, folder = honest
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    (tmp_path / "report.md").write_text("All is well.")

    assert wrong(seen, run, tmp_path) == ["1 report files have the hashes in their receipt"]


def test_nobody_was_killed(honest: Honest) -> None:
    """A run in which no worker could be caught in the middle of a lease shows less than promised."""
    seen, run, folder = honest

    assert wrong(seen, replace(run, strike=None), folder) == ["a worker was killed in the middle of a lease"]
