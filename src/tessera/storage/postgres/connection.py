"""A connection to PostgreSQL: how it is made and set up, and what its errors are called outside."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, cast

import msgspec
import psycopg
from psycopg import errors
from psycopg.abc import RV, PQGen
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.types.numeric import Int8Dumper

from tessera.errors import InvalidRequest, TesseraError, Unavailable
from tessera.limits import (
    CONNECT_SECONDS_MAX,
    IDLE_LOOK_SECONDS_MAX,
    IDLE_VERB_SECONDS_MAX,
    LOCK_SECONDS_MAX,
    LOOK_STATEMENT_SECONDS_MAX,
    STATEMENT_SECONDS_MAX,
)
from tessera.rows import Row
from tessera.storage import catalogue
from tessera.storage.catalogue import Statement
from tessera.storage.migrate import UPGRADED
from tessera.storage.port import LostRace
from tessera.storage.postgres import rows
from tessera.storage.postgres.migrate import PLANS
from tessera.storage.postgres.rows import Session
from tessera.storage.postgres.shown import shown

log = logging.getLogger("tessera.storage")

VERSION_LEAST: Final = 150_000
ENCODING: Final = "UTF8"  # of the database: any other lacks characters that a document may hold
ENGINE: Final = catalogue.load(Path(__file__).parent / "sql", catalogue.POSTGRES, rows)

# Every connection, and how long each thing may take, in milliseconds.
_LOOK_SECONDS: Final = 0.1  # how often whoever waits for an answer looks whether it is time to give up
_ALWAYS: Final = {
    "lock_timeout": f"{LOCK_SECONDS_MAX * 1_000}",
    "default_transaction_isolation": "read committed",
    "jit": "off",
}
# One that runs verbs, whose plans do not change with statistics.
SESSION: Final = {
    **_ALWAYS,
    **PLANS,
    "statement_timeout": f"{STATEMENT_SECONDS_MAX * 1_000}",
    # A process that stops while it holds what everybody needs is not waited for.
    "idle_in_transaction_session_timeout": f"{IDLE_VERB_SECONDS_MAX * 1_000}",
}
# One that looks, perhaps for long and at everything.
LOOKING: Final = {
    **_ALWAYS,
    "statement_timeout": f"{LOOK_STATEMENT_SECONDS_MAX * 1_000}",
    "idle_in_transaction_session_timeout": f"{IDLE_LOOK_SECONDS_MAX * 1_000}",
}


class Connection(psycopg.Connection[tuple[Any, ...]]):
    """A connection that keeps what the server has warned of."""

    def __init__(self, *given: Any, **settings: Any) -> None:
        super().__init__(*given, **settings)
        self.warnings: list[str] = []
        self.is_new = True  # not set up yet: then no answer is waited for without bound
        self.add_notice_handler(self._note)

    def wait(
        self, gen: PQGen[RV], interval: float = _LOOK_SECONDS, timeout: float | None = None
    ) -> RV:  # fmt: skip
        return super().wait(_bounded(gen, interval) if self.is_new else gen, interval, timeout)

    def _note(self, notice: errors.Diagnostic) -> None:
        if notice.severity_nonlocalized == "WARNING":
            self.warnings.append(str(notice.message_primary))


def _bounded(gen: PQGen[RV], interval: float) -> PQGen[RV]:
    """The same, given up after a time of silence: a pooler that has no connection left to the database takes
    what is asked, and lets it wait.
    """
    silent = 0.0
    wanted = next(gen)
    while True:
        ready = yield wanted
        silent = 0 if ready else silent + interval
        if silent > CONNECT_SECONDS_MAX:
            raise psycopg.OperationalError(
                f"it took the connection and then was silent for {CONNECT_SECONDS_MAX} s, as a pooler does "
                "that has none left"
            )
        try:
            wanted = gen.send(ready)
        except StopIteration as end:
            return cast(RV, end.value)


class FlagDumper(Int8Dumper):
    """A truth value as the store keeps it: 0 or 1."""

    def dump(self, obj: object) -> bytes:
        return b"1" if obj else b"0"


class Lost(Exception):
    """The connection is gone, and with it the transaction that was open on it."""


class UnknownOutcome(Unavailable):
    """The verbs of a transaction were carried out, or were not."""


class Dsn:
    """Where a store is: a libpq URL, one host or several. Shown without its password."""

    def __init__(self, url: str) -> None:
        try:
            given = conninfo_to_dict(url)
        except psycopg.Error:
            given = None
        if given is None:  # libpq's own words may repeat a piece of a password
            raise InvalidRequest("the PostgreSQL URL cannot be read: postgresql://user@host:port/database")
        self._secrets = [str(given[name]) for name in ("password", "sslpassword") if given.get(name)]
        self.shown = shown(url)
        settings: dict[str, Any] = (
            {
                "application_name": "tessera",
                "connect_timeout": CONNECT_SECONDS_MAX,
                "keepalives_idle": 30,
                "keepalives_interval": 5,
                "keepalives_count": 3,
                "tcp_user_timeout": 20_000,
                "target_session_attrs": "read-write",  # with several hosts: the one that is primary now
            }
            | given
            | {"client_encoding": "utf8"}
        )
        self.conninfo = make_conninfo("", **settings)

    def cleaned(self, text: str) -> str:
        """A text without the URL's secrets."""
        for secret in self._secrets:
            text = text.replace(secret, "***")
        return text


