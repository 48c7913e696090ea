"""The engine for an event loop: the service.

Verbs that arrive in one turn of the loop run together at its end, in the open transaction. It is committed at
once, or, while a sync is under way, after that sync; then a thread syncs, while the next verbs already run;
then all verbs of the commit are answered. Callers that were answered together ask together again, so a turn
of many verbs commits after half of them: else nobody would be left to run while the disk works. A verb that
is alone is synced on the spot, which is quicker than waking a thread. While another process holds the write
lock, verbs stand in line and the loop goes on.

Patient verbs, which are claims, run after the others of their turn and are answered after them, and no turn
runs many: what arrives meanwhile is read before the rest. A verb that presses, as a heartbeat does, runs as
it arrives and is synced on the spot; one of them between two turns, so that many still share a commit.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from queue import SimpleQueue
from typing import Any

from tessera.errors import Unavailable
from tessera.limits import (
    BATCH_VERBS_MAX,
    BUSY_SECONDS_MAX,
    CLAIMS_PER_TURN_MAX,
    READERS_MAX,
    SECOND_US,
)
from tessera.runtime import Runtime
from tessera.storage.checkpoints import Checkpointer
from tessera.storage.commit import run_alone
from tessera.storage.connection import Busy
from tessera.storage.forks import USED_BY_PARENT, bar, watch
from tessera.storage.jobs import AGAIN, Job, answer, resolve
from tessera.storage.port import News, Verb
from tessera.storage.readers import Readers
from tessera.storage.sqlite import Writer

BUSY_RETRY_SECONDS = 0.002
SPOT_SYNC_US_MAX = 1_000  # a slower disk is left to the thread, or the loop would stand still for it
SPLIT_VERBS_MIN = 16  # of a turn; below it a second sync costs more than it hides
# A thread that wants the interpreter asks for it after so long. The sync thread, which wants it for
# microseconds to say that the disk is done, would else wait for longer than for the disk.
SWITCH_SECONDS = 0.0002


class LoopEngine:
    """Verbs from one event loop, answered once they are on disk. Call everything from the loop's thread."""

    def __init__(self, path: str, runtime: Runtime, loop: asyncio.AbstractEventLoop) -> None:
        self._writer = Writer(path, runtime, on_loop=True)
        self.meter = self._writer.wal.meter
        self._readers = Readers(path, runtime, self._writer.clock, self._writer.wal)
        self._pool = ThreadPoolExecutor(READERS_MAX, thread_name_prefix="tessera-read")
        self._checkpointer = Checkpointer(path)
        self._loop = loop
        self._line: deque[Job] = deque()  # to be run
        self._patient: deque[Job] = deque()  # to be run after those
        self._batch: list[Job] = []  # ran in the open transaction
        self._unsynced: list[Job] = []  # committed, to be answered after the next sync
        self._syncing: list[Job] | None = None  # to be answered after the sync under way,
        self._is_synced = False  # which has ended: so says its thread
        self._turn_planned = False
        self._pressed = False  # a verb has run on the spot since the last turn
        self._closed = False
        self._refusal = "the store is closed"  # what verbs and looks are told once it is
        self._path = path
        sys.setswitchinterval(min(SWITCH_SECONDS, sys.getswitchinterval()))
        self._go: SimpleQueue[None] = SimpleQueue()
        self._syncer = threading.Thread(target=self._sync_forever, name="tessera-sync", daemon=True)
        self._syncer.start()
        watch(self)

    def submit(self, verb: Verb, *args: Any) -> asyncio.Future[Any]:
        """Run a verb; the future holds its answer or refusal once that is on disk."""
        future: asyncio.Future[Any] = self._loop.create_future()
        self.call(partial(resolve, future), verb, *args)
        return future

    def call(self, then: Callable[[Any], None], verb: Verb, *args: Any) -> None:
        """Run a verb; `then` is called with its answer or refusal once that is on disk."""
        if self._closed:
            then(Unavailable(self._refusal, definite=True))
            return
        job = Job(verb, args, then)
        if job.presses and not self._pressed and self._is_quick:
            self._run_on_the_spot(job)
        else:
            self._line_of(job).append(job)
        self._plan_turn()

    def read(self, look: Verb, *args: Any) -> asyncio.Future[Any]:
        """Run a look beside the writer, in a thread."""
        return self.compute(partial(self._readers.read, look, *args))

    def compute(self, work: Callable[[], Any]) -> asyncio.Future[Any]:
        """Compute something in a thread."""
        if self._closed:
            future: asyncio.Future[Any] = self._loop.create_future()
            future.set_exception(Unavailable(self._refusal, definite=True))
            return future
        return self._loop.run_in_executor(self._pool, work)

    def watch(self, tell: Callable[[News], None]) -> None:
        """From now on, call this on the loop after each commit that changed something."""
        self._writer.watch = tell

    def close(self) -> None:
        """Run, commit, sync and answer what was asked before, as much as one transaction takes; refuse the
        rest; then let go of the file.
        """
        if self._closed:
            return
        self._closed = True
        self._go.put(None)
        self._syncer.join()
        answered, self._syncing = self._syncing or [], None
        self._run_line(len(self._line) + len(self._patient))
        self._commit()
        answered, self._unsynced = answered + self._unsynced, []
        self._writer.wal.cover(self._writer.wal.committed)
        left = [*self._line, *self._patient]
        self._line.clear()
        self._patient.clear()
        for job in left:
            job.outcome = Unavailable("the store was closed first", definite=True)
        self._pool.shutdown()
        self._checkpointer.close()
        self._readers.close()
        self._writer.close()
        answer(answered + left)

    def stand_still(self) -> None:
        """Before a fork nothing can be done: the loop and its threads go on."""

    go_on = stand_still  # nor after it, in the parent

    def forked(self) -> None:
        """In a child, which has none of the threads: nothing of the parent's is used or closed."""
        if not self._closed:
            self._closed, self._refusal = True, USED_BY_PARENT
            bar(self._path, self._writer, self._readers, self._checkpointer)

    def _plan_turn(self, delay: float = 0) -> None:
        if not self._turn_planned:
            self._turn_planned = True
            if delay:
                self._loop.call_later(delay, self._turn)
            else:
                self._loop.call_soon(self._turn)

    def _turn(self) -> None:
        """Run what has arrived; commit it, unless a sync is under way: then more may join it."""
        self._turn_planned = self._pressed = False
        if self._closed:
            return
        self._answer_synced()
        due = len(self._line) + min(len(self._patient), CLAIMS_PER_TURN_MAX)
        if self._syncing is None and due >= SPLIT_VERBS_MIN:
            self._run_line(due // 2)
            self._flush()
            self._plan_turn()  # for the other half; in between the loop reads what has come
            return
        self._run_line(due)
        if self._syncing is None:
            self._flush()
        elif len(self._batch) >= BATCH_VERBS_MAX:  # but no transaction grows without bound
            self._commit()
        self._answer_synced()
        if left := self._line or self._patient:
            self._plan_turn(BUSY_RETRY_SECONDS if left[0].since is not None else 0)

    @property
    def _is_quick(self) -> bool:
        return self.meter.sync_us <= SPOT_SYNC_US_MAX

    def _run_on_the_spot(self, job: Job) -> None:
        """Run a verb where it arrives, and sync it with whatever was committed before it."""
        self._pressed = True
        self._line.appendleft(job)
        self._run_line(1)
        self._commit()
        jobs, self._unsynced = self._unsynced, []
        self._writer.wal.cover(max((job.number for job in jobs), default=0))
        answer(jobs)

    def _line_of(self, job: Job) -> deque[Job]:
        return self._patient if job.patient else self._line

    def _run_line(self, number: int) -> None:
        """Run so many of the verbs that stand in line, but no more than one transaction takes. However many
        others there are, a fourth of the places is for those that are patient.
        """
        number = min(number, BATCH_VERBS_MAX)
        patient = min(len(self._patient), max(number - len(self._line), number // 4))
        jobs = [self._line.popleft() for _ in range(min(number - patient, len(self._line)))]
        jobs += [self._patient.popleft() for _ in range(patient)]
        if not jobs:
            return
        try:
            if not self._writer.open:
                self._writer.begin()
            self._writer.attempt(jobs)
        except Busy as busy:
            self._stand_in_line(jobs, busy)
        except Exception:
            self._batch = self._run_each(self._batch + jobs)
        else:
            again = [job for job in jobs if job.outcome is AGAIN]
            for job in again:  # they have more to settle than one turn allows
                self._line_of(job).append(job)
            self._batch += [job for job in jobs if job.outcome is not AGAIN] if again else jobs

    def _commit(self) -> None:
        """Commit the open transaction; its verbs wait for the disk from here on."""
        jobs, self._batch = self._batch, []
        if self._writer.open:
            try:
                number = self._writer.commit()
            except Exception:
                jobs = self._run_each(jobs)
            else:
                self.meter.batches.add(len(jobs))
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
                self._stand_in_line([job], job.outcome)
            else:
                ran.append(job)
        return ran

    def _flush(self) -> None:
        """Commit, and hand over to the sync thread what the disk does not have yet."""
        self._commit()
        jobs, self._unsynced = self._unsynced, []
        synced = self._writer.wal.synced
        if len(jobs) == 1 and not jobs[0].provisional and self._is_quick:  # that one may have written much
            self._writer.wal.cover(jobs[0].number)
            answer(jobs)
        elif any(job.number > synced for job in jobs):
            self._syncing = jobs
            self._go.put(None)
        else:
            answer(jobs)

    def _sync_forever(self) -> None:
        while True:
            self._go.get()
            if self._closed:
                return
            self._writer.wal.cover(self._writer.wal.committed)
            self._is_synced = True
            self._loop.call_soon_threadsafe(self._answer_synced)

    def _answer_synced(self) -> None:
        """Answer those whose sync has ended. A turn looks for itself, before and after its verbs: the loop
        may have much to read before it comes to what the thread has told it.
        """
        if not self._is_synced:
            return
        self._is_synced = False
        jobs, self._syncing = self._syncing, None
        try:
            if self._batch or self._unsynced:
                self._flush()  # the next batch goes to disk before time is spent on answers
        finally:
            answer(jobs or [])

    def _stand_in_line(self, jobs: list[Job], busy: Busy) -> None:
        """Another process writes: try again soon, without holding up the loop; but not for ever."""
        now = self._writer.runtime.elapsed_us()
        again = []
        for job in jobs:
            job.since = now if job.since is None else job.since
            if now - job.since <= BUSY_SECONDS_MAX * SECOND_US:
                again.append(job)
            else:
                job.outcome = busy
                self._loop.call_soon(answer, [job])
        for job in reversed(again):
            self._line_of(job).appendleft(job)
        if again:
            self._plan_turn(BUSY_RETRY_SECONDS)
