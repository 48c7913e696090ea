"""How a file becomes a store of this version.

A new file gets `schema.sql` whole. An older store gets the migrations it lacks, in order, each committed
together with its own record, so an interrupted upgrade goes on where it stopped. Migrations only add: a test
holds that both ways end in the same schema. A file that a newer version has written is refused, and so is a
database that is no store.
"""

from __future__ import annotations

import re
from pathlib import Path

import apsw

from tessera.errors import Unavailable
from tessera.runtime import Runtime

APPLICATION_ID = 0x54455353  # "TESS": what the file's header says it is
SCHEMA = Path(__file__).parent.parent / "schema.sql"
MIGRATIONS = Path(__file__).parent / "migrations"
UPGRADED = (
    "a newer Tessera has upgraded the store while this process had it open: upgrade this one, then start it "
    "anew"
)
_FILE = re.compile(r"^(\d{4})_(\w+)\.sql$")

Migration = tuple[int, str, str]  # version, name, text


def migrate(connection: apsw.Connection, runtime: Runtime, folder: Path = MIGRATIONS) -> None:
    """Bring the connection's file to the schema of this version, or refuse it. Safe when several processes
    open one file at once: each step takes the write lock and looks again.
    """
    known = migrations(folder)
    while True:
        connection.execute("begin immediate")
        try:
            done = _step(connection, runtime, known)
        except BaseException:
            connection.execute("rollback")
            raise
        connection.execute("commit")
        if done:
            return


def upgraded(connection: apsw.Connection) -> Unavailable | None:
    """The refusal of a store that a newer version has upgraded while it was open here; None of any other. To
    be asked when something went wrong that nobody foresaw.
    """
    try:
        version = connection.execute("select max(version) from migrations").get
    except apsw.Error:
        return None
    return Unavailable(UPGRADED, definite=True) if version > len(migrations()) else None


def migrations(folder: Path = MIGRATIONS, first: int = 1) -> list[Migration]:
    """Every migration of a folder, by version, without gaps from the first on."""
    found = []
    for path in sorted(folder.glob("*.sql")):
        named = _FILE.match(path.name)
        if named is None:
            raise ValueError(f"{path.name} is not named like a migration: 0001_what_it_adds.sql")
        found.append((int(named[1]), named[2], path.read_text(encoding="utf-8")))
    if [version for version, *_ in found] != list(range(first, first + len(found))):
        raise ValueError(f"migrations are not numbered {first}, {first + 1} and so on")
    return found


def _step(connection: apsw.Connection, runtime: Runtime, known: list[Migration]) -> bool:
    """Make the new store, or apply the next migration. Returns whether nothing is left to do."""
    if not connection.execute("select count(*) from sqlite_schema").get:
        connection.execute(f"pragma application_id = {APPLICATION_ID}")
        connection.execute(SCHEMA.read_text(encoding="utf-8"))
        _record(connection, runtime, known)
        connection.execute("insert into meta (name, value) values ('store_id', ?)", (runtime.new_id("st_"),))
        return True
    if connection.execute("pragma application_id").get != APPLICATION_ID:
        raise Unavailable("this file is a database, but no Tessera store: name another file", definite=True)
    version = connection.execute("select max(version) from migrations").get
    if version > len(known):
        raise Unavailable(
            f"this store was written by a newer Tessera (schema {version}, this one knows {len(known)}): "
            "upgrade, or open a backup made before",
            definite=True,
        )
    missing = known[version : version + 1]
    for _, _, text in missing:
        connection.execute(text)
    _record(connection, runtime, missing)
    return not missing


def _record(connection: apsw.Connection, runtime: Runtime, applied: list[Migration]) -> None:
    for version, name, _ in applied:
        connection.execute("insert into migrations values (?, ?, ?)", (version, name, runtime.now_us()))
    runtime.reach("migrate.written")
