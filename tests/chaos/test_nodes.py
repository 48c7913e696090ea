"""Two services on one database are one: what one has done, the other knows at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from time import monotonic

import psycopg
import pytest
from race.crew import at_once, together
from service.running import Aside

import tessera
from chaos.nodes import Node
from chaos.storm import BACKENDS
from tessera.errors import Unauthorized, Unavailable
from tessera.library import Tessera
from tessera.models import Lease, Receipt
from tessera.runtime import real_runtime
from tessera.storage.postgres.connection import ENGINE
from tessera.testing_postgres import database

LONG = {"lease_seconds": 3_600, "heartbeat_seconds": 600}
SOON_SECONDS = 2.0  # a node that only looks now and then takes longer: see LISTEN_SECONDS


@pytest.fixture(scope="module")
def shared(postgres: str) -> Iterator[str]:
    """The DSN of a database that the tests of this module share, with queues of their own."""
    with database(postgres) as dsn:
        yield dsn


@pytest.fixture(scope="module")
def nodes(shared: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Tessera]]:
    """Clients of two services on it, with all rights and no patience: what fails is not tried again."""
    folder = tmp_path_factory.mktemp("nodes")
    with tessera.open(shared) as store:
        key = store.issue_key(scopes=["admin", "store"]).key
    running = [Node(f"node-{n}", shared, folder) for n in range(2)]
    with ExitStack() as stack:
        for node in running:
            stack.callback(node.kill)
        yield [stack.enter_context(tessera.Client(node.url, key, retries=0)) for node in running]
        assert all("Traceback" not in node.log.read_text() for node in running)


def test_n05_postgres_a_revoked_key_counts_nowhere(nodes: list[Tessera]) -> None:
    """N05: a key that was used at both nodes and is revoked at one is refused by the other with its next
    request.
    """
    for _ in range(5):
        issued = nodes[0].issue_key(scopes=["admin"])
        holders = [node.as_key(issued.key) for node in nodes]
        assert all(holder.counts() for holder in holders)
        nodes[0].revoke_key(issued.grant.key_id)
        for holder in holders:
            with pytest.raises(Unauthorized):
                holder.counts()


def test_n06_postgres_waiting_claims_are_told(nodes: list[Tessera]) -> None:
    """N06: a claim that waits at one node has the task that was enqueued at the other in less than the time
    after which it would look by itself.
    """
    nodes[0].define_queue("told", **LONG)
    for _ in range(3):
        waiting = Aside(nodes[1].claim, "told", "w", wait_seconds=20)
        nodes[1].counts()  # the other one was sent first
        start = monotonic()
        task_id = nodes[0].enqueue(queue="told", kind="k", brief={})
        lease = waiting.result()
        assert lease.task_id == task_id
        assert monotonic() - start < SOON_SECONDS


def test_n07_postgres_a_lost_answer_is_asked_for_elsewhere(nodes: list[Tessera]) -> None:
    """N07: a claim whose answer was lost with its node gives the same lease at another, a submit the first
    receipt: nothing is claimed or stored twice.
    """
    nodes[0].define_queue("lost", **LONG)
    ids = [nodes[0].enqueue(queue="lost", kind="k", brief={}) for _ in range(2)]
    leases = [node.claim("lost", "w", idempotency_key="lost-claim") for node in nodes]
    assert leases[0] is not None
    assert leases[0] == leases[1]
    held = (leases[0].task_id, leases[0].fencing_token)
    receipts = [node.submit(*held, {"by": n}, "lost-submit") for n, node in enumerate(nodes)]

    assert [receipt.replayed for receipt in receipts] == [False, True]
    assert receipts[0].sha256 == receipts[1].sha256
    assert [len(nodes[1].results(task_id)) for task_id in ids] == [1, 0]


def test_n07_postgres_the_same_request_at_all_nodes_at_once(nodes: list[Tessera]) -> None:
    """N07: the same enqueue, claim and submit sent to both nodes at the same moment are carried out once."""
    nodes[0].define_queue("twice", **LONG)
    for number in range(10):
        task_id, key = f"twice-{number}", f"twice:{number}"
        spec = {"queue": "twice", "kind": "k", "brief": {}, "task_id": task_id}
        assert at_once(4, lambda n, spec=spec: nodes[n % 2].enqueue(spec)) == [task_id] * 4
        nodes[0].enqueue(queue="twice", kind="k", brief={}, priority=-1)  # which nobody may be given
        leases = at_once(4, lambda n, key=key: nodes[n % 2].claim("twice", "w", idempotency_key=key))
        assert {(lease.task_id, lease.fencing_token) for lease in leases} == {(task_id, 1)}
        receipts = at_once(
            4, lambda n, task_id=task_id, key=key: nodes[n % 2].submit(task_id, 1, {"by": n}, key)
        )
        assert len({receipt.sha256 for receipt in receipts}) == 1
        assert [receipt.replayed for receipt in receipts].count(False) == 1
        assert len(nodes[0].results(task_id)) == 1


def test_n08_postgres_skewed_clocks_end_no_lease(shared: str) -> None:
    """N08: a node whose machine's clock is two hours ahead, or behind, ends no lease that another gave, nor
    gives one that is over: the database's clock counts.
    """
    real = real_runtime()
    with ExitStack() as stack:
        stores = [
            stack.enter_context(
                tessera.open(shared, runtime=replace(real, now_us=lambda by=by: real.now_us() + by))
            )
            for by in (0, 7_200_000_000, -7_200_000_000)
        ]
        stores[0].define_queue("skew", lease_seconds=600, heartbeat_seconds=300)
        for giver in stores:
            task_id = giver.enqueue(queue="skew", kind="k", brief={})
            lease = giver.claim("skew", "w")
            assert isinstance(lease, Lease)
            for other in stores:
                other.reap()
                assert other.claim("skew", "thief") is None
                other.heartbeat(task_id, lease.fencing_token)
            assert giver.submit(task_id, lease.fencing_token, {}, f"skew:{task_id}").ok


def test_n09_postgres_nodes_that_reap_at_once_count_a_lapse_once(shared: str) -> None:
    """N09: when several nodes reap the same lapsed leases at the same moment, while others claim, each lapse
    is one failure, one line in the log, and one lease for somebody else.
    """
    with ExitStack() as stack:
        stores = [stack.enter_context(tessera.open(shared)) for _ in range(4)]
        quick = {"lease_seconds": 10, "heartbeat_seconds": 1, "miss_limit": 1, "backoff_base_seconds": 0}
        stores[0].define_queue("lapse", **quick)
        ids = stores[0].enqueue_batch([{"queue": "lapse", "kind": "k", "brief": {}}] * 40)
        first = stores[0].claim_batch("lapse", "gone", 40)
        due = max(lease.expires_at for lease in first)
        while stores[0].health().time <= due:  # a second, by the database's clock
            pass
        stores[0].define_queue("lapse", **{**quick, **LONG})
        reaps = [store.reap for store in stores]
        claims = [lambda store=store: store.claim_batch("lapse", "heir", 40) for store in stores]
        answers = together([*reaps, *claims])
        heirs = [lease.task_id for leases in answers[4:] for lease in leases]
        heirs += [lease.task_id for lease in stores[0].claim_batch("lapse", "heir", 40)]

        assert sorted(heirs) == sorted(ids)
        assert {(task.failures, task.attempts) for task in map(stores[0].task, ids)} == {(1, 2)}
        assert stores[0].counts(recount=True).agree


def test_n10_postgres_ended_connections_are_nobodys_error(nodes: list[Tessera], shared: str) -> None:
    """N10: after every connection was ended under its node, the very next requests of all kinds are answered,
    as are those that wait.
    """
    nodes[0].define_queue("ended", **LONG)
    with psycopg.connect(shared, autocommit=True) as connection:
        for _ in range(3):
            waiting = Aside(nodes[1].claim, "ended", "w", wait_seconds=20)
            for node in nodes:
                node.counts()
            ended = connection.execute(f"{BACKENDS} and datname = current_database()").fetchone()
            assert ended is not None
            assert ended[0] > 0
            for node in nodes:
                assert node.counts().queues["ended"].leased == 0
                assert node.health().db_ok
            task_id = nodes[0].enqueue(queue="ended", kind="k", brief={})
            lease = waiting.result()
            assert lease.task_id == task_id
            nodes[1].submit(task_id, lease.fencing_token, {}, f"ended:{task_id}")


def patiently(act: Callable[[], Receipt]) -> Receipt:
    """What comes of an act that certainly did nothing while it was refused."""
    end = monotonic() + 30
    while True:
        try:
            return act()
        except Unavailable as refusal:
            if not refusal.definite or monotonic() > end:
                raise


def test_n11_postgres_what_others_are_settling_holds_up_no_claim(nodes: list[Tessera], shared: str) -> None:
    """N11: while somebody else has locked everything that has fallen due, and does not go on, claims give
    what is ready and the reaper ends its round; afterwards what was due is settled.
    """
    nodes[0].define_queue("held", **LONG)
    late = nodes[0].enqueue(queue="held", kind="late", brief={}, delay_seconds=0.2)
    with psycopg.connect(shared, application_name="somebody else") as holder:
        holder.execute("select 1 from tasks where task_id = %s for update", (late,))
        while nodes[0].health().time < str(nodes[0].task(late).not_before):
            pass
        for node in nodes:
            task_id = node.enqueue(queue="held", kind="k", brief={})
            lease = Aside(node.claim, "held", "w").result(5)
            assert lease.task_id == task_id
            assert Aside(node.reap).result(5) >= 0
        holder.rollback()
    lease = nodes[1].claim("held", "w", wait_seconds=5)
    assert lease is not None
    assert lease.task_id == late


def test_n12_postgres_a_silent_node_loses_its_locks(nodes: list[Tessera], shared: str) -> None:
    """N12: a node that falls silent in the middle of a transaction, with the log and rows locked, is cut off
    by the others within seconds: its transaction is undone and their work goes on.
    """
    nodes[0].define_queue("silent", **LONG)
    task_id = nodes[0].enqueue(queue="silent", kind="k", brief={})
    lease = nodes[0].claim("silent", "w")
    assert lease is not None
    lock_log = ENGINE["lock_log"].text
    with psycopg.connect(shared, application_name="tessera", autocommit=True) as silent:
        silent.pgconn.enter_pipeline_mode()
        for statement in ("begin", f"update tasks set priority = 1 where task_id = '{task_id}'", lock_log):
            silent.pgconn.send_query_params(statement.encode(), None)
        silent.pgconn.send_flush_request()
        silent.pgconn.flush()
        receipt = patiently(lambda: nodes[1].submit(task_id, 1, {}, "silent-submit"))
        silent.pgconn.finish()
    assert (receipt.ok, receipt.replayed) == (True, False)
    assert nodes[1].task(task_id).priority == 0


def test_n13_postgres_a_waiting_claim_gets_what_others_let_go_of(nodes: list[Tessera], shared: str) -> None:
    """N13: a claim that waits while somebody else holds the only ready task is given it once that one lets
    go, long before its time is up, though nothing was committed that anybody could be told of.
    """
    nodes[0].define_queue("let-go", **LONG)
    task_id = nodes[0].enqueue(queue="let-go", kind="k", brief={})
    with psycopg.connect(shared, application_name="somebody else") as holder:
        holder.execute("select 1 from tasks where task_id = %s for update", (task_id,))
        waiting = Aside(nodes[1].claim, "let-go", "w", wait_seconds=30)
        assert nodes[0].claim("let-go", "w") is None
        holder.rollback()
    assert waiting.result(4).task_id == task_id
