"""A store is moved between engines whole, wherever the move is cut off; nothing else is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest
from crash import points

import tessera
from tessera.errors import InvalidRequest, NotFound, StaleLease, TesseraError, Unavailable
from tessera.runtime import real_runtime
from tessera.storage.moving.tables import tables
from tessera.testing import DEATH, die_at
from tessera.testing_postgres import database
from upkeep.conftest import Town
from upkeep.town import contents, sql

DEATHS = ["page:7", "page:5"]  # the one on the way to a database, the other to a file
POINTS = ["begun", "page", "page:7", "copied", "compared", "verified", "placing", "finished"]


def command(source: str, target: str, *words: str) -> list[str]:
    """The command that moves a store."""
    return [sys.executable, "-m", "tessera.cli.main", "migrate-store", source, target, *words]


class Cut(BaseException):
    """An end that nobody in the program expects."""


def cut_off(point: str, source: str, target: str) -> None:
    """Move a store as far as a point: there the process dies, or (for most, since a process takes seconds to
    begin) an exception ends the move that nothing catches.
    """
    if point in DEATHS:
        die_at(f"move.{point}", command(source, target))
        return
    name, _, nth = point.partition(":")
    left = [int(nth or 1)]

    def reach(reached: str) -> None:
        left[0] -= reached == f"move.{name}"
        if not left[0]:
            raise Cut

    with pytest.raises(Cut):
        tessera.migrate_store(source, target, runtime=replace(real_runtime(), reach=reach))


def back(dsn: str, folder: Path) -> dict[str, list[tuple[Any, ...]]]:
    """All that is in a database, read in the file that it is moved to."""
    tessera.migrate_store(dsn, str(folder / "back.db"))
    return contents(str(folder / "back.db"))


def test_there_and_back(here: Town, dsn: str) -> None:
    """A store in which everything has happened is the same, row by row, after a move to PostgreSQL and back;
    both moves say what they moved, and the file it came from is untouched.
    """
    before = contents(here.path)
    there = tessera.migrate_store(here.path, dsn, runtime=here.world.runtime())

    assert there.rows == sum(map(len, before.values()))
    assert there.verified.ok
    assert not there.resumed
    assert contents(here.path) == before
    assert back(dsn, here.folder) == before
    assert [name for name in os.listdir(here.folder) if "back.db" in name] == ["back.db"]


def test_every_table_is_moved(here: Town) -> None:
    """What a store is made of is what its schema says: a table that is added is moved too."""
    assert {table.name for table in tables()} == contents(here.path).keys()
    assert all(table.key for table in tables())


def test_work_goes_on_where_it_was(here: Town, dsn: str) -> None:
    """On the other engine a lease is still its holder's, a replay gets the first receipt, keys count, and
    every number goes on behind the last one handed out.
    """
    with here.open() as store:
        receipt = store.submit("done", 1, None, "done-key")
        last = store.events(limit=10_000)[-1].seq
        (feed,) = store.feeds()
    held, secret = here.given["held"], here.given["key"].key
    tessera.migrate_store(here.path, dsn, runtime=here.world.runtime())

    with here.open(dsn) as store:
        assert store.submit("done", 1, None, "done-key") == receipt
        assert store.heartbeat("held", held.fencing_token).worker == "w"
        with pytest.raises(StaleLease):
            store.submit("held", held.fencing_token - 1, {}, "stale")
        assert store.submit("held", held.fencing_token, {"n": 1}, "held-key").state == "done"
        assert store.events(after=last)[0].seq == last + 1
        assert store.publish_feed("news", {}).cursor == feed.head + 1
        assert store.as_key(secret).counts().queues
        assert store.counts(recount=True).agree
        assert store.verify().findings == []


@pytest.mark.parametrize("point", POINTS)
def test_a_death_on_the_way_to_a_database(here: Town, dsn: str, point: str) -> None:
    """A move that is cut off leaves no half store that anybody could open; run again it ends with the whole
    one.
    """
    before = contents(here.path)
    cut_off(point, here.path, dsn)

    if point not in ("placing", "finished"):
        with pytest.raises(Unavailable, match="being moved to this database"):
            tessera.open(dsn)
        assert tessera.migrate_store(here.path, dsn).resumed
    with pytest.raises(InvalidRequest, match="holds a store already"):
        tessera.migrate_store(here.path, dsn)
    assert back(dsn, here.folder) == before


@pytest.mark.parametrize("point", ["page:5", "verified", "placing", "finished"])
def test_a_death_on_the_way_to_a_file(here: Town, dsn: str, point: str) -> None:
    """Nothing stands under the file's name before all of it does; run again the move ends with the whole
    store.
    """
    before, file = contents(here.path), here.folder / "new.db"
    tessera.migrate_store(here.path, dsn)
    cut_off(point, dsn, str(file))

    if point != "finished":
        assert not file.exists()
        assert tessera.migrate_store(dsn, str(file)).resumed == (point != "placing")
    assert contents(str(file)) == before
    with pytest.raises(InvalidRequest, match="exists"):
        tessera.migrate_store(dsn, str(file))


def test_every_point_is_died_at() -> None:
    """The points of the source are those that are walked here."""
    named = {point for point in points.named_in() if point.startswith("move.")}

    assert named == {f"move.{point.partition(':')[0]}" for point in POINTS}


def test_a_store_that_went_on_is_moved_anew(here: Town, dsn: str) -> None:
    """What had arrived before the store was used again is not trusted: not when the log tells of it, nor when
    only a row does.
    """
    cut_off("copied", here.path, dsn)
    with here.open() as store:
        store.enqueue(queue="q", kind="k", brief={}, task_id="later")
        store.put_record("facts", "one", {"n": 3}, 2)
    cut_off("copied", here.path, dsn)
    sql(here.path, "update leases set expires_at = expires_at + 1")
    before = contents(here.path)

    assert tessera.migrate_store(here.path, dsn).resumed
    assert back(dsn, here.folder) == before


def test_another_stores_part_is_thrown_away(here: Town, dsn: str, tmp_path: Path) -> None:
    """A database that holds part of one store becomes another one, whole."""
    cut_off("page:4", here.path, dsn)
    other = str(tmp_path / "other.db")
    with tessera.open(other) as store:
        store.define_queue("only")

    assert not tessera.migrate_store(other, dsn).resumed
    assert back(dsn, here.folder) == contents(other)


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


def test_large_documents_go_over_in_pages(here: Town, dsn: str) -> None:
    """Blobs and briefs of many MiB are moved a few at a time, in both directions, and stay what they were."""
    blob = os.urandom(20 << 20)[: 16 << 20]
    with here.open() as store:
        sha256 = store.put_blob(blob)
        for number in range(12):
            store.enqueue(queue="q", kind="k", brief={"text": f"{number:x}" * 900_000})
    steps: list[str] = []
    tessera.migrate_store(here.path, dsn, tell=lambda what, done, of: steps.append(what))

    assert steps.count("move chunks") >= 3
    assert steps.count("move briefs") >= 3
    with tessera.open(dsn) as store:
        assert store.get_blob(sha256) == blob
    assert back(dsn, here.folder) == contents(here.path)


def test_the_command_says_what_it_did(here: Town, postgres: str) -> None:
    """The command prints both places without a password, no bar to a pipe, and refuses in one line."""
    with database(postgres) as dsn:
        url = dsn + "&password=secret-word"
        done = subprocess.run(command(here.path, url, "--json"), capture_output=True, text=True, check=True)
        again = subprocess.run(command(here.path, url), capture_output=True, text=True, check=False)

    moved = json.loads(done.stdout)
    assert moved["source"] == here.path
    assert moved["verified"]["ok"]
    assert "secret-word" not in done.stdout + done.stderr + again.stdout + again.stderr
    assert done.stderr == ""
    assert again.returncode == 1 != DEATH
    assert again.stderr.startswith("error: invalid_request: the database holds a store already")


def test_a_backup_of_a_database_is_postgresqls(here: Town, dsn: str) -> None:
    """`backup` and `restore` refuse a database and name PostgreSQL's own means."""
    with tessera.open(dsn) as store, pytest.raises(InvalidRequest, match="pg_dump"):
        store.backup(here.folder / "b.db")
    with pytest.raises(InvalidRequest, match="pg_restore"):
        tessera.restore(here.backup(), dsn)


def test_a_server_that_dies_cuts_a_move_off(here: Town, dsn: str) -> None:
    """A database backend that is killed under a move refuses it with `unavailable`; the next attempt goes
    on.
    """
    before = contents(here.path)

    def kill(what: str, done: int, of: int) -> None:
        if what == "move events":
            with psycopg.connect(dsn, autocommit=True) as other:
                other.execute("select pg_terminate_backend(pid) from pg_stat_activity "
                              "where application_name = 'tessera migrate-store'")  # fmt: skip

    with pytest.raises(Unavailable, match="does not answer"):
        tessera.migrate_store(here.path, dsn, tell=kill)

    assert tessera.migrate_store(here.path, dsn).resumed
    assert back(dsn, here.folder) == before
