"""Rows and locks that others hold on PostgreSQL: what claims make of them, and who cuts off the silent."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace

import psycopg
import pytest
from storage.sound import QUEUE, until_one_waits

import tessera
from tessera.models import Claim, Empty, Lease
from tessera.rules.grants import OWNER
from tessera.runtime import real_runtime
from tessera.storage.jobs import Job
from tessera.storage.postgres.connection import ENGINE, SESSION, Dsn
from tessera.storage.postgres.crews import Crew, Runner
from tessera.storage.postgres.database import Database
from tessera.storage.postgres.engine import PostgresEngine
from tessera.storage.postgres.writer import Writer
from tessera.surface import SURFACE
from tessera.testing import World
from tessera.verbs.claim import claim

HELD = """select from pg_locks l join pg_database d on d.oid = l.database
  where l.locktype = 'advisory' and l.granted and d.datname = current_database()"""
LOCK = "select from tasks where task_id = %s for no key update"


def test_a_library_cuts_a_silent_process_off(
    dsn: str, store: tessera.Tessera, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Where no node looks out for it, a process that has fallen silent in the middle of a transaction, with
    the log locked, is cut off by whoever has waited for it, and that verb is carried out.
    """
    monkeypatch.setitem(SESSION, "lock_timeout", "1500")
    monkeypatch.setattr("tessera.storage.postgres.writer.IDLE_VERB_SECONDS_MAX", 1)
    with tessera.open(dsn) as waiting, psycopg.connect(dsn, application_name="tessera") as one:
        one.pgconn.enter_pipeline_mode()
        for statement in ("begin", ENGINE["lock_log"].text):
            one.pgconn.send_query_params(statement.encode(), None)
        one.pgconn.send_flush_request()
        one.pgconn.flush()
        with psycopg.connect(dsn, autocommit=True) as looking:
            while looking.execute(HELD).fetchone() is None:
                pass
        task_id = waiting.enqueue(queue="q", kind="k", brief={})
        assert waiting.task(task_id).state == "ready"
        one.pgconn.finish()
    assert "ended 1 transactions" in caplog.text


def test_a_claim_looks_again_at_what_others_let_go_of(dsn: str, store: tessera.Tessera) -> None:
    """A ready task that another transaction holds and leaves as it was is claimed by the call that had passed
    over it, with filters and without, and beside a claim that took another.
    """
    for number in range(3):
        store.enqueue(queue="q", kind="k", brief={}, task_id=f"t{number}")
    real = real_runtime()
    with psycopg.connect(dsn) as other:
        for number, asked in enumerate(({}, {"kinds": ["k"]}, {"effect_classes": ["read"]})):
            other.execute("select from tasks where task_id = %s for update", (f"t{number}",))
            held = [store.claim("q", "w") for _ in range(2 - number)]
            looks: list[str] = []

            def reach(point: str, looks: list[str] = looks) -> None:
                if point == "claim.read":
                    looks.append(point)
                    other.rollback()

            with tessera.open(dsn, runtime=replace(real, reach=reach)) as claimer:
                lease = claimer.claim("q", "w", **asked)
            assert lease is not None
            assert lease.task_id == f"t{number}"
            assert len(looks) == 2
            for one in held:
                assert one is not None
                store.release(one.task_id, one.fencing_token)


def test_a_claim_says_that_others_hold_what_is_ready(dsn: str, store: tessera.Tessera) -> None:
    """As long as a ready task is held, a claim is told to come back in a second; not so one that looks for
    another kind, nor one of a paused queue, nor one beside a claim that has just taken the last task.
    """
    store.enqueue(queue="q", kind="k", brief={}, task_id="held")
    ask, other_kind = Claim("w", queue="q"), Claim("w", queue="q", kinds=["other"])
    engine = PostgresEngine(dsn, real_runtime())
    with psycopg.connect(dsn) as other:
        other.execute("select from tasks for update")
        assert engine.submit(claim, OWNER, ask).result() == Empty(retry_after_seconds=1)
        assert engine.submit(claim, OWNER, other_kind).result() == Empty(retry_after_seconds=30)
        store.pause_queue("q")
        assert engine.submit(claim, OWNER, ask).result() == Empty(retry_after_seconds=30)
        store.resume_queue("q")
    engine.close()
    database = Database(Dsn(dsn), real_runtime())
    writer = Writer(database)
    run = SURFACE["claim"].run()  # the two as one, as an engine runs them
    jobs = [Job(run, (OWNER, ask)), Job(run, (OWNER, ask))]
    writer.run(jobs)

    assert isinstance(jobs[0].outcome, Lease)
    assert isinstance(jobs[1].outcome, Empty)
    assert not writer.passed_over
    writer.close()
    database.close()


def test_a_lapse_that_meets_a_submit_out_of_order_is_run_again(dsn: str, world: World) -> None:
    """A settle that holds a child and wants its parent, while somebody holds the parent and wants the child,
    as a submit would: the database ends one of them, and the settle is carried out, whichever it was. It is
    the settle that is ended and run again, but where a slow machine let its wait outlast `deadlock_timeout`
    before the other one began to wait.
    """
    with tessera.open(dsn, runtime=world.runtime()) as store, ThreadPoolExecutor(1) as aside:
        store.define_queue("q", **QUEUE, max_attempts=1)
        parent = store.enqueue(queue="q", kind="k", brief={})
        (child,) = store.split(store.claim("q", "w").task_id, 1, [{"brief": {}}])
        assert store.claim("q", "gone").task_id == child
        world.pass_seconds(7_200)
        with psycopg.connect(dsn) as other:
            other.execute(LOCK, (parent,))
            claiming = aside.submit(store.claim, "q", "w")
            until_one_waits(dsn)
            with suppress(psycopg.errors.DeadlockDetected):
                other.execute(LOCK, (child,))
        lease = claiming.result() or store.claim("q", "w")  # by now nobody holds either

        assert (lease.task_id, lease.children[0].state) == (parent, "dead")
        assert store.counts(recount=True).agree
        assert [one.type for one in store.events(limit=100)].count("lease_lapsed") == 1


def test_who_looks_again_holds_up_nobody(dsn: str, store: tessera.Tessera) -> None:
    """A claim that got something is answered before its neighbour, in the same transaction, looks again for
    what is held; while one looks again, another one is answered as it is.
    """
    store.define_queue("other", **QUEUE)
    store.enqueue(queue="q", kind="k", brief={})
    store.enqueue(queue="other", kind="k", brief={})
    database = Database(Dsn(dsn), real_runtime())
    answered: list[list[Job]] = []
    crew, runner = Crew(database, "claiming", answered.append), Runner(database)
    held, free, late = (Job(claim, (OWNER, Claim("w", queue=queue))) for queue in ("q", "other", "q"))
    with psycopg.connect(dsn) as other:
        other.execute("select from tasks t join queues using (queue) where name = 'q' for update of t")
        crew._run(runner, [held, free])
        assert answered == [[free], [held]]
        with crew._looks_again:
            crew._run(runner, [late])
        assert answered == [[free], [held], [late]]

    assert isinstance(free.outcome, Lease)
    assert held.outcome == late.outcome == Empty(retry_after_seconds=1)
    runner.close()
    database.close()
