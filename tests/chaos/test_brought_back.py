"""A database that PostgreSQL's own means have brought back gets its new epoch before a node serves it."""

from __future__ import annotations

import pytest

import tessera
from tessera.errors import Unavailable


def test_postgres_a_database_in_use_begins_no_epoch(dsn: str) -> None:
    """While any process has the store open a new epoch is refused, and nothing is changed; afterwards it
    begins.
    """
    with tessera.open(dsn) as store:
        store.define_queue("q")
        with pytest.raises(Unavailable, match="in use"):
            tessera.new_epoch(dsn)
        assert [event.type for event in store.events()] == ["queue_defined"]
    assert tessera.new_epoch(dsn).leases_ended == 0
