"""Every crash point, with a real death: what was answered is there, the store is whole, the story goes on."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import apsw
import pytest

import tessera
from tessera.testing import die_at

STORY = Path(__file__).parent / "story.py"
HOUSE = Path(tessera.__file__).parent
ENDS = {
    **dict.fromkeys(("p", "c0", "c1", "b0", "b1", "b2", "j"), "done"),
    **dict.fromkeys(("x", "x0"), "cancelled"),
    **dict.fromkeys(("d", "u"), "dead"),
}


def points() -> list[str]:
    """Every crash point that the source names."""
    found = set()
    for path in HOUSE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func).rsplit(".", 1)[-1] in (
                "reach",
                "_reach",
            ):
                assert isinstance(node.args[0], ast.Constant)
                found.add(str(node.args[0].value))
    return sorted(found)


LATER = ["claim.written:4", "submit.read:3", "settle.written:2", "commit.before:9", "commit.synced:12"]
ON_LOOP = ["claim.written", "commit.before:5", "commit.written:5", "commit.synced:5"]
DEATHS = [(point, "direct") for point in [*points(), *LATER]] + [(point, "loop") for point in ON_LOOP]


def command(folder: Path, engine: str) -> list[str]:
    """The story, told to a store in a folder."""
    return [sys.executable, str(STORY), str(folder / "s.db"), str(folder / "answers"), engine]


def is_whole(path: Path) -> None:
    """Nothing is there by half: file, leases, counts, results."""
    file = apsw.Connection(str(path))
    assert file.execute("pragma integrity_check").get == "ok"
    leased = set(file.execute("select serial, fencing_token from tasks where state = 1"))
    assert leased == set(file.execute("select serial, fencing_token from leases"))
    assert file.execute("select count(*) from tasks").get == file.execute("select count(*) from briefs").get
    submitted = "select (select count(*) from results), (select count(*) from events where type = 4)"
    results, lines = file.execute(submitted).get
    assert results == lines
    file.close()
    with tessera.open(str(path)) as store:
        assert store.counts(recount=True).agree


def is_there(store: tessera.Tessera, fact: list[Any]) -> None:
    """What somebody was told is so."""
    what, *facts = fact
    if what in ("task", "tasks", "children"):
        assert [store.task(task_id).task_id for task_id in facts] == facts
    elif what == "claim":
        assert store.task(facts[0]).fencing_token >= facts[1]
    elif what == "receipt":
        assert [one.sha256 for one in store.results(facts[0]) if one.idempotency_key == facts[1]] == facts[2:]
    elif what in ("cancelled", "dead"):
        assert {store.task(task_id).state for task_id in facts} == {what}
    elif what == "queue":
        assert facts[0] in store.counts().queues
    else:
        issued = store.keys()
        (revoked_at,) = [key.revoked_at for key in issued if key.key_id == facts[0]]
        assert what == "key" or revoked_at is not None


def answers(folder: Path) -> list[list[Any]]:
    """What the story had been told before it died."""
    path = folder / "answers"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


@pytest.mark.parametrize(("point", "engine"), DEATHS, ids=lambda part: str(part))
def test_death(tmp_path: Path, point: str, engine: str) -> None:
    """A death loses nothing that was answered and leaves nothing by half, and the story ends well."""
    die_at(point, command(tmp_path, engine))
    path = tmp_path / "s.db"
    if answers(tmp_path):
        is_whole(path)
        with tessera.open(str(path)) as store:
            for fact in answers(tmp_path):
                is_there(store, fact)
    subprocess.run(command(tmp_path, engine), check=True, timeout=60)

    is_whole(path)
    with tessera.open(str(path)) as store:
        assert {task_id: store.task(task_id).state for task_id in ENDS} == ENDS
        for fact in answers(tmp_path):
            is_there(store, fact)
