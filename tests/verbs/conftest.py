"""The bench of every test of a verb."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from verbs.bench import Bench

from tessera import Tessera
from tessera.models import Lease
from tessera.testing import World


@pytest.fixture(scope="session")
def new_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of a new store with the queue `q`, made once: a copy costs less than the making."""
    path = tmp_path_factory.mktemp("new") / "store.db"
    Bench.at(path).store.close()
    return path


@pytest.fixture
def bench(tmp_path: Path, new_store: Path) -> Iterator[Bench]:
    """A new store with the queue `q`; at the end its counts must agree with a recount."""
    bench = Bench.at(Path(shutil.copy(new_store, tmp_path / "store.db")))
    yield bench
    assert bench.store.counts(recount=True).agree
    bench.store.close()


@pytest.fixture
def store(bench: Bench) -> Tessera:
    """The store with the queue `q`."""
    return bench.store


@pytest.fixture
def world(bench: Bench) -> World:
    """The clock of that store."""
    return bench.world


@pytest.fixture
def lease(bench: Bench) -> Lease:
    """The live lease of a task `t`, under the first token."""
    return bench.leased(task_id="t")
