"""The SQLite store: the one connection that writes, and the transactions it runs verbs in.

Several verbs may share one commit. Counts and events of all are gathered in the `Writer` and written once
before the commit. A verb reads before it writes and never refuses after, so a refusal leaves nothing to undo
and no savepoint is needed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import apsw

from tessera.errors import TesseraError, Unavailable
from tessera.limits import BUSY_SECONDS_MAX, LOST_RACES_MAX, SETTLES_PER_TURN_MAX
from tessera.names import EVENT_NUMBER
from tessera.runtime import Runtime
from tessera.states import READY, STATES
from tessera.storage.clock import Clock
from tessera.storage.migrate import migrate
from tessera.storage.port import LostRace, Overdue, Verb
from tessera.storage.prepared import Remembered, prepare

_SAID_OF: dict[type[Exception], str] = {
    apsw.BusyError: f"another process has held the store's lock for {BUSY_SECONDS_MAX} seconds; try again",
    apsw.CantOpenError: "the store's file cannot be opened or made: look at its path and permissions",
    apsw.CorruptError: "the store's file is damaged: restore a backup",
    apsw.FullError: "the disk is full: make room and try again",
    apsw.NotADBError: "the file is not a SQLite file, so no store",
    apsw.PermissionsError: "the store's file or folder may not be written",
    apsw.ReadOnlyError: "the store's file or folder may not be written",
}
AGAIN = object()  # an attempt's answer: what is settled stays, run the verb again in the next turn


class Job:
    """A verb on its way: what to run, then what came out."""

    __slots__ = ("args", "future", "outcome", "ran", "settled", "verb")

    def __init__(self, verb: Verb, args: tuple[Any, ...]) -> None:
        self.verb = verb
        self.args = args
        self.future: Future[Any] = Future()
        self.outcome: Any = None
        self.ran = False
        self.settled = 0


def connect(path: str, *, read_only: bool = False) -> apsw.Connection:
    """A connection set up as measured in docs/performance.md: WAL, every commit synced, stable plans."""
    flags = apsw.SQLITE_OPEN_READWRITE | (0 if read_only else apsw.SQLITE_OPEN_CREATE)
    connection = apsw.Connection(path, flags=flags, statementcachesize=512)
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)  # else STAT4 re-prepares at every bind
    connection.config(apsw.SQLITE_DBCONFIG_DQS_DML, 0)  # a misspelt column is no string
    connection.set_busy_timeout(int(BUSY_SECONDS_MAX * 1_000))
    connection.execute("pragma page_size = 4096")
    _use_wal(connection)
    for pragma in (
        "synchronous = full",
        "cache_size = -65536",
        "wal_autocheckpoint = 4000",
        "temp_store = memory",
        "foreign_keys = off",  # what they name is checked by the verbs, once
        f"query_only = {int(read_only)}",
    ):
        connection.execute(f"pragma {pragma}")
    return connection


def _use_wal(connection: apsw.Connection) -> None:
    """Of two that turn a new file to WAL at once SQLite refuses one without letting it wait: it waits for the
    other's lock here, then looks again.
    """
    for tries_left in reversed(range(LOST_RACES_MAX)):
        try:
            connection.execute("pragma journal_mode = wal")
            return
        except apsw.BusyError:
            if not tries_left:
                raise
            connection.execute("begin immediate")
            connection.execute("rollback")


def refusal_of(error: Exception) -> TesseraError:
    """What the caller is told of an exception that no verb raises on purpose."""
    for kind, detail in _SAID_OF.items():
        if isinstance(error, kind):
            return Unavailable(detail, definite=True)
    return TesseraError()


class SqliteTransaction:
    """One verb's view of the open transaction."""

    __slots__ = ("_changes", "_counts", "_events", "_prepared", "_writer", "now", "settled", "wrote")

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._prepared = writer.prepared
        self._changes = writer.connection.changes
        self._counts = writer.counts
        self._events = writer.events
        self.renew(0)

    def renew(self, settled: int) -> None:
        """Stand for the next verb: its own instant, nothing written yet. (Cheaper than a new object per
        verb.)
        """
        self.now = self._writer.clock.instant()
        self.settled = settled
        self.wrote = False

    def one(self, name: str, /, **params: object) -> Any:
        assert not self.wrote, f"read {name} after the first write"
        return self._prepared[name].one(params)

    def all(self, name: str, /, **params: object) -> list[Any]:
        assert not self.wrote, f"read {name} after the first write"
        return self._prepared[name].all(params)

    def write(self, name: str, /, **params: object) -> None:
        self.wrote = True
        self._prepared[name].write(params)
        if self._changes() == 0:
            raise LostRace(name)

    def save(self, name: str, row: Any) -> None:
        self.wrote = True
        self._prepared[name].save(row)
        if self._changes() == 0:
            raise LostRace(name)

    def count(self, queue: int, came_from: int | None, goes_to: int, tasks: int = 1) -> None:
        counts = self._counts[queue]
        if came_from is not None:
            counts[came_from] -= tasks
        counts[goes_to] += tasks
        if goes_to == READY:
            self._writer.ready.add(queue)

    def event(
        self, type_name: str, queue: int | None = None, task_id: str | None = None, worker: str | None = None,
        fencing_token: int | None = None, key_id: str | None = None, data: str | None = None,
    ) -> None:  # fmt: skip
        self._events.append(
            (self.now, EVENT_NUMBER[type_name], queue, task_id, worker, fencing_token, key_id, data)
        )

    def alarm(self, queue: int, at: int) -> None:
        alarms = self._writer.alarms
        if at < alarms.get(queue, 0):
            alarms[queue] = at

    def quiet(self, queue: int) -> bool:
        return self.now < self._writer.alarms.get(queue, 0)

    def quiet_until(self, queue: int, at: int) -> None:
        self._writer.alarms[queue] = at

    def ready(self, queue: int) -> None:
        self._writer.ready.add(queue)

    def after_commit(self, tell: Callable[[], None]) -> None:
        self._writer.after.append(tell)


