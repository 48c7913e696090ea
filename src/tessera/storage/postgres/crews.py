"""Threads that run verbs, in crews, on connections of the crew's own: what the holder of a lease does never
stands behind claims, nor claims behind the rest. Verbs that wait for a crew share its next transaction, and
the more they are, the less each costs. So a second thread begins beside the first only when that pays: when
verbs have waited for a while, because the database or its disk is slow, or when they have become many.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable

from tessera.errors import TesseraError, Unavailable
from tessera.limits import (
    CREW_THREADS_MAX,
    CREW_VERBS_MANY,
    CREW_VERBS_MAX,
    LATE_SECONDS,
    LOOKS_AGAIN_SECONDS,
    LOST_RACES_MAX,
    PATIENCE_SECONDS_MAX,
    SECOND_US,
)
from tessera.models import Empty
from tessera.storage.jobs import AGAIN, Job
from tessera.storage.port import LostRace
from tessera.storage.postgres.connection import Lost, UnknownOutcome, refusal_of
from tessera.storage.postgres.database import Database
from tessera.storage.postgres.naming import CLAIMING, HOLDING, name_of
from tessera.storage.postgres.writer import Writer

log = logging.getLogger("tessera.storage")

Answered = Callable[[list[Job]], None]
_PAUSE_SECONDS = 0.1  # before a lost connection is made anew
_FULL_SECONDS = 1  # before a thread is started again that got no connection


class Crews:
    """Every crew of one engine."""

    def __init__(self, database: Database, answered: Answered) -> None:
        self._holding = Crew(database, "holding", answered)
        self._claiming = Crew(database, "claiming", answered)
        self._other = Crew(database, "other", answered)

    def add(self, job: Job) -> None:
        """Let a verb stand in its crew."""
        name = name_of(job)
        crew = self._holding if name in HOLDING else self._claiming if name in CLAIMING else self._other
        crew.add(job)

    def close(self) -> None:
        """Run and answer what was asked before, then let go of all connections."""
        for crew in (self._holding, self._claiming, self._other):
            crew.close()


class Crew:
    """A line of verbs, and the threads that run them."""

    def __init__(self, database: Database, name: str, answered: Answered) -> None:
        self._database = database
        self._name = name
        self._answered = answered
        self._line: deque[Job] = deque()
        lock = threading.Lock()
        self._changed = threading.Condition(lock)  # for threads that have nothing to do
        self._many = threading.Condition(lock)  # for the one that stands by
        self._threads: list[threading.Thread] = []
        self._runners: list[Runner] = []  # theirs
        self._full_until = 0  # before then no thread beside the others is worth a try
        self._looks_again = threading.Lock()  # held by the thread that does
        self._working = self._idle = 0
        self._stands_by = False
        self._turn = 0  # how often verbs were taken out of the line
        self._closed = False

    def add(self, job: Job) -> None:
        """Let a verb stand in line. A thread is started when it is first needed."""
        with self._changed:
            if self._closed:
                raise Unavailable("the store is closed", definite=True)
            now = self._database.runtime.elapsed_us()
            job.until = now + PATIENCE_SECONDS_MAX * SECOND_US
            self._line.append(job)
            if self._stands_by:
                if len(self._line) == CREW_VERBS_MANY:
                    self._many.notify()
            elif self._idle:
                self._changed.notify()
            elif len(self._threads) < CREW_THREADS_MAX and (not self._threads or now >= self._full_until):
                name = f"tessera-{self._name}-{len(self._threads)}"
                self._threads.append(threading.Thread(target=self._work, name=name, daemon=True))
                self._threads[-1].start()

    def close(self) -> None:
        """Run what stands in line, then end the threads."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
            self._many.notify_all()
            threads = list(self._threads)
        for thread in threads:
            thread.join()

    def _work(self) -> None:
        runner = Runner(self._database)
        with self._changed:
            self._runners.append(runner)
        try:
            while (jobs := self._next(runner)) is not None:
                if jobs:
                    self._run(runner, jobs)
                elif not runner.connects():
                    return
        finally:
            with self._changed:
                self._leave(runner)
            runner.close()

    def _leave(self, runner: Runner) -> None:
        """The thread ends: what is in line is for those that are left."""
        self._runners.remove(runner)
        self._threads.remove(threading.current_thread())
        if not runner.is_connected:
            self._full_until = self._database.runtime.elapsed_us() + _FULL_SECONDS * SECOND_US
        self._changed.notify()

    def _run(self, runner: Runner, jobs: list[Job]) -> None:
        """Run verbs and answer them. Claims that found nothing but what others hold look again, a few times:
        most transactions are over in a moment, and leave some of what they hold as it was. One thread of a
        crew does so at a time, for the others have the rest to do.
        """
        self._carry_out(runner, jobs)
        held_up = runner.held_up(jobs)
        if not held_up or not self._looks_again.acquire(blocking=False):
            self._answered(jobs)
            return
        try:
            self._answer_but(held_up, jobs)
            for seconds in LOOKS_AGAIN_SECONDS:
                if not held_up or self._database.closing.wait(seconds):
                    break
                with self._changed:
                    self._working += 1
                self._carry_out(runner, held_up)
                jobs, held_up = held_up, runner.held_up(held_up)
                self._answer_but(held_up, jobs)
            self._answer_but([], held_up)
        finally:
            self._looks_again.release()

    def _carry_out(self, runner: Runner, jobs: list[Job]) -> None:
        try:
            runner.run(jobs)
        finally:
            with self._changed:
                self._working -= 1

    def _answer_but(self, later: list[Job], jobs: list[Job]) -> None:
        if now := [job for job in jobs if job not in later]:
            self._answered(now)

    def _next(self, runner: Runner) -> list[Job] | None:
        """What stands in line, up to a bound, when it is time to run it; None once all is over. Nothing, if
        the thread has no connection and others have one: it takes no verb before it has one too.
        """
        with self._changed:
            while not (self._line and (self._working == 0 or self._is_late())):
                if not self._line or self._stands_by:
                    if self._closed and not self._line:
                        return None
                    self._idle += 1
                    self._changed.wait()
                    self._idle -= 1
            if not runner.is_connected and any(other.is_connected for other in self._runners):
                self._changed.notify()  # one of these may be idle
                return []
            self._working += 1
            self._turn += 1
            return [self._line.popleft() for _ in range(min(len(self._line), CREW_VERBS_MAX))]

    def _is_late(self) -> bool:
        """Stand by beside the threads that work: whether they leave verbs waiting, or many have come."""
        if self._stands_by:
            return False
        turn = self._turn
        self._stands_by = True
        in_time = self._many.wait(LATE_SECONDS)
        self._stands_by = False
        late = not in_time and turn == self._turn
        return bool(self._line) and (late or len(self._line) >= CREW_VERBS_MANY or self._working == 0)


