"""A town's file, with the store closed or open."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import tessera
from tessera.testing import World
from upkeep import town


class Town:
    """A store's path, its world, and what was handed out in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.world = World()
        self.path = str(folder / "store.db")
        with self.open() as store:
            self.given: dict[str, Any] = town.build(store, self.world)

    def open(self, path: str | None = None) -> tessera.Tessera:
        """The store, or another file, on the town's clock."""
        return tessera.open(path or self.path, runtime=self.world.runtime())

    def restore(self, file: str, path: str | None = None, **how: Any) -> tessera.library.models.Restored:
        """Restore on the town's clock."""
        return tessera.restore(file, path or self.path, runtime=self.world.runtime(), **how)

    def backup(self, name: str = "backup.db", **how: Any) -> str:
        """A backup of the store; its path."""
        file = str(self.folder / name)
        with self.open() as store:
            store.backup(file, **how)
        return file


@pytest.fixture
def here(tmp_path: Path) -> Town:
    """A town of its own."""
    return Town(tmp_path)
