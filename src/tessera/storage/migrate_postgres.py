"""How a PostgreSQL database becomes a store of this version, however many nodes start on it at once.

A new database gets `schema_postgres.sql` whole; an older store gets the migrations it lacks, all in one
transaction under an advisory lock, so that whoever comes second finds nothing left to do. Versions are those
of SQLite: the first one here is the whole schema as it was when PostgreSQL began. Migrations only add.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

import psycopg

from tessera.errors import Unavailable
from tessera.runtime import Runtime

SCHEMA = Path(__file__).parent.parent / "schema_postgres.sql"
MIGRATIONS = Path(__file__).parent / "migrations" / "postgres"
ADVISORY_CLASS: Final = 0x54455353  # "TESS": of every advisory lock that a store takes
MIGRATING: Final = 1  # the lock in that class under which a schema changes
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
_FILE = re.compile(r"^(\d{4})_(\w+)\.sql$")
_BEGUN_WITH = 4  # the version of the first migration here
_EARLIER = ("queue", "blobs", "feeds", "parks")  # the versions that it stands for

Migration = tuple[int, str, str]  # version, name, text


def migrate(connection: psycopg.Connection[Any], runtime: Runtime, folder: Path = MIGRATIONS) -> None:
    """Bring the database to the schema of this version, or refuse it with `unavailable`. The connection is in
    no transaction, and is in none afterwards.
    """
    known = migrations(folder)
    with connection.transaction():
        version = _version(connection)
        if version != known[-1][0]:
            connection.execute(
                "select pg_advisory_xact_lock(%s::int4, %s::int4)", (ADVISORY_CLASS, MIGRATING)
            )  # and look again
            _bring_up(connection, runtime, known, _version(connection))


def migrations(folder: Path = MIGRATIONS) -> list[Migration]:
    """Every migration as (version, name, text), by version, without gaps."""
    found = []
    for path in sorted(folder.glob("*.sql")):
        named = _FILE.match(path.name)
        if named is None:
            raise ValueError(f"{path.name} is not named like a migration: 0005_what_it_adds.sql")
        found.append((int(named[1]), named[2], path.read_text(encoding="utf-8")))
    if [version for version, *_ in found] != list(range(_BEGUN_WITH, _BEGUN_WITH + len(found))):
        raise ValueError(f"migrations are not numbered {_BEGUN_WITH}, {_BEGUN_WITH + 1} and so on")
    return found


def _version(connection: psycopg.Connection[Any]) -> int | None:
    """The version of the schema; None in an empty database. Another program's database is refused."""
    if _ask(connection, "select to_regclass('meta') is not null and to_regclass('count_slots') is not null"):
        version: int = _ask(connection, "select max(version) from migrations")
        return version
    if _ask(connection, "select current_schema()") is None:
        raise Unavailable("the schema that the database's role looks in does not exist", definite=True)
    others = "select count(*) from pg_class c join pg_namespace n on n.oid = c.relnamespace "
    if _ask(connection, others + "where n.nspname = current_schema() and c.relkind in ('r', 'v', 'p', 'S')"):
        raise Unavailable(
            "this database holds other tables, but no Tessera store: make a database for the store alone",
            definite=True,
        )
    return None


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
