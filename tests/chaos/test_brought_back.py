"""A database that PostgreSQL's own means have brought back begins a new epoch."""

from __future__ import annotations

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

import tessera
from tessera.errors import InvalidRequest, StaleLease, Unavailable
from tessera.testing_postgres import database, on_database


def copied(dsn: str, postgres: str, name: str) -> str:
    """A backup: the database as it is now, under another name on the same server."""
    source = conninfo_to_dict(dsn)["dbname"]
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute(f'drop database "{name}"')
        connection.execute(f'create database "{name}" template "{source}"')
    return on_database(postgres, name)


def test_postgres_what_was_handed_out_since_counts_no_more(dsn: str, postgres: str) -> None:
    """After a backup is brought back, a token that the lost store had handed out since is refused though the
    copy gives the same task anew, numbers of the log go on above all that anybody may have read, leases of
    the backup are over, and everything verifies.
    """
    with tessera.open(dsn) as store:
        store.define_queue("q", lease_seconds=600, heartbeat_seconds=300)
        early = store.enqueue(queue="q", kind="early", brief={})
        late = store.enqueue(queue="q", kind="late", brief={})
        held = store.claim("q", "w", kinds=["early"])
        assert held is not None
    with database(postgres) as other:
        backup = copied(dsn, postgres, str(conninfo_to_dict(other)["dbname"]))
        with tessera.open(dsn) as store:
            lost = store.claim("q", "w", kinds=["late"])
            assert lost is not None
            last_seq = store.events(limit=1_000)[-1].seq
        restored = tessera.restore(None, backup)
        with tessera.open(backup) as store:
            again = store.claim("q", "v", kinds=["late"])
            assert again is not None
            for lease in (held, lost):
                with pytest.raises(StaleLease):
                    store.submit(lease.task_id, lease.fencing_token, {}, f"old:{lease.task_id}")
            assert store.submit(late, again.fencing_token, {}, "new").ok
            assert store.task(early).state == "ready"
            assert store.events(after=last_seq)[0].type == "store_restored"
            assert store.verify().ok

    assert restored.epoch.leases_ended == 1
    assert again.fencing_token > restored.epoch.epoch > last_seq


def test_postgres_a_database_in_use_is_not_changed(dsn: str) -> None:
    """While any process has the store open a new epoch is refused, and so is a file: nothing is changed."""
    with tessera.open(dsn) as store:
        store.define_queue("q")
        with pytest.raises(Unavailable, match="in use"):
            tessera.restore(None, dsn)
        with pytest.raises(InvalidRequest, match="pg_restore"):
            tessera.restore("nightly.dump", dsn)
        assert [event.type for event in store.events()] == ["queue_defined"]


def test_a_file_needs_its_backup_named() -> None:
    """A store in a file is restored from a file: without one the refusal says so."""
    with pytest.raises(InvalidRequest, match="backup"):
        tessera.restore(None, "no-such.db")
