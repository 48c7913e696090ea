"""Connections that read beside the writer: long looks (lists, the log, a recount) hold up no verb.

With every commit synced before other connections see it, what these read would survive a power cut.
"""

from __future__ import annotations

import queue
from typing import Any, NoReturn

import apsw

from tessera.errors import Unavailable
from tessera.limits import READERS_MAX
from tessera.runtime import Runtime
from tessera.storage.clock import Clock
from tessera.storage.port import Verb
from tessera.storage.prepared import Prepared, prepare
from tessera.storage.sqlite import connect, refusal_of


class SqliteSnapshot:
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

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise AssertionError("a look may not write")

    write = save = count = event = alarm = quiet = quiet_until = ready = after_commit = _refuse


class Reader:
    """One connection that only reads."""

    def __init__(self, path: str) -> None:
        self.connection = connect(path, read_only=True)
        self.execute = self.connection.cursor().execute
        self.prepared = prepare(self.connection, self.execute, remember=False)

    def read(self, look: Verb, runtime: Runtime, clock: Clock, args: tuple[Any, ...]) -> Any:
        """Run a look in a transaction of its own, at an instant no earlier than what it sees."""
        self.execute("begin")
        try:
            last = self.prepared["last_instant"].one({})
            clock.outlive(0 if last is None else last.value)
            return look(SqliteSnapshot(self.prepared, clock.instant()), runtime, *args)
        finally:
            self.execute("rollback")


class Readers:
    """A few readers, opened when first needed, lent to one thread at a time."""

    def __init__(self, path: str, runtime: Runtime, clock: Clock) -> None:
        self._path = path
        self._runtime = runtime
        self._clock = clock
        self._idle: queue.LifoQueue[Reader | None] = queue.LifoQueue()
        self._closed = False
        self._offer_none_open()

    def read(self, look: Verb, *args: Any) -> Any:
        """Run a look on an idle reader, waiting for one if all are busy."""
        reader = self._idle.get()
        try:
            if self._closed:
                raise Unavailable("the store is closed", definite=True)
            reader = reader or Reader(self._path)
            return reader.read(look, self._runtime, self._clock, args)
        except apsw.Error as error:
            raise refusal_of(error) from error
        finally:
            self._idle.put(reader)

    def close(self) -> None:
        """Close every reader; waits for those that are still reading."""
        self._closed = True
        for _ in range(READERS_MAX):
            if reader := self._idle.get():
                reader.connection.close()
        self._offer_none_open()  # else whoever still waits for one would wait for ever

    def _offer_none_open(self) -> None:
        for _ in range(READERS_MAX):
            self._idle.put(None)
