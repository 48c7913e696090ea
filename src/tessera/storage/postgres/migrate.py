"""How a PostgreSQL database becomes a store of this version, however many nodes start on it at once.

A new database gets `schema_postgres.sql` whole; an older store gets the migrations it lacks, all in one
transaction under an advisory lock, so that whoever comes second finds nothing left to do. Versions are those
of SQLite: the first one here is the whole schema as it was when PostgreSQL began. Migrations only add.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import psycopg

from tessera.errors import Unavailable
from tessera.runtime import Runtime
from tessera.storage import migrate as migrate_files
from tessera.storage.migrate import Migration

SCHEMA = migrate_files.SCHEMA.with_name("schema_postgres.sql")
MIGRATIONS = migrate_files.MIGRATIONS / "postgres"
ADVISORY_CLASS: Final = 0x54455353  # "TESS": of every advisory lock that a store takes
MIGRATING: Final = 1  # the lock in that class under which a schema changes
MOVING: Final = 3  # and the one of whoever moves a store to or from here; 2 is the log's, 4 the topics'
# On a connection that runs verbs. Plans are those that the statements were written for, whatever the
# statistics say: tables are joined in the order of the text, through indexes, and a plan is made once.
PLANS: Final[dict[str, str]] = {
    "join_collapse_limit": "1",
    "from_collapse_limit": "1",
    "enable_seqscan": "off",
    "enable_bitmapscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "plan_cache_mode": "force_generic_plan",
    "jit": "off",
}
PART: Final = "a store is being moved to this database"
MOVE_ON: Final = "run `tessera migrate-store` to its end"
_BEGUN_WITH = 4  # the version of the first migration here
_EARLIER = ("queue", "blobs", "feeds", "parks")  # the versions that it stands for


def migrate(
    connection: psycopg.Connection[Any], runtime: Runtime, folder: Path = MIGRATIONS, *, whole: bool = True
) -> None:
    """Bring the database to the schema of this version, or refuse it with `unavailable`. The connection is
    in no transaction, and is in none afterwards. Unless `whole` is false, a database to which a store is
    being moved is refused: what is there is part of one.
    """
    known = migrations(folder)
    with connection.transaction():
        if version_of(connection) == known[-1][0]:
            if whole and is_part(connection):
                raise Unavailable(f"{PART}: {MOVE_ON}", definite=True)
            return
        connection.execute("select pg_advisory_xact_lock(%s::int4, %s::int4)", (ADVISORY_CLASS, MIGRATING))
        version = version_of(connection)  # as whoever held the lock has left it
        if version is None:
            _refuse_anothers(connection)
        _bring_up(connection, runtime, known, version)


def migrations(folder: Path = MIGRATIONS) -> list[Migration]:
    """Every migration of a folder, by version, without gaps."""
    return migrate_files.migrations(folder, _BEGUN_WITH)


def version_of(connection: psycopg.Connection[Any]) -> int | None:
    """The version of the schema; None if the database holds no store."""
    if not {"meta", "count_slots", "migrations"} <= _tables(connection):
        return None
    version: int = _ask(connection, "select max(version) from migrations")
    return version


def is_part(connection: psycopg.Connection[Any]) -> bool:
    """Whether a database with a schema holds part of a store that is being moved to it."""
    return bool(_ask(connection, "select count(*) from meta where name = 'moving'"))


def _refuse_anothers(connection: psycopg.Connection[Any]) -> None:
    """Refuse a database in which another program keeps something."""
    if _ask(connection, "select current_schema()") is None:
        raise Unavailable("the schema that the database's role looks in does not exist", definite=True)
    if _tables(connection):
        raise Unavailable(
            "this database holds other tables, but no Tessera store: make a database for the store alone",
            definite=True,
        )


def _tables(connection: psycopg.Connection[Any]) -> set[str]:
    """What there is by name. Read as rows: the server's own look-up of a name may still be that of before a
    lock was waited for.
    """
    rows = connection.execute(
        "select c.relname from pg_class c join pg_namespace n on n.oid = c.relnamespace "
        "where n.nspname = current_schema() and c.relkind in ('r', 'v', 'p', 'S')"
    )
    return {name for (name,) in rows}


def _bring_up(
    connection: psycopg.Connection[Any], runtime: Runtime, known: list[Migration], version: int | None
) -> None:
    newest = known[-1][0]
    if version is None:
        connection.execute(SCHEMA.read_bytes())
        _record(connection, runtime, [(number, name, "") for number, name in enumerate(_EARLIER, 1)])
        _record(connection, runtime, known[1:])
        connection.execute("insert into meta (name, words) values ('store_id', %s)", (runtime.new_id("st_"),))
        return
    if version > newest:
        raise Unavailable(
            f"this store was written by a newer Tessera (schema {version}, this one knows {newest}): "
            "upgrade this node, or restore a backup made before",
            definite=True,
        )
    missing = [one for one in known if one[0] > version]
    for _, _, text in missing:
        connection.execute(text.encode())
    _record(connection, runtime, missing)


def _record(connection: psycopg.Connection[Any], runtime: Runtime, applied: list[Migration]) -> None:
    for version, name, _ in applied:
        connection.execute("insert into migrations values (%s, %s, %s)", (version, name, runtime.now_us()))
    runtime.reach("migrate.written")


def _ask(connection: psycopg.Connection[Any], question: str) -> Any:
    row = connection.execute(question.encode()).fetchone()
    assert row is not None
    return row[0]
