"""A PostgreSQL database, as the one end or the other of a move.

Where a store goes to has a mark until all is in it, and no node opens a database with that mark.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import psycopg

from tessera.canonical import json_text
from tessera.errors import InvalidRequest, Unavailable
from tessera.runtime import Runtime
from tessera.storage import catalogue
from tessera.storage.moving.tables import DERIVED, MARK, WHOLE, Row, Table, after, tables
from tessera.storage.port import Verb
from tessera.storage.postgres.connection import Dsn, connect, refusal_of
from tessera.storage.postgres.database import Database
from tessera.storage.postgres.migrate import ADVISORY_CLASS, MOVING, migrate
from tessera.storage.postgres.readers import Readers

_WHO: Final = "tessera migrate-store"
_SESSION: Final = {
    "application_name": _WHO,
    "statement_timeout": "0",
    "idle_in_transaction_session_timeout": "0",
    "lock_timeout": "5s",
}
_ROWS_AT_ONCE, _HEAVY_AT_ONCE = 2_000, 16  # that a cursor fetches: a document has up to a MiB
_NUMBERED: Final = (
    "select table_name, column_name from information_schema.columns "
    "where table_schema = current_schema() and is_identity = 'YES' order by 1"
)
_OTHERS: Final = (
    "select count(*) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() "
    "and application_name like 'tessera%%' and application_name <> %s"
)


@contextmanager
def told() -> Iterator[None]:
    """What the database refuses is told in our words; it changed nothing."""
    try:
        yield
    except psycopg.errors.LockNotAvailable as error:
        raise _in_use() from error
    except psycopg.Error as error:
        raise refusal_of(error) from error


def _in_use() -> Unavailable:
    return Unavailable("the database is in use: stop every node that serves it, then move", definite=True)


class _End:
    """A connection to a database that no node serves."""

    def __init__(self, url: str, runtime: Runtime) -> None:
        self._runtime = runtime
        self._dsn = Dsn(url)
        self.shown = self._dsn.shown
        self.connection, _ = connect(self._dsn, _SESSION)
        self.connection.cursor_factory, self.connection.prepare_threshold = psycopg.Cursor, None
        try:
            with told():
                if not self._ask("select pg_try_advisory_lock(%s::int4, %s::int4)", ADVISORY_CLASS, MOVING):
                    raise Unavailable("another process moves a store there: wait for it", definite=True)
                if self._ask(_OTHERS, _WHO):
                    raise _in_use()
                migrate(self.connection, runtime, whole=False)
        except BaseException:
            self.close()
            raise

    def rows(self, table: Table, start: Row | None = None) -> Iterator[Row]:
        values = "value, words" if table.name == "meta" else ", ".join(table.columns[1:])
        asked = f"select {table.columns[0]}, {values} from {table.name} {after(table, start, lambda _: '%s')}"
        with told(), self.connection.transaction(), self.connection.cursor("moving") as cursor:
            cursor.itersize = _HEAVY_AT_ONCE if table.is_heavy else _ROWS_AT_ONCE
            for row in cursor.execute(asked.encode(), start or ()):
                if table.name != "meta":
                    yield row
                elif row[0] != MARK:
                    name, number, words = row
                    yield (name, number if words is None else words)

    def close(self) -> None:
        self.connection.close()

    def _identity(self) -> str:
        """Which store is here, and how far it has come."""
        return json_text([
            self._ask("select words from meta where name = 'store_id'"),
            self._ask("select max(seq) from events"),
            self._ask("select value from meta where name = 'last_instant'"),
        ])  # fmt: skip

    def _ask(self, question: str, *given: object) -> Any:
        row = self.connection.execute(question.encode(), given).fetchone()
        return None if row is None else row[0]


class PostgresSource(_End):
    """The database that a store is in, of one instant; its tables take no write until this is closed."""

    def __init__(self, url: str, runtime: Runtime) -> None:
        super().__init__(url, runtime)
        try:
            with told():
                if self._ask("select words from meta where name = %s", MARK) is not None:
                    raise Unavailable(
                        "there is only part of a store: a move to here was cut off", definite=True
                    )
                self.connection.execute("begin isolation level repeatable read")
                for table in tables():
                    name = _kept_in(table)
                    self.connection.execute(f"lock table {name} in share mode".encode())
                self.identity = self._identity()
        except BaseException:
            self.close()
            raise

    def count(self, table: Table) -> int:
        with told():
            found: int = self._ask(f"select count(*) from {table.name}")
        return found


class PostgresTarget(_End):
    """The database that a store will be in."""

    def begin(self, identity: str) -> bool:
        with told():
            found = self._ask("select words from meta where name = %s", MARK)
            if found is None:
                self._refuse_filled(identity)
            if found != identity:
                with self.connection.transaction():
                    self.clear()
                    self.connection.execute(
                        "insert into meta (name, words) values (%s, %s) "
                        "on conflict (name) do update set words = excluded.words",
                        (MARK, identity),
                    )
        return bool(found == identity)

    def _refuse_filled(self, identity: str) -> None:
        """Refuse a store in which something was done; one that a node has just made is as good as none."""
        for table in tables():
            if table.name not in WHOLE:
                new = " where created_at is not null" if table.name == "buckets" else ""
                if self._ask(f"select exists (select from {table.name}{new})"):
                    raise InvalidRequest(
                        "the database holds a store already: "
                        + ("this one, whole; the move is complete" if identity == self._identity()
                           else "name an empty database")
                    )  # fmt: skip

    def clear(self) -> None:
        names = ", ".join([*(_kept_in(table) for table in tables() if table.name not in WHOLE), *DERIVED])
        with told():
            self.connection.execute(f"truncate {names}".encode())

    def last(self, table: Table) -> Row | None:
        down = ", ".join(f"{column} desc" for column in table.key)
        asked = f"select {', '.join(table.key)} from {table.name} order by {down} limit 1"
        with told():
            return self.connection.execute(asked.encode()).fetchone()

    def put(self, table: Table, rows: Iterable[Row]) -> None:
        columns = list(table.columns)
        if table.name == "meta":
            columns.append("words")
            rows = [
                (name, *((None, value) if isinstance(value, str) else (value, None))) for name, value in rows
            ]
        elif table.name == "counts":
            columns.append("slot")
            rows = [(*row, 0) for row in rows]
        where = f"{_kept_in(table)} ({', '.join(columns)})"
        with told(), self.connection.transaction(), self.connection.cursor() as cursor:
            if table.name in WHOLE:
                kept = b" where name <> 'moving'" if table.name == "meta" else b""
                cursor.execute(f"delete from {table.name}".encode() + kept)
            with cursor.copy(f"copy {where} from stdin".encode()) as copy:
                for row in rows:
                    if any(isinstance(value, str) and "\0" in value for value in row):
                        raise InvalidRequest(
                            f"the row {table.key_of(row)} of {table.name} holds the character U+0000, which "
                            "PostgreSQL does not keep: this store cannot be moved there"
                        )
                    copy.write_row(row)

    def write(self, statement: str, given: Iterable[dict[str, object]]) -> None:
        made = catalogue.load(dialect=catalogue.POSTGRES)[statement]
        with told(), self.connection.transaction():
            psycopg.RawCursor(self.connection).executemany(made.text, [made.bind(one) for one in given])

    def look(self, look: Verb, *args: Any) -> Any:
        database = Database(self._dsn, self._runtime)
        readers = Readers(database)
        try:
            return readers.read(look, *args)
        finally:
            readers.close()
            database.close()

    def finish(self) -> None:
        """Numbers go on behind the last, results also behind the epoch. Then it is a store, in one commit."""
        with told():
            with self.connection.transaction():
                for table, column in self.connection.execute(_NUMBERED.encode()).fetchall():
                    self._go_on(table, column)
                self.connection.execute("update generation set generation = generation + 1")
                self.connection.execute("delete from meta where name = %s", (MARK,))
            self._runtime.reach("move.placing")
            self.connection.execute("analyze")  # else the server knows nothing of the rows for a minute

    def _go_on(self, table: str, column: str) -> None:
        epoch = "(select value from meta where name = 'epoch')" if table == "results" else "null"
        self._ask(
            f"select setval(pg_get_serial_sequence('{table}', '{column}'), "
            f"coalesce(greatest(max({column}), {epoch}), 1), greatest(max({column}), {epoch}) is not null) "
            f"from {table}"
        )


def _kept_in(table: Table) -> str:
    """The table that a view's rows are kept in, or the table itself."""
    return "count_slots" if table.name == "counts" else table.name
