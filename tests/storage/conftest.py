"""Stores for the tests of the engines: a file, and a database."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from storage.forked import make_store
from storage.sound import sound

import tessera


@pytest.fixture
def path(tmp_path: Path) -> str:
    """The file of a store with the queue `q` and one task."""
    return make_store(str(tmp_path / "store.db"))


@pytest.fixture
def store(dsn: str) -> Iterator[tessera.Tessera]:
    """A store on PostgreSQL with the queue `q`, sound at the end."""
    with sound(dsn) as store:
        yield store
