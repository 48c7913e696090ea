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
from tessera.storage.postgres.connection import LOOKING, connect, is_lost, refusal_of
from tessera.storage.postgres.home import Home
from tessera.storage.postgres.link import Link

log = logging.getLogger("tessera.storage")
_PAUSE_SECONDS = 0.1


class PostgresSnapshot:
    """A look's view: one instant, one state of the store, nothing to write."""

    __slots__ = ("_link", "_prepared", "looked", "now", "settled")

    def __init__(self, home: Home, link: Link) -> None:
        self._prepared = home.prepared
        self._link = link
        link.ask(self._prepared["begin_snapshot"])
        asked = link.ask(self._prepared["opening"], (home.clock.scripted(),))
        self.looked = home.disk.look(link)
        link.flush()
        opening = asked.only()
        self.now = home.clock.instant(opening.now, opening.last)
        self.settled = 0

    def one(self, name: str, /, **params: object) -> Any:
        rows = self.all(name, **params)
        return rows[0] if rows else None

    def all(self, name: str, /, **params: object) -> list[Any]:
        statement = self._prepared[name]
        return self._link.run(statement, statement.bind(params)).rows

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise AssertionError("a look may not write")

    write = save = save_all = count = event = alarm = quiet = quiet_until = ready = after_commit = _refuse


class Readers:
    """A few connections, made when first needed, lent to one thread at a time."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._idle: queue.LifoQueue[Link | None] = queue.LifoQueue()
        self._closed = False
        self._offer_none_open()

    def read(self, look: Verb, *args: Any) -> Any:
        """Run a look on an idle connection, waiting for one if all are busy. What a lost connection has cut
        off is looked at again.
        """
        until: int | None = None
        while True:
            link = self._idle.get()
            try:
                if self._closed:
                    raise Unavailable("the store is closed", definite=True)
                link = link or Link(connect(self._home.dsn, LOOKING)[0])
                return self._look(link, look, args)
            except psycopg.Error as error:
                lost = link is not None and is_lost(link.connection, error)
                if not lost or not self._patient(until := until or self._until()):
                    log.log(logging.WARNING, "a look failed: %s", type(error).__name__)
                    raise refusal_of(error) from error
            except Unavailable:
                if link is not None or not self._patient(until := until or self._until()):
                    raise
            finally:
                self._idle.put(None if link is None or link.connection.closed else link)

    def close(self) -> None:
        """Close every connection; waits for looks under way."""
        self._closed = True
        with suppress(queue.Empty):
            for _ in range(READERS_MAX):
                if link := self._idle.get(timeout=LOOK_SECONDS_MAX):
                    link.connection.close()
        self._offer_none_open()  # else whoever still waits for one would wait for ever

    def _look(self, link: Link, look: Verb, args: tuple[Any, ...]) -> Any:
        """Run a look; come back once all that it may have seen is on disk."""
        home, refusal = self._home, None
        try:
            tx = PostgresSnapshot(home, link)
            try:
                answer = look(tx, home.runtime, *args)
            except TesseraError as error:
                refusal = error
            link.run(home.prepared["commit"])
            if not home.disk.is_safe(tx.looked):
                home.disk.secure(link)
        except BaseException:
            self._undo(link)
            raise
        if refusal is not None:
            raise refusal
        return answer

    def _undo(self, link: Link) -> None:
        try:
            link.forget()
            if not link.connection.closed:
                link.run(self._home.prepared["rollback"])
        except psycopg.Error:
            link.connection.close()

    def _until(self) -> int:
        return self._home.runtime.elapsed_us() + PATIENCE_SECONDS_MAX * SECOND_US

    def _patient(self, until: int) -> bool:
        """Wait a little; whether there is still time."""
        closing = self._home.closing.wait(_PAUSE_SECONDS)
        return not closing and self._home.runtime.elapsed_us() < until

    def _offer_none_open(self) -> None:
        for _ in range(READERS_MAX):
            self._idle.put(None)
