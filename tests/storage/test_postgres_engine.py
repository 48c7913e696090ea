"""The engine for PostgreSQL: what it does about time, lost answers, power cuts, secrets, verbs that wait."""

from __future__ import annotations

import signal
import threading
from dataclasses import replace

import psycopg
import pytest

import tessera
from tessera.errors import InvalidRequest, Unavailable
from tessera.limits import NEWS_BYTES_MAX, SECOND_US
from tessera.runtime import Runtime, real_runtime
from tessera.storage.jobs import Job
from tessera.storage.port import LostRace, News, Transaction
from tessera.storage.postgres.clock import Clock
from tessera.storage.postgres.connection import ENGINE, Dsn
from tessera.storage.postgres.crews import Runner
from tessera.storage.postgres.database import Database
from tessera.storage.postgres.engine import PostgresEngine
from tessera.storage.postgres.notices import EVERYTHING, decoded, encoded
from tessera.storage.postgres.proof import committed
from tessera.storage.postgres.writer import Writer
from tessera.testing import World
from tessera.testing_postgres import Server, database


def test_time_follows_the_database_and_never_falls() -> None:
    """An instant is the database's clock; one that was put back is outlived by the process's own, and one
    that only lags by a little stands still.
    """
    world = World(elapsed_us=0)
    clock = Clock(replace(world.runtime(), scripted=False))
    assert clock.instant(1_000, 0) == 1_000
    assert clock.instant(900, 0) == 1_000  # two connections, a moment apart
    assert clock.instant(2_000, 5_000) == 5_000  # the log has seen more
    world.pass_seconds(10)
    assert clock.instant(0, 0) == 5_000 + 10 * SECOND_US  # the clock was put back, time went on
    assert clock.instant(20 * SECOND_US, 0) == 20 * SECOND_US


def test_a_mark_tells_whether_a_commit_was_lost(dsn: str, store: tessera.Tessera) -> None:
    """A transaction that was committed is known by its mark; one that was not never will be, though its
    commit should still be on its way.
    """
    database = Database(Dsn(dsn), real_runtime())
    writer = Writer(database)

    def note(tx: Transaction, runtime: Runtime) -> int:
        tx.write("set_meta", name="reaper_last_run", value=7)
        return 1

    job = Job(note, ())
    writer.run([job])
    assert job.outcome == 1
    assert committed(database, writer._name, 1)
    assert not committed(database, writer._name, 2)
    assert not committed(database, writer._name, 2)  # what stands in its place is not taken for it
    with pytest.raises(LostRace):
        writer.run([Job(note, ())])
    writer.close()
    database.close()


def test_a_commit_is_measured_once(dsn: str, store: tessera.Tessera) -> None:
    """A transaction tells once how many verbs it carried, and how long its sync took: claims are let in by
    that.
    """
    engine = PostgresEngine(dsn, real_runtime())

    def note(tx: Transaction, runtime: Runtime) -> None:
        tx.write("set_meta", name="reaper_last_run", value=tx.now)

    for _ in range(3):
        engine.submit(note).result()
    engine.close()
    meter = engine._database.meter
    assert (sum(meter.batches.counts), meter.batches.total) == (3, 3)
    assert sum(meter.syncs.counts) == 3
    assert 0 < meter.sync_us < SECOND_US


def test_a_lost_answer_is_no_lost_commit(dsn: str, store: tessera.Tessera) -> None:
    """A connection that ends just before its commit, or just after, makes no verb fail and none happen
    twice.
    """
    real = real_runtime()
    for point in ("commit.before", "commit.written"):
        left = [2]

        def reach(name: str, point: str = point, left: list[int] = left) -> None:
            if name == point and left[0]:
                left[0] -= 1
                with psycopg.connect(dsn, autocommit=True) as admin:
                    admin.execute(
                        "select pg_terminate_backend(pid) from pg_stat_activity "
                        "where datname = current_database() and pid <> pg_backend_pid()"
                    )

        with tessera.open(dsn, runtime=replace(real, reach=reach)) as other:
            before = len(store.events(limit=1_000))
            other.enqueue(queue="q", kind="k", brief={})
            other.enqueue(queue="q", kind="k", brief={})
            assert left == [0]
            assert len(store.events(limit=1_000)) == before + 2


def test_what_was_answered_survives_a_power_cut() -> None:
    """A verb's answer, and a look's of what another session has committed without a sync, are on disk: the
    server dies at that moment, comes back, and has them.
    """
    with Server() as server, database(server.dsn) as dsn:
        store = tessera.open(dsn)
        store.define_queue("q")
        with psycopg.connect(dsn, autocommit=True) as other:
            other.execute("set synchronous_commit = off")
            task = store.enqueue(queue="q", kind="k", brief={})
            server.end(signal.SIGQUIT)
        server.start()
        assert store.task(task).state == "ready"
        with psycopg.connect(dsn, autocommit=True) as other:
            other.execute("set synchronous_commit = off")
            other.execute("update queues set weight = 77")
            assert store.queues()[0].weight == 77
            server.end(signal.SIGQUIT)
        server.start()
        assert store.queues()[0].weight == 77
        store.close()


