"""Moves of a store, to their end or only as far as a point."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import tessera
from tessera.runtime import real_runtime
from tessera.testing import die_at
from upkeep import town

DEATHS = ["page:7", "page:5"]  # the one on the way to a database, the other to a file
POINTS = ["begun", "page:7", "copied", "compared", "verified", "placing", "finished"]


def command(source: str, target: str, *words: str) -> list[str]:
    """The command that moves a store."""
    return [sys.executable, "-m", "tessera.cli.main", "migrate-store", source, target, *words]


WORDS = re.compile("(nouns|reflexes)_(words|parts)")


class Cut(BaseException):
    """An end that nobody in the program expects."""


def cut_off(point: str, source: str, target: str) -> None:
    """Move a store as far as a point: there the process dies, or (for most, since a process takes seconds to
    begin) an exception ends the move that nothing catches.
    """
    if point in DEATHS:
        die_at(f"move.{point}", command(source, target))
        return
    name, _, nth = point.partition(":")
    left = [int(nth or 1)]

    def reach(reached: str) -> None:
        left[0] -= reached == f"move.{name}"
        if not left[0]:
            raise Cut

    with pytest.raises(Cut):
        tessera.migrate_store(source, target, runtime=replace(real_runtime(), reach=reach))


def contents(path: str) -> dict[str, list[tuple[Any, ...]]]:
    """Every row of every table that a store is made of; not what SQLite derives from those."""
    return {name: rows for name, rows in town.contents(path).items() if not WORDS.match(name)}


def back(dsn: str, folder: Path) -> dict[str, list[tuple[Any, ...]]]:
    """All that is in a database, read in the file that it is moved to."""
    tessera.migrate_store(dsn, str(folder / "back.db"))
    return contents(str(folder / "back.db"))
