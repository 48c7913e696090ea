"""The yardstick on PostgreSQL: the least that a queue could do there.

One table with one partial index, psycopg with prepared statements, a claim of one bare statement with
`SKIP LOCKED` and a submit of another, each a durable transaction; no lease, no token, no receipt, no log.
"""

from __future__ import annotations

import threading
import time

import psycopg

from benchmarks.plain import BRIEF, OUTPUT

SCHEMA = """
drop table if exists plain;
create table plain (id bigint generated always as identity primary key, state smallint not null,
                    priority int not null, brief text not null, worker text, output text)
  with (fillfactor = 50);
create index plain_ready on plain (priority desc, id) where state = 0;
"""
FILL = "insert into plain (state, priority, brief) select 0, i %% 5, %s from generate_series(1, %s::int) i"
CLAIM = """update plain set state = 1, worker = %s where id = (
             select id from plain where state = 0 order by priority desc, id limit 1 for update skip locked)
           returning id, brief"""
SUBMIT = "update plain set state = 2, output = %s where id = %s"
CLAIM_MANY = """update plain set state = 1, worker = %s where id in (
                  select id from plain where state = 0 order by priority desc, id limit %s
                  for update skip locked) returning id, brief"""
SUBMIT_MANY = """update plain set state = 2, output = given.output
                 from unnest(%s::bigint[], %s::text[]) as given (id, output) where plain.id = given.id"""


def connect(dsn: str) -> psycopg.Connection:
    """A connection as a careful user would open it."""
    return psycopg.connect(dsn, autocommit=True, prepare_threshold=1)


def fill(dsn: str, tasks: int) -> None:
    """A new table with ready tasks."""
    with connect(dsn) as connection:
        connection.execute(SCHEMA)
        connection.execute(FILL, (BRIEF, tasks))
        connection.execute("vacuum analyze plain")


def pairs(connection: psycopg.Connection, end: float) -> int:
    """Claim and submit one at a time until the time is up."""
    done = 0
    while time.perf_counter() < end:
        found = connection.execute(CLAIM, ("w",)).fetchone()
        assert found is not None
        connection.execute(SUBMIT, (OUTPUT, found[0]))
        done += 1
    return done


def batches(connection: psycopg.Connection, end: float, size: int = 100) -> int:
    """The same with one statement for many tasks."""
    done = 0
    while time.perf_counter() < end:
        tasks = [task for task, _ in connection.execute(CLAIM_MANY, ("w", size)).fetchall()]
        connection.execute(SUBMIT_MANY, (tasks, [OUTPUT] * len(tasks)))
        done += len(tasks)
    return done


def callers(dsn: str, seconds: float, number: int) -> int:
    """Pairs from so many threads, each with a connection of its own."""
    done = [0] * number
    connections = [connect(dsn) for _ in range(number)]
    end = time.perf_counter() + seconds

    def work(index: int) -> None:
        done[index] = pairs(connections[index], end)

    workers = [threading.Thread(target=work, args=(index,)) for index in range(number)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    for connection in connections:
        connection.close()
    return sum(done)


def batched(dsn: str, seconds: float) -> int:
    """Batches from one connection."""
    with connect(dsn) as connection:
        return batches(connection, time.perf_counter() + seconds)
