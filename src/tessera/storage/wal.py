"""How much of the write-ahead log is on disk.

Commits are numbered. A commit itself syncs nothing; whoever must not be told before it is durable waits until
its number is covered by a sync, and one sync covers every commit before it. What another process has
committed counts like a commit of our own: it is not ours to say that it was synced.
"""

from __future__ import annotations

import logging
import os
import threading
from pathlib import Path

from tessera.errors import Unavailable
from tessera.runtime import Runtime
from tessera.storage.meter import Meter

log = logging.getLogger("tessera.storage")
SYNC_FAILED = 74  # the process's exit code (EX_IOERR)
fdatasync = os.fdatasync  # by this name, so that a test can stand in for the disk


class Wal:
    """The log's file, the number of the last commit, and the number up to which all is on disk."""

    def __init__(self, path: str, runtime: Runtime) -> None:
        """The store is open, so its log exists. That its name is in its folder must be durable too."""
        self._fd: int | None = os.open(f"{path}-wal", os.O_RDWR)
        self._reach = runtime.reach
        self._elapsed_us = runtime.elapsed_us
        self.meter = Meter(path)
        self._lock = threading.Lock()
        self._numbering = threading.Lock()  # apart, so that nobody waits for a sync to get a number
        self.committed = 0
        self.synced = 0
        folder = os.open(Path(path).parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def commit(self) -> int:
        """Number a commit, ours or another process's, that is not known to be on disk."""
        with self._numbering:
            self.committed += 1
            return self.committed

    def cover(self, number: int) -> None:
        """Return once the commit of this number is on disk. Threads that meet here share a sync."""
        if self.synced >= number:
            return
        with self._lock:
            if self.synced < number:
                if self._fd is None:
                    raise Unavailable("the store is closed")
                target = self.committed
                self._sync()
                self.synced = target

    def close(self) -> None:
        """Let go of the file once all that was committed is on disk: threads that wait for it find it there,
        and none of them syncs a file that is closed, or another one that has got its number since.
        """
        self.cover(self.committed)
        with self._lock:
            if self._fd is not None:
                os.close(self._fd)
                self._fd = None

    def _sync(self) -> None:
        assert self._fd is not None
        start_us = self._elapsed_us()
        try:
            fdatasync(self._fd)
        except OSError:
            die("the write-ahead log could not be synced; nobody can tell what is on disk")
        self.meter.synced(self._elapsed_us() - start_us)
        self._reach("commit.synced")


def die(reason: str) -> None:
    """End the process: nobody knows what is kept until the store is opened anew."""
    log.critical("%s; the process ends", reason)
    os._exit(SYNC_FAILED)
