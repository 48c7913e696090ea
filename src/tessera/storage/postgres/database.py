"""What all connections of one engine share."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache

import psycopg

from tessera.errors import Unavailable
from tessera.runtime import Runtime
from tessera.storage import catalogue
from tessera.storage.catalogue import Statement
from tessera.storage.meter import Meter
from tessera.storage.port import News
from tessera.storage.postgres.clock import Clock
from tessera.storage.postgres.connection import ENGINE, LENT, Connection, Dsn, Prepared, connect
from tessera.storage.postgres.disk import Disk
from tessera.storage.postgres.rows import Session


@cache
def _statements() -> Mapping[str, Statement]:
    """The store's statements, read once by a process however often it opens a store."""
    return catalogue.load(dialect=catalogue.POSTGRES)


class Counted:
    """What the engine's threads count of their work, one at a time."""

    def __init__(self, meter: Meter) -> None:
        self._meter = meter
        self._lock = threading.Lock()

    def committed(self, verbs: int) -> None:
        """So many verbs have shared a commit."""
        with self._lock:
            self._meter.batches.add(verbs)

    def synced(self, took_us: int) -> None:
        """So long has somebody waited for the disk."""
        with self._lock:
            self._meter.synced(took_us)


class Database:
    """One store, as one process has it open."""

    def __init__(self, dsn: Dsn, runtime: Runtime) -> None:
        self.dsn = dsn
        self.runtime = runtime
        self.clock = Clock(runtime)
        statements = _statements()
        self.prepared = {name: Prepared(one) for name, one in {**statements, **ENGINE}.items()}
        self.forgets: dict[str, list[str]] = {}  # statement -> what is remembered until it has run
        for name, statement in statements.items():
            for writer in statement.remembered_until:
                self.forgets.setdefault(writer, []).append(name)
        self.disk = Disk(self.prepared["reached"], self.prepared["reach_disk"])
        self.closing = threading.Event()
        self.meter = Meter()
        self.counted = Counted(self.meter)
        self.watch: Callable[[News], None] | None = None
        self._spare: list[tuple[Connection, Session]] = [connect(dsn)]
        self.node = self._spare[0][1].name  # which of the notifications are our own
        self._refuse_lent()

    def _refuse_lent(self) -> None:
        """Refuse a pooler that lends a connection by the transaction: settings, prepared statements and what
        is listened to would be those of whoever had it before. There one that is made now is the same as
        the one that is idle. A pooler is known by its own word for the connection's process.
        """
        connection, session = self._spare[0]
        if connection.info.backend_pid == int(session.name.partition(":")[0]):
            return
        try:
            other, its_session = connect(self.dsn)
            other.close()
            if its_session.name == session.name:
                raise Unavailable(LENT, definite=True)
        except Unavailable:
            self.close()
            raise

    @contextmanager
    def plain(self) -> Iterator[Connection]:
        """The connection that the store was opened with, for statements in psycopg's own form."""
        connection = self._spare[0][0]
        connection.cursor_factory, connection.prepare_threshold = psycopg.Cursor, None
        yield connection
        connection.cursor_factory, connection.prepare_threshold = psycopg.RawCursor, 0

    def read_clock(self) -> None:
        """Read the database's clock: the time of this process goes on from there even if it asks nothing.
        (What the log has seen counts in every transaction anyway.)
        """
        scripted: dict[str, object] = {"scripted": self.clock.scripted()}
        opening = self.prepared["opening"].one(self._spare[0][0].execute, scripted)
        self.clock.instant(opening.now, 0)

    def connect(self) -> tuple[Connection, Session]:
        """A connection to run verbs on."""
        try:
            return self._spare.pop()  # whoever comes first gets the one that is there
        except IndexError:
            return connect(self.dsn)

    def close(self) -> None:
        """Let go of what nobody took."""
        while self._spare:
            self._spare.pop()[0].close()
