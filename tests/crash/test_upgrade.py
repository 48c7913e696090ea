"""A death in the middle of an upgrade."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import apsw
import pytest

import tessera
from crash import upgrade
from tessera.storage.migrate import MIGRATIONS, migrations
from tessera.testing import die_at

NEXT = ("alter table queues add column colour text;", "create table shapes (name text) strict;")


@pytest.mark.parametrize("nth", range(1, len(NEXT) + 2))
def test_a_death_in_an_upgrade(tmp_path: Path, nth: int) -> None:
    """An upgrade that dies at any step goes on where it stopped: each step is made once, no data is lost."""
    path, folder = str(tmp_path / "store.db"), tmp_path / "migrations"
    with tessera.open(path) as store:
        store.define_queue("q")
        task_id = store.enqueue(queue="q", kind="k", brief={"kept": True})
    known = len(migrations())
    shutil.copytree(MIGRATIONS, folder)
    for number, text in enumerate(NEXT, known + 1):
        (folder / f"{number:04d}_later.sql").write_text(text, encoding="utf-8")

    die_at(f"migrate.written:{nth}", [sys.executable, upgrade.__file__, path, str(folder)])
    assert _versions(path) == list(range(1, known + nth))
    upgrade.run(path, str(folder))
    upgrade.run(path, str(folder))

    assert _versions(path) == list(range(1, known + len(NEXT) + 1))
    connection = apsw.Connection(path)
    assert connection.execute("select colour from queues").fetchall() == [(None,)]
    assert connection.execute("select task_id from tasks join briefs using (serial)").get == task_id
    assert connection.execute("pragma integrity_check").get == "ok"
    connection.close()


@pytest.mark.parametrize("nth", [1])
def test_a_death_in_the_first_moment(tmp_path: Path, nth: int) -> None:
    """A new store whose making is cut off is made anew by whoever opens it next."""
    path = str(tmp_path / "store.db")
    die_at(f"migrate.written:{nth}", [sys.executable, upgrade.__file__, path, str(MIGRATIONS)])
    with tessera.open(path) as store:
        store.define_queue("q")
        assert store.counts(recount=True).agree


def _versions(path: str) -> list[int]:
    connection = apsw.Connection(path)
    versions = [
        version for (version,) in connection.execute("select version from migrations order by version")
    ]
    connection.close()
    return versions
