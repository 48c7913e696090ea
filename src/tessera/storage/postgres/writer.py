"""A connection that runs verbs, and the transactions it runs them in.

A transaction takes its locks before its instant is read: those of the tasks its verbs name with `begin`,
those of rows that a verb reads besides when it reads them; the verb then starts over. Its writes travel with
the next thing asked, and are looked at together: one that changed no row has lost a race, and all is undone.
Counts, the proof of the commit and the lines of the log come last, so that what everybody touches is held for
a moment only.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from operator import attrgetter
from typing import Any

import psycopg

from tessera.canonical import json_text
from tessera.errors import TesseraError
from tessera.limits import RELOCKS_MAX, REMEMBERED_ROWS_MAX, SETTLES_PER_TURN_MAX
from tessera.rows import Descendant, NamedTask, TaskRow
from tessera.states import STATES
from tessera.storage.jobs import AGAIN, Job, grouped
from tessera.storage.port import LostRace, Overdue
from tessera.storage.postgres.connection import (
    Lost,
    Prepared,
    conflict_of,
    is_lost,
)
from tessera.storage.postgres.foresight import Read, foreseen
from tessera.storage.postgres.home import Home
from tessera.storage.postgres.link import Asked, Link
from tessera.storage.postgres.naming import Named
from tessera.storage.postgres.proof import committed
from tessera.storage.postgres.telling import heard_by_others, news_of
from tessera.storage.postgres.transaction import PostgresTransaction

log = logging.getLogger("tessera.storage")

TASKS = (TaskRow, NamedTask, Descendant)  # rows that a verb may decide by only once they are locked
# Statements that lock what they answer with, and pass over what others have locked.
SKIPPING = frozenset({"next_ready", "next_ready_in_lanes", "lapsed_in_queue", "due_in_queue"})


class Unlocked(Exception):
    """A verb has read what its transaction has not locked: lock it, then run the verb again."""

    def __init__(
        self, serials: Iterable[int] = (), *, lock: tuple[str, tuple[object, ...], Prepared] | None = None,
        not_before: int = 0,
    ) -> None:  # fmt: skip
        super().__init__("not locked yet")
        self.serials = list(serials)
        self.lock = lock
        self.not_before = not_before  # an instant that a row has seen


class Writer:
    """One thread at a time."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self.runtime = home.runtime
        self.link: Link | None = None
        self.now = 0
        self.counts: dict[int, list[int]] = defaultdict(lambda: [0] * len(STATES))  # queue -> change by state
        self.events: list[tuple[Any, ...]] = []
        self.ready: set[int] = set()  # queues that gained a task to claim
        self.after: list[Callable[[], None]] = []
        self._name = ""
        self._number = 0  # of the last transaction that left a mark
        self._generation = -1
        self._memory: dict[str, dict[tuple[object, ...], Any]] = {}
        self._locked: set[int] = set()  # tasks, by serial
        self._locks: set[tuple[str, tuple[object, ...]]] = set()  # what else: by statement and parameters
        self._seen: dict[tuple[str, tuple[object, ...]], list[Any]] = {}  # what was read since the last write
        self._writes: list[Asked] = []  # to be looked at
        self._wrote = False
        self._bump = False
        self._transaction = PostgresTransaction(self)

    def run(self, jobs: list[Job]) -> None:
        """Run verbs in one transaction; their outcomes are there, and durable, when this returns. Raises
        `LostRace` or `Lost` when nothing has come of it and the verbs may be run again, `UnknownOutcome` when
        nobody knows, or what went wrong.
        """
        try:
            self._begin(jobs)
            self._attempt(jobs)
            self._commit()
        except BaseException as error:
            lost = self._undo()
            if lost:
                raise Lost from error
            if isinstance(error, psycopg.Error):
                raise conflict_of(error) from error
            raise
        self.home.counted.committed(len(jobs))
        after, self.after = self.after, []
        for call in after:
            call()

    def close(self) -> None:
        """Let go of the connection."""
        link, self.link = self.link, None
        if link is not None:
            try:
                if self._number and not link.connection.closed:
                    link.run(self.prepared("remove_marks"), (self._name,))
            except psycopg.Error:
                log.debug("a mark was left behind", exc_info=True)
            link.connection.close()

    def prepared(self, name: str) -> Prepared:
        """A statement by its name."""
        return self.home.prepared[name]

    # What a transaction's verbs ask for.

    def one(self, name: str, params: dict[str, object]) -> Any:
        """A statement's only row, or None."""
        statement = self.home.prepared[name]
        if statement.until:
            return self._remembered(statement, params)
        rows = self._rows(statement, params)
        return rows[0] if rows else None

    def all(self, name: str, params: dict[str, object]) -> list[Any]:
        """Every row of a statement."""
        return self._rows(self.home.prepared[name], params)

    def write(self, name: str, params: dict[str, object]) -> None:
        """A writing statement, to be looked at before the commit."""
        statement = self.home.prepared[name]
        if statement.as_rows:
            self._write_rows(statement, [tuple(params[one] for one in statement.params)])
            return
        self._writes.append(self.ask(statement, statement.bind(params)))
        self._forget(name)

    def save_all(self, name: str, rows: Sequence[Any]) -> None:
        """The same for a statement whose parameters are attributes of rows."""
        statement = self.home.prepared[name]
        values = attrgetter(*statement.params)
        if statement.as_rows:
            self._write_rows(statement, [values(row) for row in rows])
            return
        for row in rows:
            self._writes.append(self.ask(statement, values(row)))
        self._forget(name)

    def ask(self, statement: Prepared, params: tuple[object, ...] = ()) -> Asked:
        """Ask with the next round trip."""
        assert self.link is not None
        return self.link.ask(statement, params)

    def flush(self) -> None:
        """Make a round trip."""
        assert self.link is not None
        self.link.flush()

    def _write_rows(self, statement: Prepared, rows: list[tuple[object, ...]]) -> None:
        self.ask(statement, statement.given(rows))  # fails by itself if it does not change all
        self._forget(statement.name)

    def _rows(self, statement: Prepared, params: dict[str, object]) -> list[Any]:
        """What a statement answers with; the same as before, until something is written or locked."""
        key = statement.name, statement.bind(params)
        rows = self._seen.get(key)
        if rows is None:
            self._refuse_unlocked(statement, params)
            asked = self.ask(statement, key[1])
            self.flush()
            rows = self._seen[key] = asked.rows
        if rows and statement.row in TASKS:
            self._check(statement.name, rows)
        return rows

    def _remembered(self, statement: Prepared, params: dict[str, object]) -> Any:
        rows = self._memory.setdefault(statement.name, {})
        key = statement.bind(params)
        found = rows.get(key)
        if found is None:
            asked = self.ask(statement, key)
            self.flush()
            found = asked.rows[0] if asked.rows else None
            if len(rows) >= REMEMBERED_ROWS_MAX:
                rows.clear()
            if found is not None:
                rows[key] = found
        return found

    def _recall(self, name: str, params: dict[str, object]) -> Any:
        """What is remembered of a statement, or None."""
        return self._memory.get(name, {}).get(self.prepared(name).bind(params))

    def _forget(self, name: str) -> None:
        self._wrote = True
        self._seen.clear()
        for forgotten in self.home.forgets.get(name, ()):
            self._memory.pop(forgotten, None)
            self._bump = True  # and with the commit everybody else's memory

    def _refuse_unlocked(self, statement: Prepared, params: dict[str, object]) -> None:
        if statement.lock is None:
            return
        bound = statement.lock.bind(params)
        if (statement.name, bound) not in self._locks:
            raise Unlocked(lock=(statement.name, bound, statement.lock))

    def _check(self, name: str, rows: Sequence[Any]) -> None:
        """A verb may go on only with tasks that are locked, and not before the last change of any of them."""
        if name in SKIPPING:
            self._locked.update(row.serial for row in rows)
        elif missing := [row.serial for row in rows if row.serial not in self._locked]:
            raise Unlocked(missing)
        changed = max((row.updated_at for row in rows if isinstance(row, TaskRow)), default=0)
        if changed > self.now:
            raise Unlocked(not_before=changed)

    # A transaction from its beginning to its end.

    def _begin(self, jobs: list[Job]) -> None:
        """Open a transaction, lock the tasks that its verbs name, read the clock: one round trip."""
        if self.link is None:
            connection, session = self.home.connect()
            self.link = Link(connection)
            self._name, self._number, self._generation = session.name, 0, -1
        self.ask(self.prepared("begin"))
        named = Named(jobs)
        locking = []
        if named.claim_keys:
            self._ask("lock_claim_keys", keys=json_text(sorted(named.claim_keys)))
        if named.families:
            locking.append(self._ask("lock_families", task_ids=json_text(sorted(named.families))))
        if named.tasks:
            locking.append(self._lock_tasks(sorted(named.tasks), sorted(named.ending), []))
        self._read_clock(locking, reads=list(foreseen(jobs, self._recall)))

    def _relock(self, found: Unlocked) -> None:
        """Lock what a verb has met; read the clock again."""
        self._seen.clear()
        locking = []
        if found.serials:
            locking.append(self._lock_tasks([], [], sorted(found.serials)))
        if found.lock is not None:
            name, bound, statement = found.lock
            self.ask(statement, bound)
            self._locks.add((name, bound))
        self._read_clock(locking, found.not_before)

    def _lock_tasks(self, task_ids: list[str], ending: list[str], serials: list[int]) -> Asked:
        return self._ask(
            "lock_tasks",
            task_ids=json_text(task_ids),
            ending=json_text(ending),
            serials=json_text(serials),
        )

    def _ask(self, name: str, **params: object) -> Asked:
        statement = self.prepared(name)
        return self.ask(statement, statement.bind(params))

    def _read_clock(
        self, locking: Sequence[Asked], not_before: int = 0, reads: Sequence[Read] = ()
    ) -> None:  # fmt: skip
        """Read the clock once the locks are held, and with it what verbs are about to read."""
        asked = self._ask("opening", scripted=self.home.clock.scripted())
        read = [self._ask(name, **params) for name, params in reads]
        self.flush()
        for (_, params), one in zip(reads, read, strict=True):
            self._seen[one.statement.name, one.statement.bind(params)] = one.rows
        for one in locking:
            self._locked.update(row.value for row in one.rows)
        opening = asked.only()
        self.now = self.home.clock.instant(opening.now, max(opening.last, not_before))
        if opening.generation != self._generation:
            self._generation = opening.generation
            self._memory.clear()

    def _attempt(self, jobs: list[Job]) -> None:
        """Run verbs one after the other; several of one verb that has a form for many callers run as one."""
        for verb, alike in grouped(jobs):
            if len(alike) == 1:
                alike[0].outcome = self._settling(alike[0], alike[0].verb, alike[0].args)
                continue
            outcomes = self._settling(alike[0], verb, ([job.args for job in alike],))
            each = outcomes if isinstance(outcomes, list) else [outcomes] * len(alike)
            for job, outcome in zip(alike, each, strict=True):
                job.outcome = outcome

    def _settling(self, job: Job, verb: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        """Run a verb, settling first what it finds overdue."""
        tx = self._transaction
        tx.in_vain = False
        for _ in range(SETTLES_PER_TURN_MAX):
            try:
                return self._locking(job, lambda: verb(tx, self.runtime, *args))
            except Overdue as overdue:
                assert not tx.wrote, "a verb may not find something overdue after its first write"
                settled = self._locking(job, partial(overdue.settle, tx, self.runtime))
                tx.in_vain = not settled
                job.settled += settled
            except TesseraError as refusal:
                assert not tx.wrote, "a verb may not refuse after its first write"
                return refusal
        return AGAIN

    def _locking(self, job: Job, step: Callable[[], Any]) -> Any:
        """Run a verb or a settle, again for as long as it meets something that is not locked."""
        tx = self._transaction
        for _ in range(RELOCKS_MAX):
            tx.renew(job.settled)
            try:
                return step()
            except Unlocked as found:
                assert not tx.wrote, "a verb may not meet something unlocked after its first write"
                self._relock(found)
        raise LostRace("locks")

    def _commit(self) -> None:
        """Write counts and the proof, look at what all writes have changed, append to the log, commit."""
        wrote = self._wrote or bool(self.events)
        if wrote:
            news = news_of(self.one, self.ready, self.events)
            self._finish_writes()
        self.runtime.reach("commit.before")
        if wrote:
            if self.events:
                append = self.prepared("append_event")
                rows = append.given(self.events)
                self.ask(self.prepared("lock_log"))
                self.ask(append, rows)
            if (text := heard_by_others(news, self.home.node)) is not None:
                self.ask(self.prepared("tell"), (text,))
            if self.home.watch is not None:
                self.after.append(partial(self.home.watch, news))
        self._end(wrote)
        self.runtime.reach("commit.written")
        self._clear()

    def _finish_writes(self) -> None:
        for queue, changes in sorted(self.counts.items()):
            if any(changes):
                self._ask("change_counts", queue=queue, **dict(zip(STATES, changes, strict=True)))
        if self._bump:
            self.ask(self.prepared("bump_generation"))
        if not self.events:
            self._ask("keep_instant", at=self.now)
        self._number += 1
        self._ask("leave_mark", writer=self._name, number=self._number, at=self.now)
        if self._writes:
            self.flush()
        for write in self._writes:
            if write.changed == 0:
                raise LostRace(write.statement.name)

    def _end(self, wrote: bool) -> None:
        """Commit, and wait until all that these verbs have seen and done is on disk."""
        assert self.link is not None
        disk = self.home.disk
        looked = None if wrote else disk.look(self.link)
        self.ask(self.prepared("commit"))
        try:
            if looked is not None:
                self.flush()
            if looked is None or not disk.is_safe(looked):
                since = self.runtime.elapsed_us()
                disk.reach(self.link)
                self.home.counted.synced(self.runtime.elapsed_us() - since)
        except psycopg.Error as error:
            if not (wrote and is_lost(self.link.connection, error)):
                raise
            self._drop()
            if not committed(self.home, self._name, self._number):
                raise LostRace("commit") from error

    def _undo(self) -> bool:
        """Undo the open transaction, and with it what memory may have learned inside it. Whether the
        connection is lost.
        """
        self._clear()
        self.after.clear()
        self._memory.clear()
        link = self.link
        if link is None:
            return False
        try:
            link.forget()
            if not link.connection.closed:
                link.run(self.prepared("rollback"))
        except psycopg.Error as error:
            if not is_lost(link.connection, error):
                log.warning("a transaction could not be undone", exc_info=True)
            self._drop()
            return True
        if link.connection.closed:
            self._drop()
            return True
        return False

    def _drop(self) -> None:
        link, self.link = self.link, None
        if link is not None:
            link.connection.close()

    def _clear(self) -> None:
        for gathered in (self.counts, self.events, self.ready, self._locked, self._locks, self._seen,
                         self._writes):  # fmt: skip
            gathered.clear()
        self._bump = self._wrote = False
