"""The bench of every test of a verb."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from verbs.bench import Bench


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
