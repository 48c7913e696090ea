"""What every test may use: a scripted world, and a store on it that must recount at the end."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import tessera
from tessera.testing import World, temporary_store


@pytest.fixture
def world() -> World:
    """A clock that moves when told."""
    return World()


@pytest.fixture
def store(world: World) -> Iterator[tessera.Tessera]:
    """A new store on the world's clock."""
    with temporary_store(world) as store:
        yield store
