"""Two queues on PostgreSQL, one job at a time from eight workers: procrastinate and pgqueuer.

Each is given jobs that do nothing, and is timed from the first to the last that it runs. (Extra: bench.)
"""

from __future__ import annotations

import asyncio
import time
from datetime import timedelta

import asyncpg
import procrastinate
import psycopg
from pgqueuer import AsyncpgPoolDriver, Job, QueueManager
from pgqueuer.queries import Queries

from tessera.testing_postgres import on_database

JOBS = 4_000
WORKERS = 8


class Timer:
    """When jobs ran."""

    def __init__(self, seconds: float) -> None:
        self.enough = asyncio.Event()
        self._seconds = seconds
        self._first = self._last = 0.0
        self._done = 0

    def note(self) -> None:
        """One more."""
        self._last = time.perf_counter()
        self._first = self._first or self._last
        self._done += 1
        if self._done == JOBS or self._last - self._first > self._seconds:
            self.enough.set()

    def rate(self) -> float:
        """Jobs a second."""
        return (self._done - 1) / (self._last - self._first)


async def run_procrastinate(dsn: str, seconds: float) -> float:
    """Its worker with eight jobs at once."""
    connector = procrastinate.PsycopgConnector(conninfo=dsn, min_size=WORKERS, max_size=WORKERS + 4)
    app = procrastinate.App(connector=connector)
    timer = Timer(seconds)

    @app.task(name="nothing")
    async def nothing(n: int) -> None:
        timer.note()

    async with app.open_async():
        await app.schema_manager.apply_schema_async()
        await nothing.batch_defer_async(*({"n": n} for n in range(JOBS)))
        worker = asyncio.create_task(
            app.run_worker_async(concurrency=WORKERS, install_signal_handlers=False, wait=True)
        )
        await asyncio.wait_for(timer.enough.wait(), 60)
        worker.cancel()
        await asyncio.gather(worker, return_exceptions=True)
    return timer.rate()


async def run_pgqueuer(dsn: str, seconds: float) -> float:
    """Eight of its managers, each taking one job at a time."""
    pool = await asyncpg.create_pool(dsn, min_size=WORKERS, max_size=3 * WORKERS)
    queries = Queries(AsyncpgPoolDriver(pool))
    await queries.install()
    await queries.enqueue(["nothing"] * JOBS, [b"{}"] * JOBS, [0] * JOBS)
    timer = Timer(seconds)

    def manager() -> QueueManager:
        made = QueueManager(Queries(AsyncpgPoolDriver(pool)))

        @made.entrypoint("nothing")
        async def nothing(job: Job) -> None:
            timer.note()

        return made

    managers = [manager() for _ in range(WORKERS)]
    running = [
        asyncio.create_task(one.run(batch_size=1, dequeue_timeout=timedelta(seconds=5))) for one in managers
    ]
    await asyncio.wait_for(timer.enough.wait(), 60)
    for one in managers:
        one.shutdown.set()
    await asyncio.wait(running, timeout=20)
    pool.terminate()
    return timer.rate()


def measure(dsn: str, seconds: float) -> dict[str, float]:
    """Jobs a second of each, in databases of their own on a server."""
    rates = {}
    for name, run in (("procrastinate", run_procrastinate), ("pgqueuer", run_pgqueuer)):
        with psycopg.connect(dsn, autocommit=True) as connection:
            connection.execute(f"drop database if exists {name} with (force)")
            connection.execute(f"create database {name}")
        rates[name] = asyncio.run(run(on_database(dsn, name), seconds))
    return rates
