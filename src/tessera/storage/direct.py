"""The engine for threads: library and command line.

The lock is the queue: whoever holds it runs the whole backlog in one transaction. The sync comes after the
lock is let go, so the next backlog runs while this one reaches the disk, and threads that wait for the disk
together share a sync.
"""

from __future__ import annotations

import threading
from collections import deque
from typing import Any

from tessera.errors import TesseraError, Unavailable
from tessera.limits import LOOK_SECONDS_MAX, READERS_MAX
from tessera.runtime import Runtime
from tessera.storage.commit import run_alone
from tessera.storage.forks import USED_BY_PARENT, abandon, bar, watch
from tessera.storage.jobs import AGAIN, Job
from tessera.storage.port import Answer, Verb
from tessera.storage.readers import Reader, Readers
from tessera.storage.sqlite import Writer


class Done:
    """An answer that has come. (A `Future` would cost more than the verb's lock.)"""

    __slots__ = ("_outcome",)

    def __init__(self, outcome: Any) -> None:
        self._outcome = outcome

    def done(self) -> bool:
        """Always."""
        return True

    def result(self) -> Any:
        """The answer; raises the refusal."""
        if isinstance(self._outcome, Exception):
            raise self._outcome
        return self._outcome


class DirectEngine:
    """Verbs from any thread, answered once they are on disk."""

    def __init__(self, path: str, runtime: Runtime) -> None:
        self._path = path
        self._writer = Writer(path, runtime)
        self._readers = Readers(path, runtime, self._writer.clock, self._writer.wal)
        self._backlog: deque[Job] = deque()
        self._lock = threading.Lock()
        self._refusal: str | None = None  # why no verb runs any more
        self._stands = False  # while the process forks: whether the lock is ours
        self._held: list[Reader | None] = []  # and the readers that are
        watch(self)

    def submit(self, verb: Verb, *args: Any) -> Answer:
        """Run a verb, here and now. The answer is there when this returns."""
        job = Job(verb, args)
        self._check()
        self._backlog.append(job)
        with self._lock:
            if not job.ran:  # else the thread that held the lock before us ran it too
                self._run_backlog(job)
        if not job.provisional:
            self._writer.wal.cover(job.number)
        return Done(job.outcome)

    def read(self, look: Verb, *args: Any) -> Any:
        """Run a look beside the writer."""
        self._check()
        return self._readers.read(look, *args)

    def close(self) -> None:
        """Let go of the file. A second call does nothing."""
        with self._lock:
            if self._refusal is None:
                self._refusal = "the store is closed"
                self._readers.close()
                self._writer.close()

    def stand_still(self) -> None:
        """Before a fork: from here on no thread of this process is inside SQLite, unless it stays too
        long or is the one that forks.
        """
        self._stands = self._lock.acquire(timeout=LOOK_SECONDS_MAX)
        self._held = self._readers.hold() if self._refusal is None else []

    def go_on(self) -> None:
        """After it, in the parent."""
        self._readers.put_back(self._held)
        if self._stands:
            self._lock.release()

    def forked(self) -> None:
        """After it, in the child: the parent's connections are not ours to use."""
        if self._refusal is None:
            connections = [one.connection for one in self._held if one]
            if self._stands and len(self._held) == READERS_MAX:
                for connection in (self._writer.connection, *connections):
                    abandon(connection)
            else:
                bar(self._path, self._writer, self._readers)
        self._refusal = USED_BY_PARENT
        self._lock = threading.Lock()

    def _check(self) -> None:
        if self._refusal is not None:
            raise Unavailable(self._refusal, definite=True)

    def _run_backlog(self, own: Job) -> None:
        jobs = [self._backlog.popleft() for _ in range(len(self._backlog))]
        try:
            self._run(jobs)
        except BaseException as error:  # an interrupt: every thread that stands in line learns of it
            self._writer.rollback()
            for job in jobs:
                if not job.ran:
                    job.outcome = Unavailable(f"interrupted by {type(error).__name__}")
            raise
        finally:
            for job in jobs:
                job.ran = True
            self._writer.tell()

    def _run(self, jobs: list[Job]) -> None:
        try:
            self._check()  # it may have been closed while we stood in line
            self._writer.begin()
        except TesseraError as refusal:
            for job in jobs:
                job.outcome = refusal
            return
        try:
            self._writer.attempt(jobs)
            number = self._writer.commit()
        except Exception:
            self._writer.rollback()
            for job in jobs:
                run_alone(self._writer, job)
        else:
            for job in jobs:
                job.number = number
        for job in jobs:
            if job.outcome is AGAIN:
                run_alone(self._writer, job)
