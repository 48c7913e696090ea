"""Whether a transaction was committed whose answer got lost with its connection."""

from __future__ import annotations

import logging

import psycopg

from tessera.errors import TesseraError
from tessera.limits import PATIENCE_SECONDS_MAX, SECOND_US
from tessera.storage.postgres.connection import UnknownOutcome, connect
from tessera.storage.postgres.database import Database

log = logging.getLogger("tessera.storage")
_PAUSE_SECONDS = 0.2


def committed(database: Database, writer: str, number: int) -> bool:
    """Whether a writer's transaction of that number was committed, and is on disk; if not, it never will be.
    Each leaves its number in a mark, so that the mark tells, also after a restart of the database or on a
    standby that took over. Raises `UnknownOutcome` if the database does not say in time.
    """
    until = database.runtime.elapsed_us() + PATIENCE_SECONDS_MAX * SECOND_US
    while True:
        try:
            connection, _ = connect(database.dsn)
            with connection:
                mark = {"writer": writer, "number": number, "at": database.clock.last}
                found = database.prepared["find_mark"].one(connection.execute, mark)
            if not connection.warnings:
                return bool(found.value >= 0)
        except (TesseraError, psycopg.Error) as error:
            log.info("a commit's outcome is not known yet: %s", type(error).__name__)
        if database.closing.is_set() or database.runtime.elapsed_us() > until:
            says = "the database went away while it committed, and nobody knows whether it did: ask again"
            raise UnknownOutcome(says, definite=False)
        database.closing.wait(_PAUSE_SECONDS)
