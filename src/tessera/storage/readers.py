"""Connections that read beside the writer: long looks (lists, the log, a recount) hold up no verb.

A look is answered only once what it saw would survive a power cut, whoever wrote it.
"""

from __future__ import annotations

import logging
import queue
from contextlib import suppress
from typing import Any

import apsw

from tessera.errors import Unavailable
from tessera.limits import LOOK_SECONDS_MAX, READERS_MAX
from tessera.runtime import Runtime
from tessera.storage.clock import Clock
from tessera.storage.connection import connect, connect_to_look, refusal_of
from tessera.storage.migrate import upgraded
from tessera.storage.port import Verb
from tessera.storage.prepared import Prepared, prepare
from tessera.storage.snapshot import ReadOnly
from tessera.storage.wal import Wal

log = logging.getLogger("tessera.storage")


class SqliteSnapshot(ReadOnly):
    """A look's view: one instant, one state of the store, nothing to write."""

    __slots__ = ("_prepared", "now", "settled")

    def __init__(self, prepared: dict[str, Prepared], now: int) -> None:
        self._prepared = prepared
        self.now = now
        self.settled = 0

    def one(self, name: str, /, **params: object) -> Any:
        return self._prepared[name].one(params)

    def all(self, name: str, /, **params: object) -> list[Any]:
        return self._prepared[name].all(params)


class Reader:
    """One connection that only reads, and the state of the store that it last knew to be on disk."""

    def __init__(self, path: str) -> None:
        self.connection = connect(path, read_only=True)
        cursor = self.connection.cursor()
        self.execute = cursor.execute
        self.prepared = prepare(self.connection, cursor, remember=False, checked=True)
        self.durable_version: int | None = None

    def read(self, look: Verb, runtime: Runtime, clock: Clock, wal: Wal, args: tuple[Any, ...]) -> Any:
        """Run a look in a transaction of its own, at an instant no earlier than what it sees; return once all
        that it may have seen is on disk.
        """
        try:
            self.execute("begin")
            clock.outlive(self.prepared["last_instant"].one({}).value or 0)
            answer = look(SqliteSnapshot(self.prepared, clock.instant()), runtime, *args)
            version = self.execute("pragma data_version").get
        finally:
            if self.connection.in_transaction:
                self.execute("rollback")
        if version != self.durable_version:
            wal.cover(wal.commit())  # perhaps another process's commit, so only a sync from here on counts
            self.durable_version = version
        return answer


def look_at_file(path: str, runtime: Runtime, look: Verb, *args: Any) -> Any:
    """Run a look on a file that nobody has open as a store, and leave it as it is."""
    try:
        connection = connect_to_look(path)
        try:
            cursor = connection.cursor()
            prepared = prepare(connection, cursor, remember=False)
            cursor.execute("begin")
            clock = Clock(runtime)
            clock.outlive(prepared["last_instant"].one({}).value or 0)
            return look(SqliteSnapshot(prepared, clock.instant()), runtime, *args)
        finally:
            connection.close(True)
    except apsw.Error as error:
        raise refusal_of(error) from error


class Readers:
    """A few readers, opened when first needed, lent to one thread at a time."""

    def __init__(self, path: str, runtime: Runtime, clock: Clock, wal: Wal) -> None:
        self._path = path
        self._runtime = runtime
        self._clock = clock
        self._wal = wal
        # Each changes in one call that no interrupt can cut off half way.
        self._places: queue.SimpleQueue[None] = queue.SimpleQueue()  # for threads that read
        self._idle: list[Reader] = []  # the last used is the next
        self._closed = False
        self._offer(READERS_MAX)

    def read(self, look: Verb, *args: Any) -> Any:
        """Run a look on an idle reader, waiting for one if all are busy."""
        self._places.get()
        reader = None
        try:
            if self._closed:
                raise Unavailable("the store is closed", definite=True)
            reader = self._lend()
            return reader.read(look, self._runtime, self._clock, self._wal, args)
        except (apsw.Error, TypeError) as error:  # a row may have grown
            if reader is not None and (newer := upgraded(reader.connection)):
                raise newer from error
            if isinstance(error, TypeError):
                raise
            if isinstance(error, apsw.CorruptError):
                log.error("a look met a damaged page of the store's file: %s", error)
            raise refusal_of(error) from error
        finally:
            if reader is not None:
                self._idle.append(reader)
            self._places.put(None)

    def close(self) -> None:
        """Close every reader; waits for those that are still reading, unless an interrupt has lost one."""
        self._closed = True
        self._take_all()
        while self._idle:
            self._idle.pop().connection.close()
        self._offer(READERS_MAX)  # else whoever still waits for one would wait for ever

    def hold(self) -> list[Reader | None]:
        """Take every reader, waiting for those that are reading; nobody reads until they are put back."""
        places = self._take_all()
        held, self._idle = self._idle, []
        return [*held, *([None] * (places - len(held)))]

    def put_back(self, held: list[Reader | None]) -> None:
        """Lend them again."""
        self._idle += [reader for reader in held if reader is not None]
        self._offer(len(held))

    def _lend(self) -> Reader:
        try:
            return self._idle.pop()
        except IndexError:
            return Reader(self._path)

    def _take_all(self) -> int:
        """Take every place, as far as they come free in time; how many."""
        taken = 0
        with suppress(queue.Empty):
            while taken < READERS_MAX:
                self._places.get(timeout=LOOK_SECONDS_MAX)
                taken += 1
        return taken

    def _offer(self, places: int) -> None:
        for _ in range(places):
            self._places.put(None)