class Writer:
    """The connection that writes, and what its open transaction has gathered."""

    def __init__(self, path: str, runtime: Runtime) -> None:
        self.runtime = runtime
        self.clock = Clock(runtime)
        try:
            self.connection = connect(path)
            migrate(self.connection, runtime)
            # One cursor: each use resets the last, at half the cost of a new one.
            self.execute = self.connection.cursor().execute
            self.prepared = prepare(self.connection, self.execute, remember=True)
        except apsw.Error as error:
            raise refusal_of(error) from error
        self.counts: dict[int, list[int]] = defaultdict(lambda: [0] * len(STATES))  # queue -> change by state
        self.events: list[tuple[object, ...]] = []
        self.ready: set[int] = set()  # queues that gained a task to claim
        self.after: list[Callable[[], None]] = []
        self.alarms: dict[int, int] = {}  # queue -> nothing in it is due before this instant; absent: unknown
        self._foreign_version: int | None = None
        self._changes_before = 0
        self._transaction = SqliteTransaction(self)

    def begin(self) -> None:
        """Take the write lock; if another process has written since, nothing remembered counts."""
        try:
            self.execute("begin immediate")
        except apsw.BusyError as error:
            raise refusal_of(error) from error
        self._changes_before = self.connection.total_changes()
        version = self.execute("pragma data_version").get
        if version != self._foreign_version:
            self._foreign_version = version
            self.forget()
            last = self.prepared["last_instant"].one({})
            self.clock.outlive(0 if last is None else last.value)

    def attempt(self, job: Job) -> Any:
        """Run a verb in the open transaction, settling first what it finds overdue. A refusal is an answer;
        so is AGAIN, when more has fallen due than one turn may settle.
        """
        tx = self._transaction
        for _ in range(SETTLES_PER_TURN_MAX):
            tx.renew(job.settled)
            try:
                return job.verb(tx, self.runtime, *job.args)
            except Overdue as overdue:
                assert not tx.wrote, "a verb may not find something overdue after its first write"
                tx.renew(job.settled)
                job.settled += overdue.settle(tx, self.runtime)
            except TesseraError as refusal:
                assert not tx.wrote, "a verb may not refuse after its first write"
                return refusal
        return AGAIN

    def commit(self) -> None:
        """Write counts, events and the instant; commit."""
        self._flush()
        self.runtime.reach("commit.before")
        self.execute("commit")
        self.runtime.reach("commit.written")
        after, self.after = self.after, []
        self.ready.clear()
        for tell in after:
            tell()

    def rollback(self) -> None:
        """Undo the open transaction, and with it all that memory may have learned inside it."""
        if self.connection.in_transaction:
            self.execute("rollback")
        self.counts.clear()
        self.events.clear()
        self.after.clear()
        self.ready.clear()
        self.forget()

    def forget(self) -> None:
        """Drop everything remembered."""
        self.alarms.clear()
        for statement in self.prepared.values():
            if isinstance(statement, Remembered):
                statement.rows.clear()

    def close(self) -> None:
        """Let go of the file."""
        self.connection.close()

    def _flush(self) -> None:
        """What the transaction has gathered, once."""
        if self.connection.total_changes() == self._changes_before and not self.events:
            return
        change_counts = self.prepared["change_counts"]
        for queue, changes in self.counts.items():
            change_counts.write({"queue": queue, **dict(zip(STATES, changes, strict=True))})
        self.counts.clear()
        if self.events:
            self.connection.executemany(self.prepared["append_event"].text, self.events)
            self.events.clear()
        self.prepared["set_meta"].write({"name": "last_instant", "value": self._transaction.now})
