"""A SQLite store's file, as the one end or the other of a move.

Where a store goes to is a file of another name beside it, until all is in it and on the disk.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any, Final

import apsw

from tessera.canonical import json_text
from tessera.errors import InvalidRequest, Unavailable
from tessera.runtime import Runtime
from tessera.storage import catalogue, files, locks
from tessera.storage.clock import Clock
from tessera.storage.migrate import APPLICATION_ID, migrate
from tessera.storage.moving.tables import MARK, WHOLE, Row, Table, after
from tessera.storage.port import Verb
from tessera.storage.prepared import prepare
from tessera.storage.readers import SqliteSnapshot

ENDING: Final = ".moving"  # of the file's name until it is whole


class _End:
    """A file that is locked against everybody else as long as it is open here."""

    def __init__(self, path: str, flags: int, in_use: str) -> None:
        self.connection = apsw.Connection(path, flags=flags)
        try:
            self.connection.execute("pragma locking_mode = exclusive")
            self.connection.execute("begin exclusive")
            self.connection.execute("commit")
        except apsw.BusyError as error:
            self.connection.close(True)
            raise Unavailable(in_use.format(locks.told_of(path)), definite=True) from error
        except BaseException:
            self.connection.close(True)
            raise

    def count(self, table: Table) -> int:
        found: int = self.connection.execute(f"select count(*) from {table.name}").get
        return found

    def rows(self, table: Table, start: Row | None = None) -> Iterator[Row]:
        asked = (
            f"select {', '.join(table.columns)} from {table.name} {after(table, start, lambda n: f'?{n}')}"
        )
        try:
            for row in self.connection.execute(asked, start or ()):
                if table.name != "meta" or row[0] != MARK:
                    yield row
        except UnicodeDecodeError as error:
            raise Unavailable(
                f"a row of {table.name} is damaged: `tessera verify` says which, a backup has it whole",
                definite=True,
            ) from error

    def close(self) -> None:
        self.connection.close(True)


class SqliteSource(_End):
    """The file that a store is in. An older one is brought to this version first."""

    def __init__(self, path: str, runtime: Runtime) -> None:
        self.shown = path
        in_use = "the store is in use: end every process that has it open, then move it{}"
        super().__init__(path, apsw.SQLITE_OPEN_READWRITE, in_use)
        try:
            if self.connection.execute("pragma application_id").get != APPLICATION_ID:
                raise Unavailable("this file is no Tessera store: name another file", definite=True)
            migrate(self.connection, runtime)
            self.identity = self._identity()
        except BaseException:
            self.close()
            raise

    def _identity(self) -> str:
        kept = dict(self.connection.execute("select name, value from meta"))
        last = self.connection.execute("select max(seq) from events").get
        return json_text([kept["store_id"], last, kept.get("last_instant")])


class SqliteTarget(_End):
    """The file that a store will be in."""

    def __init__(self, path: str, runtime: Runtime) -> None:
        self.shown = self._path = path
        self._runtime = runtime
        self._made = path + ENDING
        if os.path.lexists(path):
            raise InvalidRequest(f"{path} exists: a store is moved to a new file")
        if not files.folder_of(path).is_dir():
            raise InvalidRequest(f"there is no folder {files.folder_of(path)}")
        self._open()

    def _open(self) -> None:
        in_use = "another process moves a store there{}: wait for it, or end it"
        super().__init__(self._made, apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE, in_use)
        for pragma in ("page_size = 4096", "journal_mode = wal", "synchronous = normal"):
            self.connection.execute(f"pragma {pragma}")

    def begin(self, identity: str) -> bool:
        migrate(self.connection, self._runtime)
        found = self.connection.execute("select value from meta where name = ?", (MARK,)).get
        if found != identity:
            self._begin_anew(identity)
        return bool(found == identity)

    def clear(self) -> None:
        self._begin_anew(self.connection.execute("select value from meta where name = ?", (MARK,)).get)

    def _begin_anew(self, identity: str) -> None:
        self.close()
        for end in ("", *files.SIDECARS):
            with suppress(FileNotFoundError):
                os.unlink(self._made + end)
        self._open()
        migrate(self.connection, self._runtime)
        with self.connection:
            self.connection.execute("delete from buckets")
            self.connection.execute("insert into meta values (?, ?)", (MARK, identity))

    def last(self, table: Table) -> Row | None:
        down = ", ".join(f"{column} desc" for column in table.key)
        asked = f"select {', '.join(table.key)} from {table.name} order by {down} limit 1"
        found: Row | None = self.connection.execute(asked).fetchone()
        return found

    def put(self, table: Table, rows: Iterable[Row]) -> None:
        places = ", ".join("?" * len(table.columns))
        with self.connection:
            if table.name in WHOLE:
                kept = "where name <> ?" if table.name == "meta" else "where ?1 = ?1"
                self.connection.execute(f"delete from {table.name} {kept}", (MARK,))
            self.connection.executemany(f"insert into {table.name} values ({places})", rows)

    def write(self, statement: str, given: Iterable[dict[str, object]]) -> None:
        made = catalogue.load()[statement]
        with self.connection:
            self.connection.executemany(made.text, [made.bind(one) for one in given])

    def look(self, look: Verb, *args: Any) -> Any:
        prepared = prepare(self.connection, self.connection.cursor(), remember=False)
        clock = Clock(self._runtime)
        clock.outlive(prepared["last_instant"].one({}).value or 0)
        with self.connection:
            return look(SqliteSnapshot(prepared, clock.instant()), self._runtime, *args)

    def finish(self) -> None:
        self.connection.execute("delete from meta where name = ?", (MARK,))
        self.connection.execute("pragma wal_checkpoint(truncate)").fetchall()
        self.connection.execute("pragma journal_mode = delete").fetchall()
        self.close()
        files.sync(self._made)
        self._runtime.reach("move.placing")
        for end in files.SIDECARS:  # of a store that is gone: SQLite would take them for the new one's
            with suppress(FileNotFoundError):
                os.unlink(self._path + end)
        files.put_in_place(self._made, self._path, replace=False)
        with suppress(FileNotFoundError):
            os.unlink(self._made)
