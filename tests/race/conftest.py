"""Two handles on one file, one on each engine: to SQLite two processes, to a race more ways to collide."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from crash.wholeness import assert_whole

import tessera
from tessera.testing import World, open_on_loop

BACKOFF = dict(backoff_base_seconds=0, backoff_cap_seconds=0)


@pytest.fixture
def path(tmp_path: Path) -> str:
    """A new store's file with a queue `q`; whatever happened to it, it must be whole in the end."""
    path = str(tmp_path / "store.db")
    with tessera.open(path) as store:
        store.define_queue("q", max_attempts=20, **BACKOFF)
    return path


@pytest.fixture
def handles(path: str) -> Iterator[list[tessera.Tessera]]:
    """Two handles on that file, on the real clock."""
    pair = [tessera.open(path), open_on_loop(path)]
    yield pair
    for handle in pair:
        handle.close()
    assert_whole(path)


@pytest.fixture
def scripted(tmp_path: Path, world: World) -> Iterator[list[tessera.Tessera]]:
    """Two handles on a file of their own, on the world's clock."""
    path = str(tmp_path / "scripted.db")
    pair = [tessera.open(path, runtime=world.runtime()), open_on_loop(path, runtime=world.runtime())]
    pair[0].define_queue("q", heartbeat_seconds=10, miss_limit=1, max_attempts=20, **BACKOFF)
    yield pair
    for handle in pair:
        handle.close()
    assert_whole(path)
