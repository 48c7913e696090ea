"""Folders that a process makes for itself among the machine's temporary ones, and what killed processes left.

A folder is locked for as long as its process lives: the kernel lets go of the lock however that process ends.
So one that can be locked is nobody's any more. It gets its name only once it is locked.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path
from types import TracebackType


class Scratch:
    """A new folder that only its user can enter; a context removes it."""

    def __init__(self, prefix: str) -> None:
        """Its name begins with the prefix. Raises OSError when there is no room for it."""
        made = tempfile.mkdtemp(prefix=f".{prefix}")
        self._lock: int | None = os.open(made, os.O_RDONLY)
        with suppress(OSError):  # where nothing can be locked, `sweep` removes nothing
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self.path = Path(made).with_name(Path(made).name.removeprefix("."))
        Path(made).rename(self.path)

    def __enter__(self) -> Path:
        return self.path

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.remove()

    def remove(self) -> None:
        """Remove the folder and what is in it; a second call does nothing."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def sweep(prefix: str) -> None:
    """Remove the folders of that prefix whose processes have ended without removing them."""
    for path in Path(tempfile.gettempdir()).glob(f"{prefix}*"):
        with suppress(OSError):  # it is another user's, or gone, or no folder
            lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(path, ignore_errors=True)
            finally:
                os.close(lock)
