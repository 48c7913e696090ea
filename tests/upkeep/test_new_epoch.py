"""new_epoch: a store that something else has brought back counts on above all that it had handed out."""

from __future__ import annotations

import subprocess
import sys

import psycopg
import pytest

import tessera
from tessera.errors import InvalidRequest, NotFound, StaleLease
from tessera.testing_postgres import on_database
from upkeep.conftest import Town


@pytest.fixture(params=["file", "database"])
def place(here: Town, request: pytest.FixtureRequest) -> str:
    """The town's store, on each engine."""
    if request.param == "file":
        return here.path
    dsn: str = request.getfixturevalue("dsn")
    tessera.migrate_store(here.path, dsn)
    return dsn


def test_nothing_counts_that_was_handed_out(here: Town, place: str) -> None:
    """Leases end, tokens, results, lines and cursors go on above the epoch, a receipt still replays, and the
    store verifies.
    """
    held = here.given["held"]
    with here.open(place) as store:
        since = store.claim("q", "w")
        receipt = store.submit("done", 1, None, "done-key")
        before = store.events(limit=10_000)[-1].seq
    epoch = tessera.new_epoch(place, runtime=here.world.runtime())

    assert epoch.leases_ended == 2 if since else 1
    with here.open(place) as store:
        with pytest.raises(StaleLease):
            store.heartbeat("held", held.fencing_token)
        assert store.events(after=before)[0].seq == epoch.epoch
        assert store.submit("done", 1, None, "done-key") == receipt
        again = store.claim("q", "w")
        assert again.fencing_token > epoch.epoch
        store.submit(again.task_id, again.fencing_token, {}, "new-key")
        assert int(store.results(again.task_id)[-1].result_id[2:], 16) > epoch.epoch
        assert store.publish_feed("news", {}).cursor > epoch.epoch
        assert store.counts(recount=True).agree
        assert store.verify().findings == []


def test_a_database_that_was_taken_back(here: Town, postgres: str, dsn: str) -> None:
    """After a copy of a database has taken its place, a new epoch refuses what was claimed since the copy."""
    tessera.migrate_store(here.path, dsn)
    older = dsn.rpartition("dbname=")[2].partition("&")[0]
    with psycopg.connect(postgres, autocommit=True) as server:
        server.execute(f"create database {older}_copy template {older}".encode())
    copy = on_database(postgres, f"{older}_copy")
    try:
        with here.open(dsn) as store:
            since = store.claim("q", "w")
        tessera.new_epoch(copy, runtime=here.world.runtime())
        with here.open(copy) as store:
            with pytest.raises(StaleLease):
                store.submit(since.task_id, since.fencing_token, {}, "late")
            mine = [store.claim("q", "w") for _ in range(3)]

        assert since.task_id in {one.task_id for one in mine if one}
    finally:
        with psycopg.connect(postgres, autocommit=True) as server:
            server.execute(f"drop database {older}_copy with (force)".encode())


def test_the_command(here: Town) -> None:
    """`tessera new-epoch` says what ended; a store that is not there, or a service, is refused."""
    done = subprocess.run(
        [sys.executable, "-m", "tessera.cli.main", "new-epoch", "--store", here.path],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.startswith("Leases ended: 1.")
    with pytest.raises(NotFound):
        tessera.new_epoch(here.path + "-none")
    with pytest.raises(InvalidRequest, match="own machine"):
        tessera.new_epoch("http://localhost:1")
