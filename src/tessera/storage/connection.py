"""A connection to a SQLite store, and what its errors are called outside."""

from __future__ import annotations

import os

import apsw

from tessera.errors import TesseraError, Unavailable
from tessera.limits import (
    BUSY_SECONDS_MAX,
    CHECKPOINT_PAGES,
    LOST_RACES_MAX,
    READER_CACHE_KIB,
    WRITER_CACHE_KIB,
)
from tessera.storage.forks import refuse_barred

_SAID_OF: dict[type[Exception], str] = {
    apsw.BusyError: f"another process has held the store's lock for {BUSY_SECONDS_MAX} seconds; try again",
    apsw.CantOpenError: "the store's file cannot be opened or made: look at its path and permissions",
    apsw.CorruptError: "the store's file is damaged: restore a backup",
    apsw.FullError: "the disk is full: make room and try again",
    apsw.NotADBError: "the file is not a SQLite file, so no store",
    apsw.PermissionsError: "the store's file or folder may not be written",
    apsw.ReadOnlyError: "the store's file or folder may not be written",
}


class Busy(Unavailable):
    """Another process holds the store's write lock."""


def connect(path: str, *, read_only: bool = False) -> apsw.Connection:
    """A connection set up as measured in docs/performance.md: WAL, syncs of our own, stable plans."""
    refuse_barred(path)
    folder = os.path.dirname(path) or "."
    if not os.path.isdir(folder):
        raise Unavailable(f"there is no folder {folder} for the store: make it first", definite=True)
    flags = apsw.SQLITE_OPEN_READWRITE | (0 if read_only else apsw.SQLITE_OPEN_CREATE)
    connection = apsw.Connection(path, flags=flags, statementcachesize=512)
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)  # else STAT4 re-prepares at every bind
    connection.config(apsw.SQLITE_DBCONFIG_DQS_DML, 0)  # a misspelt column is no string
    connection.set_busy_timeout(int(BUSY_SECONDS_MAX * 1_000))
    connection.execute("pragma page_size = 4096")
    _use_wal(connection)
    for pragma in (
        "synchronous = normal",
        f"cache_size = {-(READER_CACHE_KIB if read_only else WRITER_CACHE_KIB)}",
        f"wal_autocheckpoint = {CHECKPOINT_PAGES}",
        "temp_store = memory",
        "foreign_keys = off",  # what they name is checked by the verbs, once
        f"query_only = {int(read_only)}",
    ):
        connection.execute(f"pragma {pragma}")
    return connection


def connect_to_look(path: str) -> apsw.Connection:
    """A connection that leaves the file as it is, whatever journal it uses, and beside it what was there."""
    logged = os.path.exists(f"{path}-wal")
    connection = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READWRITE)  # a reader could not tidy up
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
    connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, int(logged))
    connection.set_busy_timeout(int(BUSY_SECONDS_MAX * 1_000))
    for pragma in ("cache_size = -65536", "temp_store = memory", "query_only = 1"):
        connection.execute(f"pragma {pragma}")
    return connection


def _use_wal(connection: apsw.Connection) -> None:
    """Of two that turn a new file to WAL at once SQLite refuses one without letting it wait: it waits for the
    other's lock here, then looks again.
    """
    for tries_left in reversed(range(LOST_RACES_MAX)):
        try:
            connection.execute("pragma journal_mode = wal")
            return
        except apsw.BusyError:
            if not tries_left:
                raise
            connection.execute("begin immediate")
            connection.execute("rollback")


def refusal_of(error: Exception) -> TesseraError:
    """What the caller is told of an exception that no verb raises on purpose."""
    for kind, detail in _SAID_OF.items():
        if isinstance(error, kind):
            return Unavailable(detail, definite=True)
    return TesseraError()
