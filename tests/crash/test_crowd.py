"""A death in the middle of a commit that several threads share."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import tessera
from crash import crowd
from crash.wholeness import assert_whole
from tessera.testing import die_at

SCRIPT = str(Path(crowd.__file__))


@pytest.mark.parametrize("nth", [3, 24])
@pytest.mark.parametrize("point", ["commit.before", "commit.written", "commit.synced"])
def test_a_death_in_a_shared_commit(tmp_path: Path, point: str, nth: int) -> None:
    """Every thread that was answered finds its work done; those that were not may ask again."""
    path, folder = str(tmp_path / "store.db"), str(tmp_path)
    die_at(f"{point}:{nth}", [sys.executable, SCRIPT, path, folder])
    with tessera.open(path) as store:
        assert_whole(path)
        _nothing_answered_is_lost(store, tmp_path)

    crowd.run(path, folder)

    with tessera.open(path) as store:
        assert_whole(path)
        _nothing_answered_is_lost(store, tmp_path)
        tasks = store.tasks(limit=1_000).tasks
        assert {task.task_id for task in tasks} == crowd.TASKS
        assert {(task.state, task.attempts, task.failures) for task in tasks} == {("done", 1, 0)}


def _nothing_answered_is_lost(store: tessera.Tessera, folder: Path) -> None:
    claimed = {
        (event.task_id, event.fencing_token)
        for event in store.events(limit=10_000)
        if event.type == "claimed"
    }
    for file in folder.glob("answers-*"):
        for name, answer in crowd.answered(file):
            if name.startswith("enqueue"):
                assert store.task(answer).task_id == answer
            elif name.startswith("claim"):
                assert (answer["task_id"], answer["fencing_token"]) in claimed
            else:
                (result,) = store.results(answer["task_id"])
                assert (result.sha256, result.idempotency_key) == (
                    answer["sha256"],
                    answer["idempotency_key"],
                )