def connect(dsn: Dsn, settings: Mapping[str, str] = SESSION) -> tuple[Connection, Session]:
    """A connection that is set up, and who it is. Refuses with `unavailable`, in words that hold no
    secret.
    """
    try:
        connection = Connection.connect(
            dsn.conninfo, autocommit=True, cursor_factory=psycopg.RawCursor, prepare_threshold=0
        )
    except psycopg.Error as error:
        raise _unreachable(dsn, error) from None
    try:
        connection.prepared_max = None
        connection.adapters.register_dumper(int, Int8Dumper)  # one type, so one plan, for every number
        connection.adapters.register_dumper(bool, FlagDumper)
        configure, session = ENGINE["configure"], ENGINE["session"]
        connection.execute(configure.text, [msgspec.json.encode(settings).decode()], prepare=False)
        found = connection.execute(session.text, prepare=False).fetchone()
        assert found is not None
        who = Session(*found)
        if who.version < VERSION_LEAST:
            raise Unavailable(
                f"PostgreSQL 15 or newer is needed, this is {who.version // 10_000}", definite=True
            )
        if who.encoding != ENCODING:
            raise Unavailable(
                f"the database's encoding is {who.encoding}, and a store needs {ENCODING}: make another one "
                "with createdb -E UTF8 -T template0",
                definite=True,
            )
        if who.commits == "off":  # then an answer would not survive a power cut
            connection.execute(configure.text, ['{"synchronous_commit": "on"}'], prepare=False)
        connection.is_new = False
    except psycopg.Error as error:
        connection.close()
        if error.sqlstate is None:
            raise _unreachable(dsn, error) from None
        raise refusal_of(error) from error
    except TesseraError:
        connection.close()
        raise
    return connection, who


def _unreachable(dsn: Dsn, error: psycopg.Error) -> Unavailable:
    """Where the database is, and what it said, is the business of whoever runs the store."""
    says = " ".join(dsn.cleaned(str(error)).split())
    return Unavailable("the database cannot be reached; try again", definite=True, inside=says)


def is_lost(connection: Connection, error: BaseException) -> bool:
    """Whether an error means that the connection is of no use any more."""
    return connection.closed or (isinstance(error, psycopg.OperationalError) and not error.sqlstate)


# The last one says that a statement for many rows has not changed them all.
_CONFLICTS = (
    errors.SerializationFailure,
    errors.DeadlockDetected,
    errors.UniqueViolation,
    errors.DivisionByZero,
)
LENT: Final = (
    "a pooler lends the database's connections by the transaction: set pool_mode = session, or name the "
    "database itself"
)
_SAID_OF: dict[type[Exception], str] = {
    errors.DuplicatePreparedStatement: LENT,
    errors.InvalidSqlStatementName: LENT,
    errors.LockNotAvailable: f"others have held the rows for {LOCK_SECONDS_MAX} seconds; try again",
    errors.QueryCanceled: "the database took too long; try again",
    errors.FeatureNotSupported: UPGRADED,  # by a prepared statement whose rows have grown
    errors.DiskFull: "the database's disk is full: make room and try again",
    errors.InsufficientPrivilege: "the database user may not do this: it must own the store's tables",
    errors.TooManyConnections: "the database takes no more connections; try again",
    errors.ReadOnlySqlTransaction: "the database takes no writes now; try again",
}


def conflict_of(error: Exception) -> Exception:
    """What a database error means for a verb: a lost race, if the same verb may well go through when it is
    run again; else the error.
    """
    return LostRace(type(error).__name__) if isinstance(error, _CONFLICTS) else error


def refusal_of(error: Exception) -> TesseraError:
    """What the caller is told of an exception that no verb raises on purpose. Nothing was changed."""
    if isinstance(error, psycopg.DataError) and _is_of_nul(error):
        return InvalidRequest(
            "a text holds the character U+0000, which PostgreSQL does not keep: leave it out"
        )
    if isinstance(error, errors.UntranslatableCharacter | errors.CharacterNotInRepertoire):
        return InvalidRequest("a text holds a character that the database does not keep: leave it out")
    for kind, detail in _SAID_OF.items():
        if isinstance(error, kind):
            return Unavailable(detail, definite=True)
    if isinstance(error, psycopg.OperationalError | psycopg.InterfaceError | Lost):
        return Unavailable("the database does not answer; try again", definite=True)
    return TesseraError()


def _is_of_nul(error: psycopg.DataError) -> bool:
    """Whether U+0000 is what was refused: here, in a text, or in a JSON text; a server says so in any of its
    languages.
    """
    primary, detail = error.diag.message_primary or "", error.diag.message_detail or ""
    return "NUL" in str(error) or "\\u0000" in detail or primary.endswith(": 0x00")


Execute = Callable[[str, Any], "psycopg.Cursor[tuple[Any, ...]]"]


class Prepared:
    """A statement as verbs name it: how it binds and what it answers with. It runs on whatever connection its
    user has at that moment.
    """

    __slots__ = ("as_rows", "bind", "columns", "lock", "make", "name", "params", "row", "text", "until")

    def __init__(self, statement: Statement) -> None:
        self.name = statement.name
        self.text = statement.text
        self.params = statement.params
        self.bind = statement.bind
        self.row: Callable[..., Any] = statement.row or tuple
        self.make = _maker(statement.row)
        self.columns = len(statement.row.__struct_fields__) if statement.row else None
        self.until = statement.remembered_until
        self.as_rows = statement.as_rows
        locks = statement.locks
        self.lock = None if locks is None else Prepared(replace(locks, name=f"lock_{locks.name}"))

    def one(self, execute: Execute, params: dict[str, object]) -> Any:
        row = execute(self.text, self.bind(params)).fetchone()
        return None if row is None else self.make(row)

    def run(self, execute: Execute, params: dict[str, object]) -> None:
        execute(self.text, self.bind(params))


def _maker(row: type[Row] | None) -> Callable[[Sequence[Any]], Any]:
    if row is None:
        return tuple
    return lambda columns: row(*columns)
