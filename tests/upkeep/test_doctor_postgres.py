"""doctor and the rest of upkeep for a store on PostgreSQL."""

from __future__ import annotations

import pytest

import tessera
from tessera import diagnosis_postgres
from tessera.errors import InvalidRequest
from tessera.models import Advice, Diagnosis
from tessera.runtime import Runtime
from tessera.storage.port import Transaction
from tessera.storage.postgres.probe import Facts
from tessera.storage.postgres.rows import Server


def only(found: Diagnosis) -> Advice:
    """The only thing that needs somebody; it says what to do."""
    (one,) = (one for one in found.advice if one.level == "act")
    assert not found.ok
    assert one.do
    return one


def test_a_well_store_needs_nothing(dsn: str) -> None:
    """A store that is well is said to be, subject by subject."""
    with tessera.open(dsn) as store:
        store.define_queue("q")
    found = tessera.doctor(dsn)

    assert found.ok
    assert [(one.subject, one.level) for one in found.advice] == [
        (subject, "fine")
        for subject in ("database", "safety", "connections", "transactions", "store", "reaper")
    ]


def test_a_database_without_a_store_and_one_that_is_not_there(dsn: str) -> None:
    """Both are said, and nothing is made in the empty one."""
    assert "holds no store" in only(tessera.doctor(dsn)).says
    assert "holds no store" in only(tessera.doctor(dsn)).says
    assert "cannot be reached" in only(tessera.doctor("postgresql://127.0.0.1:1/x")).says


def test_what_is_late_is_said(dsn: str) -> None:
    """A lease that ran out long ago, and no reaper, need somebody."""
    with tessera.open(dsn) as store:
        store.define_queue("q", lease_seconds=1, heartbeat_seconds=1, miss_limit=1)
        store.enqueue(queue="q", kind="k", brief={})
        store.claim("q", "w")
        store._door.keeper()._engine.submit(_long_ago).result()
    found = tessera.doctor(dsn)

    assert [one.subject for one in found.advice if one.level == "act"] == ["late", "reaper"]


def _long_ago(tx: Transaction, runtime: Runtime) -> None:
    (task,) = tx.all("leased_tasks")
    tx.save("extend_lease", Short(tx.now - 120_000_000, task.serial, task.fencing_token))


class Short:
    """A lease that ended."""

    def __init__(self, expires_at: int, serial: int, fencing_token: int) -> None:
        self.expires_at = expires_at
        self.serial = serial
        self.fencing_token = fencing_token


@pytest.mark.parametrize(
    ("server", "says"),
    [
        (Server("16", 0, 100, 5, 0), "fsync off"),
        (Server("16", 1, 100, 95, 0), "95 of 100 connections"),
        (Server("16", 1, 100, 5, 3_600), "open for 3600 s"),
    ],
)
def test_a_server_that_needs_somebody(server: Server, says: str) -> None:
    """Syncs that are off, connections that run out and a transaction that nobody ends are said."""
    facts = Facts("dbname=x", server=server, schema=7, schema_known=7)
    assert says in only(diagnosis_postgres.found(facts)).says


def test_a_newer_store_is_left_alone() -> None:
    """A schema that this version does not know needs another version; an older one is only mentioned."""
    server = Server("16", 1, 100, 5, 0)
    newer = diagnosis_postgres.found(Facts("dbname=x", server=server, schema=9, schema_known=7))
    assert "newer Tessera" in only(newer).says
    assert diagnosis_postgres.found(Facts("dbname=x", server=server, schema=4, schema_known=7)).ok


def test_files_are_not_what_a_database_is_backed_up_to(dsn: str) -> None:
    """backup and restore say what to use."""
    with tessera.open(dsn) as store, pytest.raises(InvalidRequest, match="pg_dump"):
        store.backup("never-written")
    with pytest.raises(InvalidRequest, match="pg_"):
        tessera.restore("never-read", dsn)
