"""Workspaces and their claims on PostgreSQL: the same answers, and one winner however many nodes contend."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import tessera
from lite.workshop import ROLE, agents_key, claims, fresh, furnish, put
from tessera.models import Claimed, Missed, NoTasks, Rejected

TASKS, NODES, AGENTS = 24, 2, 3


def test_the_same_answers(dsn: str) -> None:
    """A claim is won, repeated, refused and hidden on PostgreSQL as on SQLite."""
    with tessera.open(dsn) as store:
        furnish(store)
        furnish(store, "ws_b", "letters")
        task_id = put(store, required_capabilities=["english"])
        agent = agents_key(store)
        won = agent.claim_next("drafts", "agt_ann", "once")
        assert isinstance(won, Claimed)
        assert (won.task_id, won.brief, won.proof.status) == (task_id, "the brief of it", "verified")
        assert agent.claim_next("drafts", "agt_ann", "once") == won
        assert isinstance(agent.claim_next("drafts", "agt_ann", fresh()), NoTasks)
        assert isinstance(agent.claim_task(task_id, "agt_bob", fresh()), Missed)
        assert agent.claim_next("letters", "agt_ann", fresh()) == Rejected("queue_not_found", retryable=False)
        assert list(agent.counts(recount=True).queues) == ["drafts"]
        child = {"brief": {"title": "a part", "brief": "do it"}}
        agent.split(task_id, won.fencing_token, [child])
        part = agent.claim_next("drafts", "agt_bob", fresh())
        agent.submit(part.task_id, part.fencing_token, "done", "part")
        again = agent.claim_next("drafts", "agt_ann", fresh())
        assert [one.output for one in again.children] == ["done"]
        assert [one.state for one in claims(store)] == ["claimed"] * 3
        assert store.recover_claims().void == 0
        assert [(one.rows, one.claims, one.finding) for one in store.verify_topics().topics] == [
            (3, 3, None),
            (0, 0, None),
        ]
        assert len(store.topic_messages(ROLE, "ws_a").messages) == 3


def test_nodes_race(dsn: str) -> None:
    """Agents of two nodes race for the tasks of one queue: each task has one winner, and each node's claims
    are the log's.
    """
    with tessera.open(dsn) as one, tessera.open(dsn) as two:
        furnish(one, "ws_a", "drafts", *(f"agt_{n}" for n in range(NODES * AGENTS)))
        for number in range(TASKS):
            put(one, title=f"number {number}")

        def drain(n: int) -> list[str]:
            store, found = (one, two)[n % NODES], []
            while not (
                isinstance(answer := store.claim_next("drafts", f"agt_{n}", fresh()), NoTasks)
                and answer.retry_after_seconds > 1
            ):
                found += [answer.task_id] if isinstance(answer, Claimed) else []
            return found

        with ThreadPoolExecutor(NODES * AGENTS) as pool:
            won = [task_id for some in pool.map(drain, range(NODES * AGENTS)) for task_id in some]
        assert len(won) == len(set(won)) == TASKS
        states = [claim.state for claim in claims(one)]
        assert states.count("claimed") == TASKS
        assert "reserved" not in states
        assert one.counts(recount=True).agree
