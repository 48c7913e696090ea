"""What travels to PostgreSQL and back: how often, how far ahead, in which form."""

from __future__ import annotations

import psycopg
import pytest
from storage.pooler import Pooler

import tessera
from tessera.errors import Unavailable
from tessera.runtime import Runtime, real_runtime
from tessera.storage.jobs import Job
from tessera.storage.port import LostRace, Transaction
from tessera.storage.postgres.arrays import arrays_of
from tessera.storage.postgres.connection import Dsn
from tessera.storage.postgres.database import Database
from tessera.storage.postgres.link import Asked, Link
from tessera.storage.postgres.writer import Writer


def test_bytes_larger_than_a_socket_takes(store: tessera.Tessera) -> None:
    """Pieces of a blob travel whole, whatever the socket holds."""
    data = bytes(range(256)) * 20_000
    for _ in range(3):
        assert store.get_blob(store.put_blob(data)) == data


def test_reads_travel_with_the_opening(
    dsn: str, store: tessera.Tessera, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A claim is two round trips, and so is a submit."""
    trips: list[str] = []
    flush = Link.flush
    monkeypatch.setattr(Link, "flush", lambda self: (trips.append(""), flush(self)))
    for task in range(3):
        store.enqueue(queue="q", kind="k", brief={"n": task})
    for after_the_first in (False, True):
        trips.clear()
        lease = store.claim("q", "w")
        if after_the_first:  # which still has to learn of the queue
            assert len(trips) == 2
        trips.clear()
        store.submit(lease.task_id, lease.fencing_token, {}, f"key-{lease.task_id}")
        if after_the_first:
            assert len(trips) == 2


@pytest.mark.parametrize("sent_ahead", [False, True])
def test_what_was_sent_ahead_is_undone_too(dsn: str, store: tessera.Tessera, sent_ahead: bool) -> None:
    """A transaction that fails with writes on their way to the server leaves nothing of them, and its
    connection serves the next one.
    """
    database = Database(Dsn(dsn), real_runtime())
    writer = Writer(database)

    def fail(tx: Transaction, runtime: Runtime) -> None:
        tx.write("set_meta", name="reaper_last_run", value=7)
        if sent_ahead:
            assert writer.link is not None
            writer.link.send()
        raise LostRace("on purpose")

    with pytest.raises(LostRace):
        writer.run([Job(fail, ())])
    link = writer.link
    assert store.health().reaper_last_run is None
    job = Job(lambda tx, runtime: tx.all("all_queues"), ())
    writer.run([job])

    assert [queue.name for queue in job.outcome] == ["q"]
    assert writer.link is link
    writer.close()
    database.close()


def test_a_failure_of_what_was_sent_ahead_comes_with_the_answers(dsn: str, store: tessera.Tessera) -> None:
    """A write that fails on the server while the verb goes on undoes the transaction as any other does."""
    database = Database(Dsn(dsn), real_runtime())
    writer = Writer(database)

    def add(tx: Transaction, runtime: Runtime) -> None:
        tx.write("set_meta", name=None, value=7)
        assert writer.link is not None
        writer.link.send()
        tx.write("set_meta", name="reaper_last_run", value=7)

    with pytest.raises(psycopg.errors.NotNullViolation):
        writer.run([Job(add, ())])
    assert store.health().reaper_last_run is None
    writer.close()
    database.close()


def test_a_batch_is_sent_ahead(store: tessera.Tessera, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows of a large batch are on their way before the log's lines are made, and all arrive."""
    store.enqueue_batch([{"queue": "q", "kind": "k", "brief": {"n": number}} for number in range(100)])
    sent: list[list[str]] = []
    send = Link.send

    def noted(self: Link) -> None:
        sent.append([one.statement.name for one in self._expected if isinstance(one, Asked)])
        send(self)

    monkeypatch.setattr(Link, "send", noted)
    leases = store.claim_batch("q", "w", 100)

    assert sent == [["save_task"], ["save_task", "insert_lease"]]
    assert len({lease.task_id for lease in leases}) == 100


def test_rows_arrive_as_they_were_given(dsn: str) -> None:
    """Every text, number, truth and null of a column is the same behind the server's reading of it."""
    texts = [
        'a"b', r"a\b", r"\"", "NULL", "null", "", " , ", "{x}", "a\nb\n", "\t\x01\x7f\b", "ü𝄞\u2028", None,
    ]  # fmt: skip
    numbers = [0, -1, 2**62, -(2**63), None, 2**53 + 1, 7, 8, 9, 10, 11, 12]
    truths = [True, False, None] * 4
    nulls = [None] * 12
    given = arrays_of(list(zip(texts, numbers, truths, nulls, strict=True)))
    assert given[3] is None
    with psycopg.connect(dsn) as connection:
        rows = connection.execute(
            "select * from unnest(%s::text[], %s::bigint[], %s::smallint[], %s::text[])", given
        ).fetchall()

    assert rows == [
        (text, number, None if truth is None else int(truth), None)
        for text, number, truth in zip(texts, numbers, truths, strict=True)
    ]


def test_a_pooler_that_lends_by_the_transaction_is_refused(dsn: str, store: tessera.Tessera) -> None:
    """Behind a pooler that gives each client a connection of its own, a store is opened and used; behind one
    that lends them by the transaction it is refused, in words that say what to set.
    """
    with Pooler(dsn, by_the_transaction=False) as pooler, tessera.open(pooler.dsn) as other:
        assert [queue.name for queue in other.queues()] == ["q"]
    with (
        Pooler(dsn, by_the_transaction=True) as pooler,
        pytest.raises(Unavailable, match="set pool_mode = session"),
    ):
        tessera.open(pooler.dsn)
    with Pooler(dsn, by_the_transaction=True) as pooler:
        (advice,) = tessera.doctor(pooler.dsn).advice
    assert "by the session" in str(advice.do)
