"""Connections that look: one state of the store each time, nothing to write, nobody held up."""

from __future__ import annotations

import logging
import threading
from typing import Any

import psycopg

from tessera.errors import TesseraError, Unavailable
from tessera.limits import LOOK_SECONDS_MAX, PATIENCE_SECONDS_MAX, READERS_MAX, SECOND_US
from tessera.storage.port import Verb
from tessera.storage.postgres.connection import LOOKING, connect, is_lost, refusal_of
from tessera.storage.postgres.database import Database
from tessera.storage.postgres.link import Link
from tessera.storage.snapshot import ReadOnly

log = logging.getLogger("tessera.storage")
_PAUSE_SECONDS = 0.1


class PostgresSnapshot(ReadOnly):
    """A look's view: one instant, one state of the store, nothing to write."""

    __slots__ = ("_link", "_prepared", "looked", "now", "settled")

    def __init__(self, database: Database, link: Link) -> None:
        self._prepared = database.prepared
        self._link = link
        link.ask(self._prepared["begin_snapshot"])
        asked = link.ask(self._prepared["opening"], (database.clock.scripted(),))
        self.looked = database.disk.look(link)
        link.flush()
        opening = asked.only()
        self.now = database.clock.instant(opening.now, opening.last)
        self.settled = 0

    def one(self, name: str, /, **params: object) -> Any:
        rows = self.all(name, **params)
        return rows[0] if rows else None

    def all(self, name: str, /, **params: object) -> list[Any]:
        statement = self._prepared[name]
        return self._link.run(statement, statement.bind(params)).rows


class Readers:
    """A few connections, made when first needed, lent to one thread at a time."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._open: list[Link] = []  # that nobody uses now
        self._places = READERS_MAX  # for more
        self._changed = threading.Condition()
        self._gone: Unavailable | None = None  # what stood in the way of the last connection
        self._closed = False

    def until(self) -> int:
        """When a look that is asked for now stops waiting for a database that does not answer."""
        return self._database.runtime.elapsed_us() + PATIENCE_SECONDS_MAX * SECOND_US

    def read(self, look: Verb, *args: Any) -> Any:
        """Run a look; `unavailable` if the database does not answer, and at the latest when nobody should
        wait any longer. One that a lost connection has cut off is looked at again.
        """
        return self.read_until(self.until(), look, *args)

    def read_until(self, until: int, look: Verb, *args: Any) -> Any:
        """The same for a look that was asked for before."""
        if (gone := self._gone) and not self._open and self._database.runtime.elapsed_us() >= until:
            raise Unavailable(gone.detail, definite=True, inside=gone.inside)
        losses = 0
        while True:
            link = self._take()
            try:
                link = link or self._connected()
                return self._look(link, look, args)
            except psycopg.Error as error:
                lost = link is not None and is_lost(link.connection, error)
                losses += lost  # one is no reason to give up, however long the look took
                if not lost or not self._patient(until, losses == 1):
                    log.log(logging.WARNING, "a look failed: %s", type(error).__name__)
                    raise refusal_of(error) from error
            except Unavailable as refusal:
                if link is not None or not self._patient(until):
                    log.log(logging.WARNING, "a look failed: %s", refusal)
                    raise
            finally:
                self._give_back(link)

    def close(self) -> None:
        """Close every connection; waits for looks under way."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()  # else whoever still waits for one would wait for ever
            self._changed.wait_for(
                lambda: self._places + len(self._open) == READERS_MAX, timeout=LOOK_SECONDS_MAX
            )
            while self._open:
                self._open.pop().connection.close()
                self._places += 1

    def _take(self) -> Link | None:
        """A connection; None if there is only the place for one. An open one comes first, so that a server
        which takes no more holds up nobody who could have gone on.
        """
        with self._changed:
            free = self._changed.wait_for(
                lambda: self._open or self._places or self._closed, timeout=PATIENCE_SECONDS_MAX
            )
            if self._closed:
                raise Unavailable("the store is closed", definite=True)
            if not free:
                raise Unavailable("others look at the store, for long; try again", definite=True)
            if self._open:
                return self._open.pop()
            self._places -= 1
            return None

    def _give_back(self, link: Link | None) -> None:
        with self._changed:
            if link is None or link.connection.closed:
                self._places += 1
            else:
                self._open.append(link)
            self._changed.notify_all()

    def _connected(self) -> Link:
        try:
            link = Link(connect(self._database.dsn, LOOKING)[0])
        except Unavailable as gone:
            self._gone = gone
            raise
        self._gone = None
        return link

    def _look(self, link: Link, look: Verb, args: tuple[Any, ...]) -> Any:
        """Run a look; come back once all that it may have seen is on disk."""
        database, refusal = self._database, None
        try:
            tx = PostgresSnapshot(database, link)
            try:
                answer = look(tx, database.runtime, *args)
            except TesseraError as error:
                refusal = error
            link.run(database.prepared["commit"])
            if not database.disk.is_safe(tx.looked):
                database.disk.secure(link)
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
                link.run(self._database.prepared["rollback"])
        except psycopg.Error:
            link.connection.close()

    def _patient(self, until: int, in_any_case: bool = False) -> bool:
        """Wait a little; whether there is still time."""
        closing = self._database.closing.wait(_PAUSE_SECONDS)
        return not closing and (in_any_case or self._database.runtime.elapsed_us() < until)
