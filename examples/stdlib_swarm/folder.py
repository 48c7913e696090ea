"""The demo's folder: made afresh for each run, and never anybody else's."""

from __future__ import annotations

import fcntl
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

MARKER: Final = ".tessera-demo"


class NotOurs(Exception):
    """The folder may not be replaced."""


@contextmanager
def demo_folder(path: Path) -> Iterator[Path]:
    """An empty folder, held while the block runs. One that an earlier run left is emptied first; any other
    that holds something, or that a run is using right now, is refused.
    """
    marker = path / MARKER
    if path.exists() and not marker.is_file() and (not path.is_dir() or any(path.iterdir())):
        raise NotOurs(f"{path} was not made by this demo: choose another folder with --out")
    path.mkdir(parents=True, exist_ok=True)
    with marker.open("a") as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise NotOurs(f"another run is using {path}: choose another folder with --out") from None
        _empty(path)
        (path / ".gitignore").write_text("*\n")  # what a demo leaves behind belongs in nobody's repository
        yield path


def _empty(path: Path) -> None:
    """Remove all but the marker, which is what says that the folder may be emptied."""
    for entry in path.iterdir():
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        elif entry.name != MARKER:
            entry.unlink()
