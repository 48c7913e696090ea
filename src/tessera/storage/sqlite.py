"""The SQLite store: the one connection that writes, and the transactions it runs verbs in.

Several verbs may share one commit. Counts and events of all are gathered and written once before the commit.
A verb reads before it writes and never refuses after, so a refusal leaves nothing to undo and no savepoint is
needed. A commit here syncs nothing: when its verbs may be answered is `wal.py`'s word.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import apsw

from tessera.errors import TesseraError
from tessera.limits import SETTLES_PER_TURN_MAX
from tessera.runtime import Runtime
from tessera.states import STATES
from tessera.storage.checkpoints import AfterCommits
from tessera.storage.clock import Clock
from tessera.storage.connection import Busy, connect, refusal_of
from tessera.storage.gathered import EVENT_FIELDS, Gathered, GatheringTransaction
from tessera.storage.jobs import AGAIN, Job, run_grouped
from tessera.storage.migrate import migrate
from tessera.storage.port import LostRace, News, Overdue, Verb
from tessera.storage.prepared import Remembered, prepare
from tessera.storage.wal import Wal

log = logging.getLogger("tessera.storage")


class SqliteTransaction(GatheringTransaction):
    """One verb's view of the open transaction."""

    __slots__ = ("_changes", "_prepared", "_writer")

    def __init__(self, writer: Writer) -> None:
        super().__init__(writer.gathered)
        self._writer = writer
        self._prepared = writer.prepared
        self._changes = writer.connection.changes
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

    def save_all(self, name: str, rows: Sequence[Any]) -> None:
        self.wrote = True
        if self._prepared[name].save_all(rows) != len(rows):
            raise LostRace(name)

    def alarm(self, queue: int, at: int) -> None:
        alarms = self._writer.alarms
        if at < alarms.get(queue, 0):
            alarms[queue] = at

    def quiet(self, queue: int) -> bool:
        return self.now < self._writer.alarms.get(queue, 0) or queue in self.passed_over

    def quiet_until(self, queue: int, at: int) -> None:
        self._writer.alarms[queue] = at


class Writer:
    """The connection that writes, and what its open transaction has gathered. One thread at a time."""

    def __init__(self, path: str, runtime: Runtime, *, on_loop: bool = False) -> None:
        self.runtime = runtime
        self.clock = Clock(runtime)
        try:
            self.connection = connect(path)
            migrate(self.connection, runtime)
            self.wal = Wal(path, runtime)
            if on_loop:  # then nothing here may wait, and checkpoints have a thread
                self.connection.set_busy_timeout(0)
                self.connection.execute("pragma wal_autocheckpoint = 0")
            else:
                AfterCommits(self.connection)
            cursor = self.connection.cursor()
            self.execute, self.execute_all = cursor.execute, cursor.executemany
            self.prepared = prepare(self.connection, cursor, remember=True)
        except apsw.Error as error:
            raise refusal_of(error) from error
        self._change_counts = self.prepared["change_counts"].text_for(*STATES, "queue")
        self._append_event = self.prepared["append_event"].text_for(*EVENT_FIELDS)
        self.gathered = Gathered()
        self.watch: Callable[[News], None] | None = None
        self._foreign = False  # another process has written, and nobody has been told
        self.alarms: dict[int, int] = {}  # queue -> nothing in it is due before this instant; absent: unknown
        self.open = False
        self._seen = 0  # the last commit that a verb here may have seen
        self._own_version: int | None = None  # of the file, as our last commit left it
        self._changes_before = 0
        self._transaction = SqliteTransaction(self)

    def begin(self) -> None:
        """Take the write lock; if another process has written since, nothing remembered counts. Refuses with
        `Busy` while another process holds the lock.
        """
        try:
            self.execute("begin immediate")
            self.open = True
            self._changes_before = self.connection.total_changes()
            if self.connection.data_version() != self._own_version:
                self._seen = self.wal.commit()
                self._foreign = True
                self.forget()
                self.clock.outlive(self.prepared["last_instant"].one({}).value or 0)
        except apsw.BusyError as error:
            raise Busy(str(refusal_of(error)), definite=True) from error
        except apsw.Error as error:
            self.rollback()
            log.warning("no transaction could begin: %s", error)
            raise refusal_of(error) from error

    def attempt(self, jobs: list[Job]) -> None:
        """Run verbs in the open transaction, one after the other; several of one verb that has a form for
        many callers run as one. A refusal is an outcome; so is AGAIN, when more is overdue than one turn may
        settle.
        """
        run_grouped(jobs, self._settling)

    def _settling(self, job: Job, verb: Verb, args: tuple[Any, ...]) -> Any:
        """Run a verb, settling first what it finds overdue."""
        tx = self._transaction
        tx.passed_over.clear()
        for _ in range(SETTLES_PER_TURN_MAX):
            tx.renew(job.settled)
            try:
                return verb(tx, self.runtime, *args)
            except Overdue as overdue:
                assert not tx.wrote, "a verb may not find something overdue after its first write"
                tx.renew(job.settled)
                job.settled += overdue.settle(tx, self.runtime)
            except TesseraError as refusal:
                assert not tx.wrote, "a verb may not refuse after its first write"
                return refusal
        return AGAIN

    def commit(self) -> int:
        """Write counts, events and the instant; commit. Returns the number of the commit that must be on disk
        before any verb of this transaction is answered: its own, or the last one that it could see.
        """
        gathered = self.gathered
        if self.watch is not None and (gathered.ready or gathered.events or self._foreign):
            news = gathered.news(self._queue_name, foreign=self._foreign)
            gathered.after.append(partial(self.watch, news))
            self._foreign = False
        wrote = self._flush()
        self.runtime.reach("commit.before")
        self.execute("commit")
        if wrote:
            self._seen = self.wal.commit()
        self._own_version = self.connection.data_version()  # an interrupt before: it counts as another's
        self.open = False
        gathered.committed()
        self.runtime.reach("commit.written")
        return self._seen

    def tell(self) -> None:
        """Call what waited for the commits. May run the next verb, so an engine calls this last."""
        for call in self.gathered.to_call():
            call()

    def rollback(self) -> None:
        """Undo the open transaction, and with it all that memory may have learned inside it."""
        if self.connection.in_transaction:
            self.execute("rollback")
        self.open = False
        self.gathered.clear()
        self._foreign = True  # whoever waits looks once too often rather than once too seldom
        self.forget()

    def forget(self) -> None:
        """Drop everything remembered."""
        self.alarms.clear()
        for statement in self.prepared.values():
            if isinstance(statement, Remembered):
                statement.rows.clear()

    def close(self) -> None:
        """Let go of the file."""
        self.wal.close()
        self.connection.close()

    def _queue_name(self, queue: int) -> str:
        name: str = self.prepared["queue_numbered"].one({"queue": queue}).name
        return name

    def _flush(self) -> bool:
        """Write what the transaction has gathered, once. Returns whether the transaction changes anything."""
        events = self.gathered.events
        if not events and self.connection.total_changes() == self._changes_before:
            return False
        for queue, changes in self.gathered.counts.items():
            self.execute(self._change_counts, (*changes, queue))
        if events:
            self.execute_all(self._append_event, events)
        else:  # an event would tell the instant
            self.prepared["set_meta"].write({"name": "last_instant", "value": self._transaction.now})
        return True
