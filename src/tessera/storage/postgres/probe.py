"""Facts about a database that need no store that opens: for a diagnosis. Nothing is changed."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from tessera.errors import TesseraError
from tessera.runtime import Runtime
from tessera.storage.port import Verb
from tessera.storage.postgres.connection import Dsn
from tessera.storage.postgres.database import Database
from tessera.storage.postgres.migrate import is_part, migrations, version_of
from tessera.storage.postgres.readers import Readers
from tessera.storage.postgres.rows import Server


class Facts(Struct, frozen=True):
    """What was found. None: not looked at, because something before it stands in the way."""

    shown: str  # where the database is, without a password
    refusal: str | None = None  # why it cannot be used
    server: Server | None = None
    schema: int | None = None  # None in a database that holds nothing
    schema_known: int = 0
    is_part: bool = False  # of a store that is being moved there
    times: Any = None  # what looks at a store of this version have answered
    nouns: Any = ()


def probe(url: str, runtime: Runtime, times: Verb, nouns: Verb) -> Facts:
    """The facts about a database; of a store of this version also what two looks say."""
    dsn, known = Dsn(url), migrations()[-1][0]
    facts: dict[str, Any] = {"shown": dsn.shown, "schema_known": known}
    try:
        database = Database(dsn, runtime)
    except TesseraError as refusal:
        return Facts(refusal=str(refusal), **facts)
    readers = Readers(database)
    try:
        with database.plain() as connection:
            facts["server"] = database.prepared["server"].one(connection.execute, {})
            facts["schema"] = version_of(connection)
            facts["is_part"] = facts["schema"] is not None and is_part(connection)
        if facts["schema"] == known and not facts["is_part"]:
            facts |= {"times": readers.read(times), "nouns": readers.read(nouns)}
    except TesseraError as refusal:
        facts["refusal"] = str(refusal)
    finally:
        readers.close()
        database.close()
    return Facts(**facts)
