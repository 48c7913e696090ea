"""The yardstick: the least that a queue on SQLite could do.

One table with two indexes, the standard module, a claim and a submit of one bare statement each; no lease, no
token, no receipt, no log.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from pathlib import Path

BRIEF = '{"goal":"' + "x" * 300 + '","n":1}'
OUTPUT = '{"items":[1,2,3],"score":0.5,"summary":"' + "y" * 300 + '"}'
SCHEMA = """
create table tasks (id integer primary key, state integer not null, priority integer not null,
                    brief text not null, worker text, output text);
create index tasks_ready on tasks (priority desc, id) where state = 0;
create index tasks_worker on tasks (worker) where state = 1;
"""
CLAIM = """update tasks set state = 1, worker = ? where id = (
             select id from tasks where state = 0 order by priority desc, id limit 1) returning id, brief"""
SUBMIT = "update tasks set state = 2, output = ? where id = ?"


def connect(path: Path, synchronous: str) -> sqlite3.Connection:
    """A connection as a careful user would open it."""
    connection = sqlite3.connect(path, isolation_level=None, timeout=30, check_same_thread=False)
    connection.execute("pragma journal_mode = wal")
    connection.execute(f"pragma synchronous = {synchronous}")
    return connection


def fill(path: Path, tasks: int) -> None:
    """A new table with ready tasks."""
    connection = connect(path, "off")
    connection.executescript(SCHEMA)
    connection.execute("begin")
    rows = ((n % 5, BRIEF) for n in range(tasks))
    connection.executemany("insert into tasks (state, priority, brief) values (0, ?, ?)", rows)
    connection.execute("commit")
    connection.execute("pragma wal_checkpoint(truncate)")
    connection.close()


def pairs(connection: sqlite3.Connection, end: float) -> int:
    """Claim and submit one at a time, each its own transaction, until the time is up."""
    done = 0
    while time.perf_counter() < end:
        task, _ = connection.execute(CLAIM, ("w",)).fetchone()
        connection.execute(SUBMIT, (OUTPUT, task))
        done += 1
    return done


def batches(connection: sqlite3.Connection, end: float, size: int = 100) -> int:
    """The same with many statements in each transaction."""
    done = 0
    while time.perf_counter() < end:
        connection.execute("begin immediate")
        tasks = [connection.execute(CLAIM, ("w",)).fetchone()[0] for _ in range(size)]
        connection.execute("commit")
        connection.execute("begin immediate")
        for task in tasks:
            connection.execute(SUBMIT, (OUTPUT, task))
        connection.execute("commit")
        done += size
    return done


def threads(path: Path, seconds: float, number: int) -> int:
    """One pair at a time in each of several threads, every thread with its own connection."""
    done = [0] * number
    end = time.perf_counter() + seconds

    def work(index: int) -> None:
        connection = connect(path, "full")
        done[index] = pairs(connection, end)
        connection.close()

    workers = [threading.Thread(target=work, args=(index,)) for index in range(number)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return sum(done)
