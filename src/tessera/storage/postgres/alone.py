"""Whether anybody else has a store's database open."""

from __future__ import annotations

from tessera.errors import Unavailable
from tessera.limits import SECOND_US
from tessera.runtime import Runtime
from tessera.storage.postgres.connection import ENGINE, Dsn, Prepared, connect

_GONE_SECONDS = 2  # how long the server may take to end the connections of a process that has ended
_LOOK_SECONDS = 0.05


def alone(url: str, runtime: Runtime) -> None:
    """Refuse, as `unavailable`, while another process uses the store."""
    asked = Prepared(ENGINE["others_here"])
    until = runtime.elapsed_us() + _GONE_SECONDS * SECOND_US
    connection, _ = connect(Dsn(url))
    with connection:
        while asked.one(connection.execute, {}).value:
            if runtime.elapsed_us() > until:
                raise Unavailable(
                    "the database is in use: stop every node that serves it first", definite=True
                )
            runtime.sleep(_LOOK_SECONDS)