class Runner:
    """Runs verbs together; whatever goes wrong with them together, each alone. Every verb gets an outcome."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._writer = Writer(database)
        self._gone: Unavailable | None = None  # what stood in the way of the last connection
        self.close = self._writer.close

    @property
    def is_connected(self) -> bool:
        """Whether there is a connection, as far as is known."""
        link = self._writer.link
        return link is not None and not link.connection.closed

    def connects(self) -> bool:
        """Whether there is a connection, or one can be made."""
        try:
            self._writer.connect()
        except TesseraError as gone:
            log.warning("one connection less: %s", gone)
        return self.is_connected

    def held_up(self, jobs: list[Job]) -> list[Job]:
        """The claims among verbs that were just run that have found nothing, if what is ready is held."""
        return [job for job in jobs if isinstance(job.outcome, Empty)] if self._writer.passed_over else []

    def run(self, jobs: list[Job]) -> None:
        """Their outcomes are durable when this returns."""
        self._writer.passed_over = False
        left = jobs
        if len(jobs) > 1:
            try:
                self._writer.run(jobs)
                self._gone = None
                left = [job for job in jobs if job.outcome is AGAIN]
            except UnknownOutcome as unknown:
                left = []
                for job in jobs:
                    job.outcome = unknown
            except Exception:
                log.debug("a shared transaction was undone", exc_info=True)
                for job in jobs:
                    job.outcome = None
        for job in left:
            self._run_alone(job)

    def _run_alone(self, job: Job) -> None:
        """One verb, a transaction of its own, run again if it loses a race or its connection."""
        job.settled = job.settled if job.outcome is AGAIN else 0
        runtime = self._database.runtime
        if job.until is None:
            job.until = runtime.elapsed_us() + PATIENCE_SECONDS_MAX * SECOND_US
        if self._gone is not None and runtime.elapsed_us() >= job.until:
            job.outcome = self._gone
            return
        races = losses = 0
        while True:
            try:
                job.outcome = AGAIN
                while job.outcome is AGAIN:
                    self._writer.run([job])
                self._gone = None
                return
            except LostRace as race:
                races += 1
                job.outcome = Unavailable("the rows kept changing under the verb; try again", definite=True)
                log.debug("a verb lost a race: %s", race)
                if races >= LOST_RACES_MAX:
                    return
            except UnknownOutcome as unknown:
                job.outcome = unknown
                return
            except (Lost, Unavailable) as gone:
                self._gone = gone if isinstance(gone, Unavailable) else None
                job.outcome = self._gone or refusal_of(gone)
                losses += isinstance(gone, Lost)
                first_loss = isinstance(gone, Lost) and losses == 1  # no reason to give up, however late
                late = runtime.elapsed_us() >= job.until and not first_loss
                if late or self._database.closing.wait(_PAUSE_SECONDS):
                    log.warning("verb %s: %s", name_of(job), job.outcome)
                    return
            except TesseraError as refusal:
                job.outcome = refusal
                return
            except Exception as error:
                job.outcome = refusal_of(error)
                level = logging.ERROR if type(job.outcome) is TesseraError else logging.WARNING
                log.log(level, "verb %s failed", name_of(job), exc_info=error)
                return
