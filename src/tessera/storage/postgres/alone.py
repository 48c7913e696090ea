"""Whether anybody else has a store's database open."""

from __future__ import annotations

from tessera.errors import Unavailable
from tessera.storage.postgres.connection import ENGINE, Dsn, Prepared, connect


def alone(url: str) -> str:
    """Refuse, as `unavailable`, if another process uses the store; else where it is, without a password."""
    dsn = Dsn(url)
    connection, _ = connect(dsn)
    with connection:
        others = Prepared(ENGINE["others_here"]).one(connection.execute, {}).value
    if others:
        raise Unavailable("the database is in use: stop every node that serves it first", definite=True)
    return dsn.shown
