"""Moves the write-ahead log into the database file: in a service a thread does, on a connection of its own,
so that no verb waits for it; without one, whoever commits.

A passive checkpoint copies what no reader needs any more and holds up nobody. The log's file is only used
from its start again once all of it is copied and no reader looks at it; when it has grown long, the thread
asks for that, and writers stand in line for the few milliseconds it takes. Cut short is the file only when
readers have let it grow far beyond: that takes ten times as long, and room that it has is room to write over.
"""

from __future__ import annotations

import logging
import os
import threading

import apsw

from tessera.limits import (
    CHECKPOINT_BYTES,
    CHECKPOINT_COMMITS,
    CHECKPOINT_PAGES,
    CHECKPOINT_SECONDS,
    LAG_PAGES_MAX,
    RESTART_PAGES,
    WAL_BYTES_LARGE,
)
from tessera.storage.connection import connect
from tessera.storage.files import StoreFiles
from tessera.storage.wal import die

log = logging.getLogger("tessera.storage")
# So long are readers waited for, and writers with them; then it is tried again next time.
_RESTART_WAIT_MS = 10
_TRUNCATE_WAIT_MS = 100
_RESTS_MAX = 16  # rounds


class AfterCommits:
    """Moves the log after a commit of a connection, when it has grown long, or many small commits have
    written the same pages to it over and over: a log that is short stays in the caches, and what is written
    over is synced sooner than what makes a file longer.
    """

    def __init__(self, connection: apsw.Connection) -> None:
        self._commits = 0
        connection.set_wal_hook(self._logged)

    def _logged(self, connection: apsw.Connection, _database: str, pages: int) -> int:
        self._commits += 1
        if pages >= CHECKPOINT_PAGES or self._commits >= CHECKPOINT_COMMITS:
            self._commits = 0
            try:
                connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
            except apsw.BusyError:
                pass  # another process is at it
            except apsw.Error as error:  # the commit stands, and the next time comes
                log.warning("the write-ahead log could not be checkpointed: %s", error)
        return apsw.SQLITE_OK


class Checkpointer:
    """A thread that keeps the log short, and ends the process when the store's files are taken away."""

    def __init__(self, path: str) -> None:
        self._wal = f"{path}-wal"
        self._connection = connect(path)
        self._files = StoreFiles(path)
        self._rests = 0  # so many rounds are still let go by,
        self._vain = 0  # of so many after the last try that was in vain
        self._restarted = 0  # how long the log was when it was last to start again, in pages
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
                if self._files.are_lost():
                    die("the store's file, or what is beside it, was removed or replaced while it was served")
                self._checkpoint(os.stat(self._wal).st_size)
            except apsw.BusyError:
                continue  # readers or another process: next time
            except (apsw.Error, OSError) as error:
                log.warning("the write-ahead log could not be checkpointed: %s", error)

    def _checkpoint(self, size: int) -> None:
        if size < CHECKPOINT_BYTES:
            return
        pages, copied = self._connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
        if self._rests:
            self._rests -= 1
        elif pages - copied > LAG_PAGES_MAX:
            return  # somebody looks at what is old: writers would wait for that one in vain
        elif size >= WAL_BYTES_LARGE:
            self._start_again(apsw.SQLITE_CHECKPOINT_TRUNCATE, _TRUNCATE_WAIT_MS)
        elif pages >= RESTART_PAGES and pages != self._restarted:
            self._start_again(apsw.SQLITE_CHECKPOINT_RESTART, _RESTART_WAIT_MS)

    def _start_again(self, mode: int, wait_ms: int) -> None:
        """Let the log start again. Each time that a reader is in the way twice as many rounds are let go by,
        for writers have waited as well.
        """
        self._connection.set_busy_timeout(wait_ms)
        try:
            self._restarted, _ = self._connection.wal_checkpoint(mode=mode)
        except apsw.BusyError:
            self._rests = self._vain = min(2 * self._vain or 1, _RESTS_MAX)
        else:
            self._vain = 0
