"""Deaths of a process that has a store on PostgreSQL open, at the points where they differ: what was answered
is there, nothing is by half, and the story goes on and ends as it does on SQLite.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from pathlib import Path

import pytest

from crash.story import Story
from crash.test_crash import DAMAGED, STORY, assert_nothing_answered_is_lost, ending, rehearsed
from crash.wholeness import assert_whole
from tessera.testing import die_at

LONG = os.environ.get("TESSERA_LONG") == "1"
SOME = ("claim.written:1", "submit.written:2", "settle.written:1", "commit.before:60", "commit.written:80")


def stops() -> list[str]:
    """A few; in the long form each point where it is first passed, and twenty commits."""
    if not LONG:
        return list(SOME)
    points = [f"{point}:1" for point in sorted(rehearsed()[0]) if not point.startswith("commit.synced")]
    return points + [
        f"{point}:{nth}" for point in ("commit.before", "commit.written") for nth in range(5, 105, 10)
    ]


def test_postgres_story_ends_as_on_sqlite(dsn: str, tmp_path: Path) -> None:
    """The whole story, every verb in it, leads to the same store on either database, past the same points."""
    passed: Counter[str] = Counter()
    story = Story(dsn, str(tmp_path / "answers"), reach=lambda point: passed.update([point]))
    story.tell()
    story.store.close()

    assert_whole(dsn, damaged=DAMAGED)
    assert ending(dsn) == rehearsed()[1]
    only_files = {point for point in rehearsed()[0] if point.startswith("commit.")}
    assert passed.keys() - only_files == rehearsed()[0].keys() - only_files


@pytest.mark.parametrize("stop", stops())
def test_postgres_crash(dsn: str, tmp_path: Path, stop: str) -> None:
    """A death at this point loses nothing that was answered, leaves nothing by half and doubles nothing."""
    answers = str(tmp_path / "answers")
    die_at(stop, [sys.executable, STORY, dsn, answers])

    assert_whole(dsn, damaged=DAMAGED)
    story = Story(dsn, answers)
    assert_nothing_answered_is_lost(story)
    story.tell()
    story.store.close()
    assert_whole(dsn, damaged=DAMAGED)
    assert ending(dsn) == rehearsed()[1]
