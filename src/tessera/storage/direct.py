"""The engine for threads: library and command line.

Threads that meet stand in line. The one that leads runs the verbs of all in one transaction, hands over, and
waits for the disk for all of them; the next one's transaction runs meanwhile.
"""

from __future__ import annotations

from typing import Any

from tessera.errors import TesseraError, Unavailable
from tessera.limits import FILES_LOOK_SECONDS, LOOK_SECONDS_MAX, READERS_MAX, SECOND_US
from tessera.runtime import Runtime
from tessera.storage.commit import run_alone
from tessera.storage.files import StoreFiles, told
from tessera.storage.forks import USED_BY_PARENT, abandon, bar, watch
from tessera.storage.jobs import AGAIN, Job
from tessera.storage.meeting import Meeting, Place
from tessera.storage.port import Answer, Verb
from tessera.storage.readers import Reader, Readers
from tessera.storage.sqlite import Writer

_LOST = (
    "the store's file, or what is beside it, was removed or replaced while this process had it open: nobody "
    "would find what is stored there; open the store anew"
)


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
        self._meeting = Meeting()
        self._files = StoreFiles(path)
        self._elapsed_us = runtime.elapsed_us
        self._looked_us = runtime.elapsed_us()  # when the files were last seen to be there
        self._refusal: str | None = None  # why no verb runs any more
        self._forking = Place(None)  # while the process forks: our place in line,
        self._stands = False  # whether it is the first,
        self._held: list[Reader | None] = []  # and the readers that are ours
        watch(self)

    def submit(self, verb: Verb, *args: Any) -> Answer:
        """Run a verb, here and now. The answer is there when this returns."""
        job = Job(verb, args)
        job.outcome = AGAIN
        self._check()
        place = Place(job)
        try:
            if self._meeting.join(place):
                self._lead(place, job)
        except BaseException:  # an interrupt, perhaps in our sleep: the job was done, or never will be
            self._meeting.leave(place)
            _wake(place.others)
            raise
        if job.outcome is AGAIN:
            raise Unavailable("the thread that should have run this was interrupted", definite=True)
        if not job.provisional:
            self._writer.wal.cover(job.number)
        return Done(job.outcome)

    def read(self, look: Verb, *args: Any) -> Any:
        """Run a look beside the writer."""
        self._check()
        self._refuse_lost()
        return self._readers.read(look, *args)

    def close(self) -> None:
        """Let go of the file. A second call does nothing."""
        alone = Place(None)
        try:
            self._meeting.join(alone)
            if self._refusal is None:
                self._refusal = "the store is closed"
                self._readers.close()
                self._writer.close()
        finally:
            self._meeting.leave(alone)

    def stand_still(self) -> None:
        """Before a fork: from here on no thread of this process is inside SQLite, unless it stays too
        long or is the one that forks.
        """
        self._stands = self._meeting.join(self._forking, LOOK_SECONDS_MAX)
        self._held = self._readers.hold() if self._refusal is None else []

    def go_on(self) -> None:
        """After it, in the parent."""
        self._readers.put_back(self._held)
        self._meeting.leave(self._forking)

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
        self._meeting = Meeting()

    def _check(self) -> None:
        if self._refusal is not None:
            raise Unavailable(self._refusal, definite=True)

    def _refuse_lost(self) -> None:
        """Refuse to go on with files that have lost their names. Looked at now and then: it takes 5 us."""
        now_us = self._elapsed_us()
        if now_us - self._looked_us >= FILES_LOOK_SECONDS * SECOND_US:
            with told():
                lost = self._files.are_lost()
            if lost:
                raise Unavailable(_LOST, definite=True)
            self._looked_us = now_us

    def _lead(self, own: Place, job: Job) -> None:
        """Run a job and those of all that stand in line. They are woken once theirs are on disk."""
        patience = self._writer.wal.meter.sync_us / SECOND_US  # who goes alone pays one sync more
        try:
            others = self._meeting.take(own, patience)
            jobs = [job, *(place.job for place in others if place.job is not None)]
            try:
                self._run_all(jobs)
            finally:
                self._meeting.leave(own)
            if others:
                self._writer.wal.cover(max(0 if job.provisional else job.number for job in jobs))
        finally:
            _wake(own.others)

    def _run_all(self, jobs: list[Job]) -> None:
        try:
            self._run(jobs)
        except BaseException as error:  # an interrupt: every thread that stands in line learns of it
            self._writer.rollback()
            for job in jobs:
                job.outcome = Unavailable(f"interrupted by {type(error).__name__}")
            raise
        finally:
            self._writer.tell()

    def _run(self, jobs: list[Job]) -> None:
        try:
            self._check()  # it may have been closed while we stood in line
            self._refuse_lost()
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


def _wake(places: list[Place]) -> None:
    for place in places:
        place.wake()
