"""Lite claims: who is told that a task is theirs, and what becomes of a claim that nobody answered for."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from lite.workshop import (
    ROLE,
    Steps,
    agents_key,
    assert_sound,
    claims,
    fresh,
    furnish,
    log_rows,
    messages,
    next_of,
    one_of,
    put,
    won,
)

import tessera
from tessera.errors import NotFound
from tessera.library import Tessera
from tessera.lite.winner import winners
from tessera.models import Claimed, NoTasks, Rejected
from tessera.testing import World


def test_c04_one_key_one_message(store: Tessera) -> None:
    """C04: a call repeated while the first waits for the log sends nothing, and ends with the first's answer;
    with another body it is a conflict at once.
    """
    furnish(store)
    put(store), put(store)
    first = Steps(store, next_of(key="once")).until("append_message")
    again = Steps(store, next_of(key="once"))
    for _ in range(4):
        again.take()
    other = store.claim_next("drafts", "agt_ann", "once", lease_seconds=9)
    assert other == Rejected("idempotency_conflict", retryable=False)
    assert messages(store) == []
    assert first.finish().claim_id == again.finish().claim_id
    assert len(messages(store)) == 1


def test_c07_an_agent_of_many_roles(store: Tessera, world: World) -> None:
    """C07: an agent with twelve roles, each with a topic, is answered in bounded steps, whatever they hold;
    what it was left with is settled by the recovery.
    """
    furnish(store)
    roles = [f"role_{number}" for number in range(12)]
    for role in roles:
        store.define_role("ws_a", role, role)
    store.define_agent("ws_a", "agt_ann", roles)
    put(store, required_role_id=roles[0], depends_on=[put(store)])
    assert isinstance(store.claim_next("drafts", "agt_ann", fresh()), NoTasks)
    tasks = {put(store, required_role_id=role) for role in roles}
    left = Steps(store, next_of()).until("settle_claim")
    assert left.taken == ["reserve_claim", "append_message"]
    left.die()
    world.pass_seconds(61)
    store.recover_claims()
    found = {won(store).task_id for _ in range(11)} | {one.task_id for one in claims(store)}
    assert found == tasks
    assert len({one.topic_id for one in claims(store)}) == 12
    assert not [one for one in claims(store) if one.state == "reserved"]


def test_c11_two_readers_one_winner(tmp_path: Path, world: World) -> None:
    """C11: whoever reads the topic finds the winner that the store has; a win that a crash kept from the
    store is given its lease later, and no rival is told otherwise meanwhile.
    """
    path = str(tmp_path / "s.db")
    with tessera.open(path, runtime=world.runtime()) as store:
        furnish(store)
        task_id = put(store)
        ann = Steps(store, next_of("agt_ann", key="ann")).until("append_message")
        bob = Steps(store, one_of(task_id, "agt_bob", key="bob")).until("append_message")
        ann.take()
        bob.take()
        ann.die()
        assert bob.finish().status == "missed"
    shutil.copy(path, tmp_path / "copy.db")
    world.pass_seconds(61)
    told = []
    for name in ("s.db", "copy.db"):
        with tessera.open(str(tmp_path / name), runtime=world.runtime()) as store:
            store.recover_claims()
            (topic,) = {one.topic_id for one in claims(store)}
            rows = log_rows(store, topic)
            decided = winners(rows, {row.payer_account_id for row in rows}).values()
            told.append([found.claim.claim_id for found in decided])
            assert [one.claim_id for one in claims(store) if one.state == "claimed"] == told[-1]
            assert store.task(task_id).worker == "agt_ann"
            assert_sound(store)
    assert told[0] == told[1]


def test_c14_candidates_lost_and_hidden(store: Tessera) -> None:
    """C14: a lost candidate gives way to the next, three of them to `no_tasks`; roles that are not assigned
    give nothing, another workspace's queue does not exist, and details come with the win alone.
    """
    furnish(store)
    furnish(store, "ws_b", "letters")
    first, second, third, fourth = (put(store, priority=9 - place) for place in range(4))
    ann = Steps(store, next_of()).until("append_message")
    Steps(store, one_of(first)).finish()
    assert ann.finish().task_id == second
    fifth = put(store, priority=1)
    ann = Steps(store, next_of())
    for task_id in (third, fourth, fifth):
        ann.until("append_message")
        assert isinstance(Steps(store, one_of(task_id)).finish(), Claimed)
        ann.take()
    assert ann.finish() == NoTasks("agt_ann", "drafts", 1)

    before, key = len(messages(store)), agents_key(store)
    last = put(store)
    asked = key.claim_next("drafts", "agt_ann", fresh(), ["role_other"])
    assert asked == Rejected("role_not_assigned", retryable=False)
    assert key.claim_next("letters", "agt_ann", fresh()) == key.claim_next("no", "agt_ann", fresh())
    with pytest.raises(NotFound):
        key.claim_task(put(store, "ws_b", "letters"), "agt_ann", fresh())
    assert key.task(last).brief is None
    assert len(messages(store)) == before
    assert key.claim_next("drafts", "agt_ann", fresh(), [ROLE, "role_other"]).brief == "the brief of it"


def test_c15_nothing_for_a_while(store: Tessera, world: World) -> None:
    """C15: an empty answer stands for its seconds and no longer, for its key alone; one whose lease has ended
    is a conflict that tells to take another key.
    """
    furnish(store)
    nothing = store.claim_next("drafts", "agt_ann", "once")
    assert isinstance(nothing, NoTasks)
    put(store), put(store)
    assert store.claim_next("drafts", "agt_ann", "once") == nothing
    assert isinstance(store.claim_next("drafts", "agt_ann", "new"), Claimed)
    world.pass_seconds(nothing.retry_after_seconds)
    lease = store.claim_next("drafts", "agt_ann", "once")
    assert isinstance(lease, Claimed)
    store.release(lease.task_id, lease.fencing_token)
    ended = store.claim_next("drafts", "agt_ann", "once")
    assert (ended.reason, ended.retryable) == ("idempotency_conflict", True)
    assert isinstance(store.claim_next("drafts", "agt_ann", "another"), Claimed)
