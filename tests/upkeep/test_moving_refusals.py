"""What is not moved: what is in use, holds something, is no store, or cannot be held."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path

import psycopg
import pytest

import tessera
from tessera.errors import InvalidRequest, NotFound, TesseraError, Unavailable
from tessera.runtime import real_runtime
from tessera.testing_postgres import database
from upkeep.conftest import Town
from upkeep.moves import back, command, contents
from upkeep.town import sql


def test_what_is_in_use_is_not_moved(here: Town, dsn: str, tmp_path: Path) -> None:
    """A store that somebody has open is moved neither from nor to, on either engine."""
    with here.open(), pytest.raises(Unavailable, match="in use"):
        tessera.migrate_store(here.path, dsn)
    with tessera.open(dsn), pytest.raises(Unavailable, match="stop every node"):
        tessera.migrate_store(here.path, dsn)
    with tessera.open(dsn), pytest.raises(Unavailable, match="stop every node"):
        tessera.migrate_store(dsn, str(tmp_path / "new.db"))


def test_two_moves_to_one_place_exclude_each_other(here: Town, dsn: str, tmp_path: Path) -> None:
    """While a move is under way nobody else moves to the same place, or writes to the store it comes from."""
    with here.open() as store:
        store.enqueue(queue="q", kind="k", brief={})
    refusals: list[TesseraError] = []

    def meanwhile(what: str, done: int, of: int) -> None:
        if not refusals:
            for source, target in ((here.path, dsn), (other, dsn)):
                with pytest.raises(Unavailable) as refused:
                    tessera.migrate_store(source, target)
                refusals.append(refused.value)

    other = here.backup("other.db")
    tessera.migrate_store(here.path, dsn, tell=meanwhile)

    assert ["in use" in str(one) or "moves a store" in str(one) for one in refusals] == [True, True]


def test_a_database_with_a_store_in_it_is_refused(here: Town, dsn: str, tmp_path: Path) -> None:
    """A target that holds anything is refused and keeps it; one that a node has just made, and nobody has
    used, is as good as empty.
    """
    with tessera.open(dsn) as store:
        assert store.counts().queues == {}
    tessera.migrate_store(here.path, dsn)
    small = str(tmp_path / "small.db")
    with tessera.open(small) as store:
        store.define_queue("only")
    with pytest.raises(InvalidRequest, match="empty database"):
        tessera.migrate_store(small, dsn)

    assert back(dsn, here.folder) == contents(here.path)


def test_what_is_no_store_is_not_moved(here: Town, dsn: str, tmp_path: Path) -> None:
    """A file that is not there, another program's, or a service's URL is refused before anything is made."""
    other = tmp_path / "theirs.db"
    sql(str(other), "create table theirs (a)")
    with pytest.raises(NotFound):
        tessera.migrate_store(str(tmp_path / "none.db"), dsn)
    with pytest.raises(Unavailable, match="no Tessera store"):
        tessera.migrate_store(str(other), dsn)
    with pytest.raises(InvalidRequest, match="own machine"):
        tessera.migrate_store("http://localhost:1", dsn)
    with pytest.raises(InvalidRequest, match="no folder"):
        tessera.migrate_store(dsn, str(tmp_path / "none" / "new.db"))


def test_an_unsound_store_is_not_moved_unasked(here: Town, dsn: str) -> None:
    """A store with something wrong in it is not moved, but with the word for it, as it is."""
    sql(here.path, "update results set sha256 = 'no' where idempotency_key = 'done-key'")
    with pytest.raises(Unavailable, match="not sound, so it was not moved: result"):
        tessera.migrate_store(here.path, dsn)

    moved = tessera.migrate_store(here.path, dsn, unsound=True)

    assert moved.resumed
    assert not moved.verified.ok


def test_what_postgresql_cannot_hold_is_named(here: Town, dsn: str) -> None:
    """A text with the one character that PostgreSQL keeps nowhere is refused, by the row it is in."""
    with here.open() as store:
        lease = store.claim("q", "w")
        store.submit(lease.task_id, lease.fencing_token, None, "nul", ok=False, error="a\0b")

    with pytest.raises(InvalidRequest, match=r"of tasks holds the character U\+0000"):
        tessera.migrate_store(here.path, dsn)


def test_the_command_says_what_it_did(here: Town, postgres: str) -> None:
    """The command prints both places without a password, no bar to a pipe, and refuses in one line."""
    with database(postgres) as dsn:
        url = dsn + "&password=secret-word"
        done = subprocess.run(command(here.path, url, "--json"), capture_output=True, text=True, check=True)
        again = subprocess.run(command(here.path, url), capture_output=True, text=True, check=False)

    moved = json.loads(done.stdout)
    assert moved["source"] == here.path
    assert moved["target"] == dsn
    assert moved["verified"]["ok"]
    assert "secret-word" not in done.stdout + done.stderr + again.stdout + again.stderr
    assert done.stderr == ""
    assert again.returncode == 1
    assert again.stderr.startswith("error: invalid_request: the database holds a store already")


def test_ctrl_c_says_how_to_go_on(here: Town, dsn: str) -> None:
    """A move that is interrupted says in one line that the same command goes on, and no more; and it does."""
    with here.open() as store:
        for _ in range(200):
            store.enqueue(queue="q", kind="k", brief={"text": "x" * 100_000})
    with psycopg.connect(dsn, autocommit=True) as other:
        moving = subprocess.Popen(command(here.path, dsn), stderr=subprocess.PIPE, text=True)
        asked = "select count(*) from pg_tables where schemaname = 'public' and tablename = 'meta'"
        while other.execute(asked).fetchone() == (0,) and moving.poll() is None:
            real_runtime().sleep(0.01)
        moving.send_signal(signal.SIGINT)
        _, said = moving.communicate(timeout=60)

    assert said == "cut off: run the same command again, and it goes on where it stopped\n"
    assert moving.returncode == 1
    assert tessera.migrate_store(here.path, dsn).verified.ok


def test_a_backup_of_a_database_is_postgresqls(here: Town, dsn: str) -> None:
    """`backup` and `restore` refuse a database and name PostgreSQL's own means."""
    with tessera.open(dsn) as store, pytest.raises(InvalidRequest, match="pg_dump"):
        store.backup(here.folder / "b.db")
    with pytest.raises(InvalidRequest, match="pg_restore, then `tessera new-epoch`"):
        tessera.restore(here.backup(), dsn)