def test_a_text_that_postgres_cannot_keep_is_refused(store: tessera.Tessera) -> None:
    """U+0000 in a free text is refused as invalid, changes nothing, and the next verb goes on."""
    store.enqueue(queue="q", kind="k", brief={"text": "\0 within a document is only its escape"})
    lease = store.claim("q", "w")
    with pytest.raises(InvalidRequest, match=r"U\+0000"):
        store.submit(lease.task_id, lease.fencing_token, None, "key", ok=False, error="no\0t kept")

    assert store.submit(lease.task_id, lease.fencing_token, {"text": "\0"}, "key").state == "done"
    assert store.results(lease.task_id)[0].output == {"text": "\0"}


def test_lease_holders_do_not_stand_behind_claims(dsn: str, store: tessera.Tessera) -> None:
    """While a claim waits in the database, heartbeats, submits and enqueues of the same process go on."""
    store.enqueue(queue="q", kind="k", brief={})
    store.enqueue(queue="q", kind="k", brief={})
    lease = store.claim("q", "w", idempotency_key="first")
    with psycopg.connect(dsn) as other:
        lock = ENGINE["lock_claim_keys"]
        other.execute(lock.text.replace("$1", "%s").encode(), ('["held"]',))
        claims: list[object] = []
        stuck = threading.Thread(target=lambda: claims.append(store.claim("q", "w", idempotency_key="held")))
        stuck.start()
        store.heartbeat(lease.task_id, lease.fencing_token)
        store.submit(lease.task_id, lease.fencing_token, {}, "key")
        store.enqueue(queue="q", kind="k", brief={})
        assert not claims
        other.rollback()
        stuck.join()
    assert claims


def test_news_fits_a_notification_and_is_not_ones_own() -> None:
    """Others hear which queues and tasks a commit is about, or, if that is too much to say, that anything
    may have changed; a process does not hear itself.
    """
    news = News(
        ready=frozenset({"q"}), events=[("submitted", "t_1"), ("heartbeat", "t_2"), ("heartbeat", "t_3")]
    )
    text = encoded(news, "node-1")
    assert text is not None
    assert decoded(text, "node-1") is None
    told = decoded(text, "node-2")
    assert told is not None
    assert told.ready == {"q"}
    assert sorted(told.events) == [("heartbeat", None), ("submitted", "t_1")]
    much = encoded(News(events=[("submitted", f"t_{n}") for n in range(1_000)]), "node-1")
    assert much is not None
    assert len(much) < NEWS_BYTES_MAX
    assert decoded(much, "node-2") == EVERYTHING == decoded("of another version", "node-2")
    assert encoded(News(), "node-1") is None


def test_a_password_is_told_to_nobody(caplog: pytest.LogCaptureFixture) -> None:
    """Neither a refusal nor a log repeats the URL's password, whatever is wrong with the URL."""
    secret = "open-sesame"
    for rest in (f"me:{secret}@127.0.0.1:1/db", f"me:{secret}@h:bad/db", f"me:{secret}%@h/db",
                 f"h/db?password={secret}&port=1&host=127.0.0.1"):  # fmt: skip
        with pytest.raises((Unavailable, InvalidRequest)) as refused:
            tessera.open(f"postgresql://{rest}")
        assert secret not in str(refused.value)
    found = tessera.doctor(f"postgresql://me:{secret}@127.0.0.1:1/db")
    assert not found.ok
    assert secret not in repr(found) + caplog.text


def test_a_runner_gives_every_verb_an_outcome(dsn: str, store: tessera.Tessera) -> None:
    """Verbs that fail together are run alone: the one at fault is refused, its neighbours are answered."""
    database = Database(Dsn(dsn), real_runtime())
    runner = Runner(database)

    def good(tx: object, runtime: Runtime) -> str:
        return "good"

    def bad(tx: object, runtime: Runtime) -> str:
        raise ZeroDivisionError

    jobs = [Job(good, ()), Job(bad, ()), Job(good, ())]
    runner.run(jobs)
    assert [jobs[0].outcome, jobs[2].outcome] == ["good", "good"]
    assert getattr(jobs[1].outcome, "code", None) == "internal"
    runner.close()
    database.close()


def test_a_listener_that_fails_runs_no_verb_again(dsn: str, store: tessera.Tessera) -> None:
    """What is told after a commit may go wrong; the verb has happened, once, and is answered."""
    database = Database(Dsn(dsn), real_runtime())
    runner = Runner(database)
    times: list[int] = []

    def told(tx: Transaction, runtime: Runtime) -> str:
        times.append(1)
        tx.write("set_meta", name="reaper_last_run", value=len(times))
        tx.after_commit(lambda: 1 // 0)
        return "done"

    job = Job(told, ())
    runner.run([job])
    runner.close()
    database.close()

    assert (job.outcome, times) == ("done", [1])
    assert store.health().reaper_last_run is not None
