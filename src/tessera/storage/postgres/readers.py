"""Connections that look: one state of the store each time, nothing to write, nobody held up."""

from __future__ import annotations

import logging
import queue
from contextlib import suppress
from typing import Any, NoReturn

import psycopg

from tessera.errors import TesseraError, Unavailable
from tessera.limits import LOOK_SECONDS_MAX, PATIENCE_SECONDS_MAX, READERS_MAX, SECOND_US
from tessera.storage.port import Verb
from tessera.storage.postgres.connection import (
    LOOKING,
    Connection,
    connect,
    is_lost,
    listen_to_warnings,
    refusal_of,
)
from tessera.storage.postgres.home import Home

log = logging.getLogger("tessera.storage")
_PAUSE_SECONDS = 0.1


class PostgresSnapshot:
    """A look's view: one instant, one state of the store, nothing to write."""

    __slots__ = ("_execute", "_prepared", "now", "settled")

    def __init__(self, home: Home, connection: Connection) -> None:
        self._prepared = home.prepared
        self._execute = connection.execute
        self._execute(self._prepared["begin_snapshot"].text)
        opening = self.one("opening", scripted=home.clock.scripted())
        self.now = home.clock.instant(opening.now, opening.last)
        self.settled = 0

    def one(self, name: str, /, **params: object) -> Any:
        return self._prepared[name].one(self._execute, params)

    def all(self, name: str, /, **params: object) -> list[Any]:
        return self._prepared[name].all(self._execute, params)

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise AssertionError("a look may not write")

    write = save = save_all = count = event = alarm = quiet = quiet_until = ready = after_commit = _refuse


class Readers:
    """A few connections, made when first needed, lent to one thread at a time."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._idle: queue.LifoQueue[Connection | None] = queue.LifoQueue()
        self._closed = False
        self._offer_none_open()

    def read(self, look: Verb, *args: Any) -> Any:
        """Run a look on an idle connection, waiting for one if all are busy. What a lost connection has cut
        off is looked at again.
        """
        until: int | None = None
        while True:
            connection = self._idle.get()
            try:
                if self._closed:
                    raise Unavailable("the store is closed", definite=True)
                connection = connection or connect(self._home.dsn, LOOKING)[0]
                return self._look(connection, look, args)
            except psycopg.Error as error:
                lost = connection is not None and is_lost(connection, error)
                if not lost or not self._patient(until := until or self._until()):
                    log.log(logging.WARNING, "a look failed: %s", type(error).__name__)
                    raise refusal_of(error) from error
            except Unavailable:
                if connection is not None or not self._patient(until := until or self._until()):
                    raise
            finally:
                self._idle.put(None if connection is None or connection.closed else connection)

    def close(self) -> None:
        """Close every connection; waits for looks under way."""
        self._closed = True
        with suppress(queue.Empty):
            for _ in range(READERS_MAX):
                if connection := self._idle.get(timeout=LOOK_SECONDS_MAX):
                    connection.close()
        self._offer_none_open()  # else whoever still waits for one would wait for ever

    def _look(self, connection: Connection, look: Verb, args: tuple[Any, ...]) -> Any:
        try:
            with connection.pipeline():
                tx = PostgresSnapshot(self._home, connection)
                looked = self._home.disk.look(connection)
                try:
                    answer = look(tx, self._home.runtime, *args)
                finally:
                    with suppress(psycopg.Error):
                        connection.execute("commit")
                safe = self._home.disk.is_safe(looked)
            if not safe:
                warnings = listen_to_warnings(connection)
                self._home.disk.is_reached(self._home.disk.reach(connection), warnings)
            return answer
        except TesseraError:
            raise
        except BaseException:
            self._undo(connection)
            raise

    @staticmethod
    def _undo(connection: Connection) -> None:
        try:
            if not connection.closed:
                connection.execute("rollback")
        except psycopg.Error:
            connection.close()

    def _until(self) -> int:
        return self._home.runtime.elapsed_us() + PATIENCE_SECONDS_MAX * SECOND_US

    def _patient(self, until: int) -> bool:
        """Wait a little; whether there is still time."""
        closing = self._home.closing.wait(_PAUSE_SECONDS)
        return not closing and self._home.runtime.elapsed_us() < until

    def _offer_none_open(self) -> None:
        for _ in range(READERS_MAX):
            self._idle.put(None)
