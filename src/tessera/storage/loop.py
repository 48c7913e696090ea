"""The engine for an event loop: the service.

A verb runs at once, inside the open transaction of this turn. The turn's end commits; a thread syncs, while
the next transaction already runs; then all verbs of the commit are answered. A verb that is alone is synced
on the spot, which is quicker than waking a thread. While another process holds the write lock, verbs stand in
line and the loop goes on.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from tessera.errors import TesseraError, Unavailable
from tessera.limits import BATCH_VERBS_MAX, BUSY_SECONDS_MAX, READERS_MAX, SECOND_US
from tessera.runtime import Runtime
from tessera.storage.checkpoints import Checkpointer
from tessera.storage.commit import run_alone
from tessera.storage.port import Verb
from tessera.storage.readers import Readers
from tessera.storage.sqlite import AGAIN, Busy, Job, Writer

Answer = Callable[[Any], None]
BUSY_RETRY_SECONDS = 0.002


class LoopEngine:
    """Verbs from one event loop, answered once they are on disk. Call everything from the loop's thread."""

    def __init__(self, path: str, runtime: Runtime, loop: asyncio.AbstractEventLoop) -> None:
        self._writer = Writer(path, runtime, on_loop=True)
        self._readers = Readers(path, runtime, self._writer.clock, self._writer.wal)
        self._pool = ThreadPoolExecutor(READERS_MAX, thread_name_prefix="tessera-read")
        self._checkpointer = Checkpointer(path)
        self._loop = loop
        self._batch: list[Job] = []  # ran in the open transaction
        self._unsynced: list[Job] = []  # committed, to be answered after the next sync
        self._syncing: list[Job] | None = None  # to be answered after the sync under way
        self._line: deque[Job] = deque()  # not begun: another process holds the write lock
        self._scheduled = False
        self._closed = False
        self._go = threading.Semaphore(0)
        self._syncer = threading.Thread(target=self._sync_forever, name="tessera-sync", daemon=True)
        self._syncer.start()

    def submit(self, verb: Verb, *args: Any) -> asyncio.Future[Any]:
        """Run a verb now; the future holds its answer or refusal once that is on disk."""
        future: asyncio.Future[Any] = self._loop.create_future()
        self.call(partial(_resolve, future), verb, *args)
        return future

    def call(self, answer: Answer, verb: Verb, *args: Any) -> Any:
        """The same with a callback, which gets a refusal as a value. Returns what will be answered, for the
        caller's own planning only: it is not on disk yet, and None while it is not even known.
        """
        job = Job(verb, args, answer)
        if self._closed:
            job.outcome = Unavailable("the store is closed", definite=True)
            self._loop.call_soon(_answer, [job])
        elif self._line:
            self._line.append(job)
        else:
            self._run(job)
        return job.outcome

    def read(self, look: Verb, *args: Any) -> asyncio.Future[Any]:
        """Run a look beside the writer, in a thread."""
        return self._loop.run_in_executor(self._pool, self._readers.read, look, *args)

    def close(self) -> None:
        """Commit, sync and answer what is open, then let go of the file. Callers have stopped calling."""
        if self._closed:
            return
        self._closed = True
        self._go.release()
        self._syncer.join()
        self._commit()
        answered = (self._syncing or []) + self._unsynced
        self._syncing, self._unsynced = None, []
        self._writer.wal.cover(self._writer.wal.committed)
        for job in self._line:
            job.outcome = Unavailable("the store was closed first", definite=True)
        self._pool.shutdown()
        self._checkpointer.close()
        self._readers.close()
        self._writer.close()
        _answer([*answered, *self._line])

    def _run(self, job: Job) -> None:
        try:
            if not self._writer.open:
                self._writer.begin()
        except Busy as busy:
            job.outcome = busy
            self._stand_in_line(job)
            return
        except TesseraError as refusal:
            job.outcome = refusal
            self._loop.call_soon(_answer, [job])
            return
        self._batch.append(job)
        try:
            job.outcome = self._writer.attempt(job)
        except Exception:
            self._batch = self._run_each(self._batch)
        if job.outcome is AGAIN:
            self._batch.remove(job)
            self._loop.call_soon(self._run_again, job)
        self._plan_flush()

    def _run_again(self, job: Job) -> None:
        """A verb that had more to settle than one turn allows."""
        if self._line or self._closed:
            self._line.append(job)
        else:
            self._run(job)

    def _plan_flush(self) -> None:
        """Commit at the turn's end, or after the sync under way; but no transaction grows without bound."""
        if len(self._batch) >= BATCH_VERBS_MAX:
            self._commit()
        if not self._scheduled and self._syncing is None:
            self._scheduled = True
            self._loop.call_soon(self._flush)

    def _commit(self) -> None:
        """Commit the open transaction; its verbs wait for the disk from here on."""
        jobs, self._batch = self._batch, []
        if self._writer.open:
            try:
                number = self._writer.commit()
            except Exception:
                jobs = self._run_each(jobs)
            else:
                for job in jobs:
                    job.number = number
        self._unsynced += jobs
        self._writer.tell()

    def _run_each(self, jobs: list[Job]) -> list[Job]:
        """Something unforeseen happened: undo the transaction, and give each verb one of its own. Returns
        those that ran; if another process was quicker to the lock, the others stand in line.
        """
        self._writer.rollback()
        ran = []
        for job in jobs:
            run_alone(self._writer, job)
            if isinstance(job.outcome, Busy):
                self._stand_in_line(job)
            else:
                ran.append(job)
        return ran

    def _flush(self) -> None:
        """The end of a turn: commit, and hand over to the sync thread what the disk does not have yet."""
        self._scheduled = False
        self._commit()
        jobs, self._unsynced = self._unsynced, []
        synced = self._writer.wal.synced
        waiting = [job for job in jobs if job.number > synced]
        if len(waiting) == 1 and len(jobs) == 1:
            self._writer.wal.cover(waiting[0].number)
            waiting = []
        if waiting:
            self._syncing = jobs
            self._go.release()
        else:
            _answer(jobs)

    def _sync_forever(self) -> None:
        while True:
            self._go.acquire()
            if self._closed:
                return
            self._writer.wal.cover(self._writer.wal.committed)
            self._loop.call_soon_threadsafe(self._synced)

    def _synced(self) -> None:
        jobs, self._syncing = self._syncing, None
        if self._batch or self._unsynced:
            self._flush()  # the next batch goes to disk before time is spent on answers
        _answer(jobs or [])

    def _stand_in_line(self, job: Job) -> None:
        """Another process writes: try again soon, without holding up the loop; but not for ever."""
        now = self._writer.runtime.elapsed_us()
        if job.since is None:
            job.since = now
        if now - job.since > BUSY_SECONDS_MAX * SECOND_US:
            self._loop.call_soon(_answer, [job])  # its outcome says why
            return
        job.outcome = None
        if not self._line:
            self._loop.call_later(BUSY_RETRY_SECONDS, self._move_line)
        self._line.append(job)

    def _move_line(self) -> None:
        """Run those that stand in line, in their order; once one has to go on standing, so do the others."""
        line, self._line = self._line, deque()
        for job in line:
            if self._line or self._closed:
                self._line.append(job)
            else:
                self._run(job)


def _answer(jobs: list[Job]) -> None:
    for job in jobs:
        assert job.answer is not None
        job.answer(job.outcome)


def _resolve(future: asyncio.Future[Any], outcome: Any) -> None:
    if future.done():  # the caller has gone
        return
    if isinstance(outcome, Exception):
        future.set_exception(outcome)
    else:
        future.set_result(outcome)
