"""When verbs commit and when their callers are answered.

`DirectEngine` serves threads (library, command line). The lock is the queue: whoever holds it runs the whole
backlog in one fully synced transaction, so threads that meet share a sync. An unforeseen exception undoes the
transaction and runs its verbs again, one transaction each, so one bad verb cannot take its neighbours with
it.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from concurrent.futures import Future
from typing import Any

from tessera.errors import TesseraError, Unavailable
from tessera.limits import LOST_RACES_MAX
from tessera.runtime import Runtime
from tessera.storage.port import LostRace, Verb
from tessera.storage.readers import Readers
from tessera.storage.sqlite import AGAIN, Job, Writer, refusal_of

log = logging.getLogger("tessera.storage")


class DirectEngine:
    """Verbs from any thread, answered after a fully synced commit."""

    def __init__(self, path: str, runtime: Runtime) -> None:
        self._writer = Writer(path, runtime)
        self._readers = Readers(path, runtime, self._writer.clock)
        self._backlog: deque[Job] = deque()
        self._lock = threading.Lock()
        self._closed = False

    def submit(self, verb: Verb, *args: Any) -> Future[Any]:
        """Run a verb, here and now. The future is done when this returns."""
        job = Job(verb, args)
        self._backlog.append(job)
        with self._lock:
            if not job.ran:  # else the thread that held the lock before us ran it too
                self._run_backlog()
        return job.future

    def read(self, look: Verb, *args: Any) -> Any:
        """Run a look beside the writer."""
        return self._readers.read(look, *args)

    def close(self) -> None:
        """Let go of the file. A second call does nothing."""
        with self._lock:
            if not self._closed:
                self._closed = True
                self._readers.close()
                self._writer.close()

    def _run_backlog(self) -> None:
        jobs = [self._backlog.popleft() for _ in range(len(self._backlog))]
        try:
            self._run(jobs)
        except BaseException as error:  # an interrupt: every thread that waits learns of it
            if not self._closed:
                self._writer.rollback()
            for job in jobs:
                job.outcome = job.outcome if job.ran else Unavailable(f"interrupted by {error!r}")
            raise
        finally:
            for job in jobs:
                job.ran = True
                _answer(job)

    def _run(self, jobs: list[Job]) -> None:
        try:
            if self._closed:
                raise Unavailable("the store is closed", definite=True)
            self._writer.begin()
        except TesseraError as refusal:
            for job in jobs:
                job.outcome = refusal
            return
        try:
            for job in jobs:
                job.outcome = self._writer.attempt(job)
            self._writer.commit()
            self._writer.runtime.reach("commit.synced")
        except Exception:
            self._writer.rollback()
            for job in jobs:
                _run_alone(self._writer, job)
        for job in jobs:
            if job.outcome is AGAIN:
                _run_alone(self._writer, job)
            job.ran = True


def _run_alone(writer: Writer, job: Job) -> None:
    """One verb, a transaction of its own; whatever goes wrong becomes its outcome."""
    job.settled = job.settled if job.outcome is AGAIN else 0
    for _ in range(LOST_RACES_MAX):
        try:
            job.outcome = AGAIN
            while job.outcome is AGAIN:
                writer.begin()
                job.outcome = writer.attempt(job)
                writer.commit()
        except LostRace:
            writer.rollback()
            job.outcome = Unavailable("the rows kept changing under the verb; try again", definite=True)
        except TesseraError as refusal:
            writer.rollback()
            job.outcome = refusal
            return
        except Exception as error:
            writer.rollback()
            log.exception("verb %s failed", getattr(job.verb, "__name__", job.verb))
            job.outcome = refusal_of(error)
            return
        else:
            return


def _answer(job: Job) -> None:
    if isinstance(job.outcome, Exception):
        job.future.set_exception(job.outcome)
    else:
        job.future.set_result(job.outcome)
