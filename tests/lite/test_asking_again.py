"""What a claim's idempotency key gives: the first answer, while it stands."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import tessera
from lite.workshop import (
    ROLE,
    Steps,
    agents_key,
    claims,
    file_of,
    fresh,
    furnish,
    messages,
    next_of,
    one_of,
    put,
    won,
)
from tessera.library import Tessera
from tessera.limits import CLAIM_REPLAY_SECONDS, CLAIM_RESTS_MAX
from tessera.lite.requests import Pending
from tessera.models import Claimed, NoTasks, Rejected
from tessera.testing import World

CONFLICT = Rejected("idempotency_conflict", retryable=False)
ENDED = Rejected("idempotency_conflict", retryable=True, retry_after_seconds=1)


def test_the_same_claim_again(store: Tessera) -> None:
    """The same key gives the same claim, lease and proof, and the log gets no second message; another key of
    the workspace is not handed the lease.
    """
    furnish(store)
    put(store), put(store)
    agent = agents_key(store)
    first = agent.claim_next("drafts", "agt_ann", "once")
    assert [agent.claim_next("drafts", "agt_ann", "once") for _ in range(2)] == [first, first]
    assert agents_key(store).claim_next("drafts", "agt_ann", "once") == ENDED
    assert len(messages(store)) == 1
    other = agent.claim_next("drafts", "agt_bob", "once")
    assert (other.status, other.task_id != first.task_id) == ("claimed", True)


def test_a_key_is_for_one_target(store: Tessera) -> None:
    """The same key for a queue and for a task are two attempts."""
    furnish(store)
    put(store)
    first = store.claim_next("drafts", "agt_ann", "once")
    second = put(store)
    assert store.claim_task(second, "agt_ann", "once").claim_id != first.claim_id


@pytest.mark.parametrize("other", [{"lease_seconds": 60}, {"role_ids": [ROLE]}, {"role_ids": []}])
def test_another_body_under_the_same_key(store: Tessera, other: dict[str, Any]) -> None:
    """A key that asked for something else before is a conflict, whatever the first answer was."""
    furnish(store)
    assert isinstance(store.claim_next("drafts", "agt_ann", "nothing"), NoTasks)
    assert store.claim_next("drafts", "agt_ann", "nothing", **other) == CONFLICT
    put(store)
    store.claim_next("drafts", "agt_ann", "won")
    assert store.claim_next("drafts", "agt_ann", "won", **other) == CONFLICT
    assert len(messages(store)) == 1


@pytest.mark.parametrize("end", ["submit", "lapse", "release", "cancel"])
def test_a_claim_whose_lease_has_ended(store: Tessera, world: World, end: str) -> None:
    """Once the lease has ended the key is a conflict, with the hint that another one may try."""
    furnish(store)
    put(store)
    lease = store.claim_next("drafts", "agt_ann", "once", lease_seconds=60)
    if end == "submit":
        store.submit(lease.task_id, lease.fencing_token, 1, "key")
    elif end == "lapse":
        world.pass_seconds(60)
    elif end == "release":
        store.release(lease.task_id, lease.fencing_token)
    else:
        store.cancel(lease.task_id, "why")
    assert store.claim_next("drafts", "agt_ann", "once", lease_seconds=60) == ENDED
    assert len(messages(store)) == 1


def test_no_tasks_for_a_while(store: Tessera, world: World) -> None:
    """no_tasks is repeated until its time to come back, though there is a task by then; another key, or the
    same one afterwards, claims.
    """
    furnish(store)
    first = store.claim_next("drafts", "agt_ann", "once")
    put(store), put(store)
    assert store.claim_next("drafts", "agt_ann", "once") == first
    assert isinstance(store.claim_next("drafts", "agt_ann", "other"), Claimed)
    world.pass_seconds(first.retry_after_seconds - 0.000001)
    assert store.claim_next("drafts", "agt_ann", "once") == first
    world.pass_seconds(0.000001)
    assert isinstance(store.claim_next("drafts", "agt_ann", "once"), Claimed)


def test_a_rejection_for_a_day(store: Tessera, world: World) -> None:
    """A rejection is repeated for a day, though the agent may claim by then."""
    furnish(store)
    put(store)
    store.define_agent("ws_a", "agt_ann", [ROLE], active=False)
    inactive = Rejected("inactive_agent", retryable=False)
    assert store.claim_next("drafts", "agt_ann", "once") == inactive
    store.define_agent("ws_a", "agt_ann", active=True)
    world.pass_seconds(CLAIM_REPLAY_SECONDS - 1)
    assert store.claim_next("drafts", "agt_ann", "once") == inactive
    world.pass_seconds(1)
    assert isinstance(store.claim_next("drafts", "agt_ann", "once"), Claimed)


def test_answers_are_forgotten(store: Tessera, world: World) -> None:
    """What nobody is promised any more is deleted; claims and their proofs stay."""
    furnish(store)
    put(store)
    won(store)
    store.claim_next("drafts", "agt_ann", fresh())
    store.recover_claims()
    assert _requests(store) == 2
    world.pass_seconds(30)
    store.recover_claims()
    assert _requests(store) == 1
    world.pass_seconds(CLAIM_REPLAY_SECONDS)
    store.recover_claims()
    assert _requests(store) == 0
    assert [one.state for one in claims(store)] == ["claimed"]


def test_across_a_restart(tmp_path: Path, world: World) -> None:
    """A store that was closed and opened again gives the same answers under the same keys."""
    path = str(tmp_path / "s.db")
    with tessera.open(path, runtime=world.runtime()) as store:
        furnish(store)
        put(store)
        first = store.claim_next("drafts", "agt_ann", "won"), store.claim_next("drafts", "agt_bob", "none")
    with tessera.open(path, runtime=world.runtime()) as store:
        again = store.claim_next("drafts", "agt_ann", "won"), store.claim_next("drafts", "agt_bob", "none")
        assert again == first
        assert len(messages(store)) == 1


@pytest.mark.parametrize("point", ["append_message", "settle_claim"])
def test_asking_while_the_first_is_under_way(store: Tessera, point: str) -> None:
    """Asking again before the log or the store has answered waits, sends no second message, and gets what
    the first gets.
    """
    furnish(store)
    put(store), put(store)
    first = Steps(store, next_of(key="once")).until(point)
    second = Steps(store, next_of(key="once"))
    for _ in range(4):
        second.take()
    assert set(second.taken) == {"reserve_claim", "Rest"}
    assert isinstance(first.finish(), Claimed)
    assert second.finish() == first.answer
    assert len(messages(store)) == 1


def test_asking_in_vain(store: Tessera) -> None:
    """Whoever has waited long enough for the first is sent away to come back; so is one whose call was
    overtaken by another under its key.
    """
    furnish(store)
    put(store)
    Steps(store, next_of(key="once")).until("append_message").die()
    second = Steps(store, next_of(key="once"))
    assert second.finish() == Rejected("rate_limited", retryable=True, retry_after_seconds=1)
    assert second.taken.count("Rest") == CLAIM_RESTS_MAX


def test_another_body_while_the_first_is_under_way(store: Tessera) -> None:
    """Another body under a key that is under way is a conflict at once."""
    furnish(store)
    put(store)
    Steps(store, next_of(key="once")).until("append_message")
    assert store.claim_next("drafts", "agt_ann", "once", lease_seconds=9) == CONFLICT


def test_a_call_that_was_overtaken(store: Tessera, world: World) -> None:
    """A call that stood still between two candidates, while another went on under its key, wins nothing more:
    one key never has two leases.
    """
    furnish(store)
    first, second = put(store, priority=1), put(store)
    slow = Steps(store, next_of(key="once")).until("append_message")
    Steps(store, one_of(first)).finish()
    slow.until("reserve_claim")
    world.pass_seconds(61)
    fast = store.claim_next("drafts", "agt_ann", "once")
    assert fast.task_id == second
    put(store)
    assert slow.finish().claim_id == fast.claim_id
    assert [one.state for one in claims(store)] == ["missed", "claimed", "claimed"]


def test_pending_is_no_answer() -> None:
    """What stands for a claim under way is not among the answers of the wire."""
    assert not issubclass(Pending, Claimed | NoTasks | Rejected)


def _requests(store: Tessera) -> int:
    with closing(file_of(store)) as file:
        return int(file.execute("select count(*) from claim_requests").get)
