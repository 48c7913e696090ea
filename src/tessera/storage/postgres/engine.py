"""The engines for a store on PostgreSQL: one for threads (library, command line), one for an event loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any

import psycopg

from tessera.errors import Unavailable
from tessera.limits import READERS_MAX
from tessera.runtime import Runtime
from tessera.storage.forks import USED_BY_PARENT, keep, watch
from tessera.storage.jobs import Job, answer, resolve
from tessera.storage.port import Answer, News, Verb
from tessera.storage.postgres.connection import Dsn, refusal_of
from tessera.storage.postgres.crews import Crews
from tessera.storage.postgres.database import Database
from tessera.storage.postgres.listening import Listener
from tessera.storage.postgres.migrate import migrate
from tessera.storage.postgres.readers import Readers


def _opened(url: str, runtime: Runtime) -> Database:
    database = Database(Dsn(url), runtime)
    try:
        with database.plain() as connection:
            migrate(connection, runtime)
        database.read_clock()
    except BaseException as error:
        database.close()
        if isinstance(error, psycopg.Error):
            raise refusal_of(error) from error
        raise
    return database


class PostgresEngine:
    """Verbs from any thread, answered once they are committed."""

    def __init__(self, url: str, runtime: Runtime) -> None:
        self._database = _opened(url, runtime)
        self._crews = Crews(self._database, answer)
        self._readers = Readers(self._database)
        self._closing = threading.Lock()
        self._refusal: str | None = None  # why no verb runs any more
        watch(self)

    def submit(self, verb: Verb, *args: Any) -> Answer:
        """Run a verb; the future holds its answer or refusal."""
        self._check()
        future: Future[Any] = Future()
        self._crews.add(Job(verb, args, partial(resolve, future)))
        return future

    def read(self, look: Verb, *args: Any) -> Any:
        """Run a look beside the verbs."""
        self._check()
        return self._readers.read(look, *args)

    def close(self) -> None:
        """Run what was asked before, then let go of the database. A second call does nothing."""
        with self._closing:
            if self._refusal is None:
                self._refusal = "the store is closed"
                self._database.closing.set()  # what the database does not answer is refused at once
                self._crews.close()
                self._readers.close()
                self._database.close()

    def stand_still(self) -> None:
        """A fork does no harm to what its child never touches."""

    def go_on(self) -> None:
        """Nor to the parent."""

    def forked(self) -> None:
        """In the child, which has none of the threads: the connections stay its parent's."""
        if self._refusal is None:
            self._refusal = USED_BY_PARENT
            self._closing = threading.Lock()
            keep(self._database, self._crews, self._readers)

    def _check(self) -> None:
        if self._refusal is not None:
            raise Unavailable(self._refusal, definite=True)


class PostgresLoopEngine:
    """Verbs from one event loop, and news of what any process has committed. Call everything from the loop's
    thread.
    """

    def __init__(self, url: str, runtime: Runtime, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._database = _opened(url, runtime)
        self.meter = self._database.meter
        self._crews = Crews(self._database, self._answer)
        self._readers = Readers(self._database)
        self._pool = ThreadPoolExecutor(READERS_MAX, thread_name_prefix="tessera-read")
        self._listener: Listener | None = None
        self._refusal: str | None = None
        watch(self)

    def submit(self, verb: Verb, *args: Any) -> asyncio.Future[Any]:
        """Run a verb; the future holds its answer or refusal once that is committed."""
        future: asyncio.Future[Any] = self._loop.create_future()
        self.call(partial(resolve, future), verb, *args)
        return future

    def call(self, then: Callable[[Any], None], verb: Verb, *args: Any) -> None:
        """Run a verb; `then` is called with its answer or refusal once that is committed."""
        if self._refusal is not None:
            then(Unavailable(self._refusal, definite=True))
        else:
            self._crews.add(Job(verb, args, then))

    def read(self, look: Verb, *args: Any) -> asyncio.Future[Any]:
        """Run a look beside the verbs, in a thread."""
        return self.compute(partial(self._readers.read_until, self._readers.until(), look, *args))

    def compute(self, work: Callable[[], Any]) -> asyncio.Future[Any]:
        """Compute something in a thread."""
        if self._refusal is not None:
            future: asyncio.Future[Any] = self._loop.create_future()
            future.set_exception(Unavailable(self._refusal, definite=True))
            return future
        return self._loop.run_in_executor(self._pool, work)

    def watch(self, tell: Callable[[News], None]) -> None:
        """From now on, call this on the loop after each commit, here or elsewhere, that changed something."""

        def on_loop(news: News) -> None:
            if self._refusal is None:
                self._loop.call_soon_threadsafe(tell, news)

        self._database.watch = on_loop
        self._listener = Listener(self._database, on_loop)

    def _answer(self, jobs: list[Job]) -> None:
        self._loop.call_soon_threadsafe(answer, jobs)

    def close(self) -> None:
        """Run and answer what was asked before, then let go of the database."""
        if self._refusal is not None:
            return
        self._refusal = "the store is closed"
        self._database.closing.set()  # what the database does not answer is refused at once
        self._crews.close()
        if self._listener is not None:
            self._listener.close()
        self._pool.shutdown()
        self._readers.close()
        self._database.close()

    def stand_still(self) -> None:
        """A fork does no harm to what its child never touches."""

    def go_on(self) -> None:
        """Nor to the parent."""

    def forked(self) -> None:
        """In the child, which has none of the threads: the connections stay its parent's."""
        if self._refusal is None:
            self._refusal = USED_BY_PARENT
            keep(self._database, self._crews, self._readers, self._listener)
