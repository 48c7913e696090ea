"""A connection that runs verbs, and the transactions it runs them in.

A transaction takes its locks before its instant is read: those of the tasks its verbs name with `begin`,
those of rows that a verb reads besides when it reads them; the verb then starts over. Its writes travel with
the next thing asked, and are looked at together: one that changed no row has lost a race, and all is undone.
Counts, the proof of the commit and the lines of the log come last, so that what everybody touches is held for
a moment only.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import psycopg

from tessera.canonical import json_text
from tessera.errors import TesseraError
from tessera.limits import IDLE_VERB_SECONDS_MAX, RELOCKS_MAX, SETTLES_PER_TURN_MAX
from tessera.states import STATES
from tessera.storage.gathered import Gathered
from tessera.storage.jobs import AGAIN, Job, run_grouped
from tessera.storage.port import LostRace, Overdue
from tessera.storage.postgres.arrays import arrays_of
from tessera.storage.postgres.asking import Asking, Unlocked
from tessera.storage.postgres.connection import Lost, conflict_of, is_lost
from tessera.storage.postgres.database import Database
from tessera.storage.postgres.link import Asked, Link
from tessera.storage.postgres.naming import Named
from tessera.storage.postgres.notices import encoded
from tessera.storage.postgres.prefetch import Read, reads_ahead
from tessera.storage.postgres.proof import committed
from tessera.storage.postgres.transaction import PostgresTransaction

log = logging.getLogger("tessera.storage")


class Writer(Asking):
    """One connection, and the transactions of verbs on it. One thread at a time."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.runtime = database.runtime
        self.gathered = Gathered()
        self._name = ""  # of the connection, in its marks
        self._number = 0  # of the last transaction that left a mark
        self._generation = -1
        self._transaction = PostgresTransaction(self)

    def run(self, jobs: list[Job]) -> None:
        """Run verbs in one transaction; their outcomes are there, and durable, when this returns. Raises
        `LostRace` or `Lost` when nothing has come of it and the verbs may be run again, `UnknownOutcome` when
        nobody knows, or what went wrong.
        """
        try:
            self._begin(jobs)
            run_grouped(jobs, self._settling)
            self._commit()
        except BaseException as error:
            lost = self._undo()
            if lost:
                raise Lost from error
            if isinstance(error, psycopg.errors.LockNotAvailable) and self._end_silent():
                raise LostRace("silence") from error
            if isinstance(error, psycopg.Error):
                raise conflict_of(error) from error
            raise
        self.database.counted.committed(len(jobs))
        for call in self.gathered.to_call():
            try:
                call()
            except Exception:  # the verbs are committed: nobody may run them again for this
                log.exception("somebody could not be told of a commit")

    def connect(self) -> None:
        """Make the connection, if there is none. Refuses with `unavailable`."""
        if self.link is None:
            connection, session = self.database.connect()
            self.link = Link(connection)
            self._name, self._number, self._generation = session.name, 0, -1

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

    def _begin(self, jobs: list[Job]) -> None:
        """Open a transaction, lock the tasks that its verbs name, read the clock: one round trip."""
        self.connect()
        self.ask(self.prepared("begin"))
        named = Named(jobs)
        locking = []
        if named.claim_keys:
            self._ask("lock_claim_keys", keys=json_text(sorted(named.claim_keys)))
        if named.families:
            locking.append(self._ask("lock_families", task_ids=json_text(sorted(named.families))))
        if named.tasks:
            locking.append(self._lock_tasks(sorted(named.tasks), named.ending, []))
        self._read_clock(locking, reads=list(reads_ahead(jobs, self.recall)))

    def _relock(self, found: Unlocked) -> None:
        """Lock what a verb has met; read the clock again."""
        self.seen.clear()
        locking = []
        if found.serials:
            locking.append(self._lock_tasks([], set(), sorted(found.serials)))
        if found.lock is not None:
            name, bound, statement = found.lock
            self.ask(statement, bound)
            self.locks.add((name, bound))
        self._read_clock(locking, found.not_before)

    def _lock_tasks(self, task_ids: list[str], ending: set[str], serials: list[int]) -> Asked:
        named = arrays_of([(task_id, task_id in ending) for task_id in task_ids] or [(None, None)])
        return self._ask("lock_tasks", task_ids=named[0], ending=named[1], serials=json_text(serials))

    def _ask(self, name: str, **params: object) -> Asked:
        statement = self.prepared(name)
        return self.ask(statement, statement.bind(params))

    def _read_clock(
        self, locking: Sequence[Asked], not_before: int = 0, reads: Sequence[Read] = ()
    ) -> None:  # fmt: skip
        """Read the clock once the locks are held, and with it what verbs are about to read."""
        asked = self._ask("opening", scripted=self.database.clock.scripted())
        read = [self._ask(name, **params) for name, params in reads]
        self.flush()
        for (_, params), one in zip(reads, read, strict=True):
            self.see(one.statement, (one.statement.name, one.statement.bind(params)), one.rows)
        for one in locking:
            self.locked.update(row.value for row in one.rows)
        opening = asked.only()
        self.now = self.database.clock.instant(opening.now, max(opening.last, not_before))
        if opening.generation != self._generation:
            self._generation = opening.generation
            self.memory.clear()

    def _settling(self, job: Job, verb: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        """Run a verb, settling first what it finds overdue."""
        tx = self._transaction
        tx.passed_over.clear()
        for _ in range(SETTLES_PER_TURN_MAX):
            try:
                return self._locking(job, lambda: verb(tx, self.runtime, *args))
            except Overdue as overdue:
                assert not tx.wrote, "a verb may not find something overdue after its first write"
                job.settled += self._locking(job, partial(overdue.settle, tx, self.runtime))
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
        events = self.gathered.events
        wrote = self.wrote or bool(events)
        if wrote:
            news = self.gathered.news(self._queue_name)
            self._finish_writes()
        self.runtime.reach("commit.before")
        if wrote:
            if events:
                self.ask(self.prepared("lock_log"))
                self.ask(self.prepared("append_event"), arrays_of(events))
            if (text := encoded(news, self.database.node)) is not None:
                self.ask(self.prepared("tell"), (text,))
            if self.database.watch is not None:
                self.gathered.after.append(partial(self.database.watch, news))
        self._end(wrote)
        self.gathered.committed()
        self.runtime.reach("commit.written")
        self._clear()

    def _queue_name(self, queue: int) -> str:
        name: str = self.one("queue_numbered", {"queue": queue}).name
        return name

    def _finish_writes(self) -> None:
        for queue, changes in sorted(self.gathered.counts.items()):
            if any(changes):
                self._ask("change_counts", queue=queue, **dict(zip(STATES, changes, strict=True)))
        if self.memory_is_void:
            self.ask(self.prepared("bump_generation"))
        if not self.gathered.events:
            self._ask("keep_instant", at=self.now)
        self._number += 1
        self._ask("leave_mark", writer=self._name, number=self._number, at=self.now)
        if self.writes:
            self.flush()
        for write in self.writes:
            if write.changed == 0:
                raise LostRace(write.statement.name)

    def _end(self, wrote: bool) -> None:
        """Commit, and wait until all that these verbs have seen and done is on disk."""
        assert self.link is not None
        disk = self.database.disk
        looked = None if wrote else disk.look(self.link)
        self.ask(self.prepared("commit"))
        try:
            if looked is not None:
                self.flush()
            if looked is None or not disk.is_safe(looked):
                since = self.runtime.elapsed_us()
                disk.secure(self.link)
                self.database.counted.synced(self.runtime.elapsed_us() - since)
        except psycopg.Error as error:
            if not (wrote and is_lost(self.link.connection, error)):
                raise
            self._drop()
            if not committed(self.database, self._name, self._number):
                raise LostRace("commit") from error

    def _undo(self) -> bool:
        """Undo the open transaction, and with it what memory may have learned inside it. Whether the
        connection is lost.
        """
        self._clear()
        self.memory.clear()
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

    def _end_silent(self) -> bool:
        """End the transactions of processes that have fallen silent in the middle of one: whether there were
        any. (Nodes look for them all the time, but a store may be open in libraries only.)
        """
        assert self.link is not None
        try:
            ended = self.link.run(self.prepared("end_silent"), (IDLE_VERB_SECONDS_MAX,)).only().value
        except psycopg.Error:
            self._drop()
            return False
        if ended:
            log.warning("ended %d transactions whose processes had fallen silent", ended)
        return bool(ended)

    def _drop(self) -> None:
        link, self.link = self.link, None
        if link is not None:
            link.connection.close()

    def _clear(self) -> None:
        for learned in (self.gathered, self.locked, self.locks, self.seen, self.writes):
            learned.clear()
        self.memory_is_void = self.wrote = False
