"""Moves the write-ahead log into the database file while the service runs, in a thread, on a connection of
its own, so that no verb waits for it.

A passive checkpoint copies what no reader needs any more and holds up nobody. The log's file is only used
from its start again once all of it is copied and no reader looks at it; when it has grown large, the thread
asks for that, and writers stand in line for the moment it takes.
"""

from __future__ import annotations

import logging
import os
import threading

import apsw

from tessera.limits import CHECKPOINT_BYTES, CHECKPOINT_SECONDS, WAL_BYTES_LARGE
from tessera.storage.connection import connect

log = logging.getLogger("tessera.storage")
_TRUNCATE_WAIT_MS = 100  # for readers to finish; then it is tried again next time


class Checkpointer:
    """A thread that keeps the log short."""

    def __init__(self, path: str) -> None:
        self._wal = f"{path}-wal"
        self._connection = connect(path)
        self._connection.set_busy_timeout(_TRUNCATE_WAIT_MS)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="tessera-checkpoint", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop after the checkpoint under way."""
        self._stop.set()
        self._thread.join()
        self._connection.close()

    def _run(self) -> None:
        while not self._stop.wait(CHECKPOINT_SECONDS):
            try:
                self._checkpoint(os.stat(self._wal).st_size)
            except apsw.BusyError:
                continue  # readers or another process: next time
            except (apsw.Error, OSError):
                log.exception("the write-ahead log could not be checkpointed")

    def _checkpoint(self, size: int) -> None:
        if size >= CHECKPOINT_BYTES:
            self._connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
        if size >= WAL_BYTES_LARGE:
            self._connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
