"""A connection that listens: what other processes have committed is news here too."""

from __future__ import annotations

import logging
import os
import select
import threading
from collections.abc import Callable

import psycopg

from tessera.errors import TesseraError
from tessera.limits import IDLE_VERB_SECONDS_MAX, LISTEN_SECONDS, SECOND_US
from tessera.storage.port import News
from tessera.storage.postgres.connection import Connection, connect
from tessera.storage.postgres.database import Database
from tessera.storage.postgres.notices import EVERYTHING, decoded

log = logging.getLogger("tessera.storage")


class Listener:
    """A thread that tells of notifications; whenever it may have missed some, and every few seconds in any
    case, it says that everything may have changed. The connection must be one to the database itself: a
    pooler that lends connections by the transaction hears nothing, and then only the seconds are left.
    """

    def __init__(self, database: Database, tell: Callable[[News], None]) -> None:
        self._database = database
        self._tell = tell
        self._looks_next = 0
        self._ends, self._end = os.pipe()
        self._thread = threading.Thread(target=self._listen_forever, name="tessera-listen", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the thread and its connection."""
        os.write(self._end, b"\0")
        self._thread.join()
        os.close(self._end)
        os.close(self._ends)

    def _listen_forever(self) -> None:
        said = False  # that it does not listen, and why: once, however long that lasts
        while not self._ended(0):
            try:
                connection, _ = connect(self._database.dsn)
                with connection:
                    connection.execute("listen tessera")
                    self._database.prepared["sweep_marks"].run(connection.execute, {})
                    log.info("listening again" if said else "listening")
                    said = False
                    self._tell(EVERYTHING)
                    while self._wait(connection):
                        self._look_round(connection)
            except (psycopg.Error, TesseraError) as error:
                if not said:
                    said = True
                    log.warning("not listening: %s", self._database.dsn.cleaned(" ".join(str(error).split())))
                self._tell(EVERYTHING)
                if self._ended(1):
                    return

    def _wait(self, connection: Connection) -> bool:
        """Tell of what comes next; False when it is time to end."""
        ready, _, _ = select.select([connection.fileno(), self._ends], [], [], LISTEN_SECONDS)
        if self._ends in ready:
            return False
        if not ready:
            self._tell(EVERYTHING)
            return True
        for notice in connection.notifies(timeout=0):
            if (news := decoded(notice.payload, self._database.node)) is not None:
                self._tell(news)
        return True

    def _look_round(self, connection: Connection) -> None:
        """Every few seconds: does the connection work, and is any other node silent in a transaction?"""
        now = self._database.runtime.elapsed_us()
        if now < self._looks_next:
            return
        self._looks_next = now + LISTEN_SECONDS * SECOND_US
        silent: dict[str, object] = {"seconds": IDLE_VERB_SECONDS_MAX}
        ended = self._database.prepared["end_silent"].one(connection.execute, silent).value
        if ended:
            log.warning("ended %d transactions whose nodes had fallen silent", ended)

    def _ended(self, seconds: float) -> bool:
        return bool(select.select([self._ends], [], [], seconds)[0])
