"""What every test may use: a scripted world, and a store on it that must recount at the end."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from long_ones import LONG_ONES

import tessera
from tessera.testing import World, temporary_store
from tessera.testing_postgres import Server, database

TESTS = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the long files first; within a file, and among the others, nothing moves."""
    order = {TESTS / name: place for place, name in enumerate(LONG_ONES)}
    items.sort(key=lambda item: order.get(item.path, len(order)))


@pytest.fixture
def world() -> World:
    """A clock that moves when told."""
    return World()


@pytest.fixture
def store(world: World) -> Iterator[tessera.Tessera]:
    """A new store on the world's clock."""
    with temporary_store(world) as store:
        yield store


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The DSN of a real PostgreSQL: that of TESSERA_TEST_DSN, else one started for this process."""
    if given := os.environ.get("TESSERA_TEST_DSN"):
        yield given
        return
    with Server() as server:
        yield server.dsn


@pytest.fixture
def dsn(postgres: str) -> Iterator[str]:
    """The DSN of an empty database of the test's own."""
    with database(postgres) as dsn:
        yield dsn
