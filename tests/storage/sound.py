"""A store on PostgreSQL that a test may do anything with, as long as it leaves it sound."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg

import tessera

QUEUE = {"lease_seconds": 3_600, "heartbeat_seconds": 600}
_WAITING = """select from pg_locks join pg_stat_activity using (pid)
  where not granted and datname = current_database()"""


@contextmanager
def sound(dsn: str) -> Iterator[tessera.Tessera]:
    """The store with the queue `q`; at the end its counts agree and it is sound."""
    with tessera.open(dsn) as store:
        store.define_queue("q", **QUEUE)
        yield store
        assert store.counts(recount=True).agree
        assert store.verify().ok


def until_one_waits(dsn: str) -> None:
    """Return once somebody waits for a lock in the database."""
    with psycopg.connect(dsn, autocommit=True) as looking:
        while looking.execute(_WAITING).fetchone() is None:
            pass
