"""A store is moved between engines whole, wherever the move is cut off; nothing else is."""

from __future__ import annotations

import os
from pathlib import Path

import psycopg
import pytest
from crash import points

import tessera
from tessera import transfer
from tessera.errors import InvalidRequest, StaleLease, Unavailable
from tessera.storage.moving.tables import tables
from upkeep.conftest import Town
from upkeep.moves import POINTS, back, contents, cut_off
from upkeep.town import sql


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
            store.submit("held", held.fencing_token + 1, {}, "stale")
        assert store.submit("held", held.fencing_token, {"n": 1}, "held-key").state == "done"
        assert store.events(after=last)[0].seq == last + 1
        assert store.publish_feed("news", {}).cursor == feed.head + 1
        assert [noun.ref for noun in store.search_nouns("two")] == ["nouns/note"]
        assert [end.task_id for end in store.match_reflex("k no good").warnings] == ["dead"]
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
        told = [(one.level, one.says) for one in tessera.doctor(dsn).advice if one.subject == "store"]
        assert told == [("act", "a store is being moved to this database")]
        assert tessera.migrate_store(here.path, dsn).resumed
    with pytest.raises(InvalidRequest, match="this one, whole; the move is complete"):
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


def test_large_documents_go_over_in_pages(
    here: Town, dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    """Blobs and briefs that are more than a page are moved a few at a time, in both directions, and stay what
    they were.
    """
    monkeypatch.setattr(transfer, "MOVE_BYTES_PAGE", 1 << 20)
    blob = os.urandom(3 << 20)
    with here.open() as store:
        sha256 = store.put_blob(blob)
        for number in range(6):
            store.enqueue(queue="q", kind="k", brief={"text": f"{number}" * 400_000})
    steps: list[str] = []
    tessera.migrate_store(here.path, dsn, tell=lambda what, done, of: steps.append(what))

    assert steps.count("move chunks") >= 3
    assert steps.count("move briefs") >= 3
    with tessera.open(dsn) as store:
        assert store.get_blob(sha256) == blob
    assert back(dsn, here.folder) == contents(here.path)


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
