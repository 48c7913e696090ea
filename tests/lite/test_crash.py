"""A death at every point of the room: nothing that was answered is lost, nothing is won twice."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest
from crash.points import SOURCE, named_in

import tessera
from lite.dying import day
from lite.workshop import assert_sound, claims
from tessera.runtime import real_runtime
from tessera.testing import World, die_at
from tessera.values import with_values

LONG = os.environ.get("TESSERA_LONG") == "1"
SCRIPT = str(Path(__file__).parent / "dying.py")
ENV = os.pathsep.join([str(Path(__file__).parent.parent), os.environ.get("PYTHONPATH", "")])
AROUND = ("commit.before", "commit.written", "commit.synced")


@cache
def passed() -> Counter[str]:
    """How often a day without a death passes each point."""
    world = World()
    with tempfile.TemporaryDirectory() as folder:
        runtime = replace(world.runtime(), new_id=real_runtime().new_id)
        with tessera.open(f"{folder}/s.db", runtime=runtime) as store:
            day(store, world, lambda _name, _answer: None)
            reached = Counter(world.reached)
            assert_sound(store)
    return reached


def walk() -> Iterator[str]:
    """Each point of the room the last time, in the long form every time; and two commits, or all of the later
    ones.
    """
    for point in sorted(named_in(SOURCE / "lite")):
        times = passed()[point]
        yield from (f"{point}:{nth}" for nth in (range(1, times + 1) if LONG else [times]))
    for point in AROUND if LONG else AROUND[1:2]:
        times = passed()[point]
        yield from (f"{point}:{nth}" for nth in range(times - 9, times + 1, 1 if LONG else 6))


def test_the_day_passes_every_point() -> None:
    """A point that the room has and the day never passes is one that nobody has died at."""
    assert {point for point in named_in(SOURCE / "lite") if not passed()[point]} == set()


@pytest.mark.parametrize("stop", list(walk()))
def test_crash(tmp_path: Path, stop: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a death and a recovery the day is told again to its end: every answer that was given stands, and
    the log, the claims and the leases tell one story.
    """
    monkeypatch.setenv("PYTHONPATH", ENV)
    path, answers = str(tmp_path / "s.db"), tmp_path / "answers"
    die_at(stop, [sys.executable, SCRIPT, path, str(answers)])
    given = [json.loads(line) for line in answers.read_text().splitlines()] if answers.exists() else []
    world = World()
    world.pass_seconds(200)
    runtime = replace(world.runtime(), new_id=real_runtime().new_id)
    with tessera.open(path, runtime=runtime) as store:
        store.recover_claims()
        said: dict[str, Any] = {}
        day(store, world, lambda name, answer: said.update({name: msgspec.to_builtins(with_values(answer))}))
        for name, answer in given:
            if answer["status"] == "claimed":
                assert said[name]["claim_id"] == answer["claim_id"], name
        assert not [one for one in claims(store) if one.state == "reserved"]
        assert_sound(store)
