"""Claims that were left between two steps: finished or given up, never won twice."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing

import pytest

from lite.workshop import (
    Steps,
    agents_key,
    assert_sound,
    claims,
    file_of,
    finish,
    fresh,
    furnish,
    log_rows,
    messages,
    next_of,
    one_of,
    put,
    won,
)
from tessera.acts.act import carry_out
from tessera.errors import Unauthorized, Unavailable
from tessera.library import Tessera
from tessera.limits import ROWS_AT_HAND_MAX
from tessera.lite.local import LocalLog
from tessera.models import Claimed, NoTasks, Rejected
from tessera.rules.grants import OWNER
from tessera.testing import World

LATER = 61  # seconds after which a claim is taken for abandoned


def recovered(store: Tessera) -> tuple[int, int, int]:
    """How many claims a recovery has settled as claimed, missed and void."""
    found = store.recover_claims()
    return found.claimed, found.missed, found.void


def test_left_before_its_message(store: Tessera, world: World) -> None:
    """A claim whose message never came is void; its key and everybody else may claim again, under a token
    that its contest did not have.
    """
    furnish(store)
    task_id = put(store)
    Steps(store, next_of(key="once")).until("append_message").die()
    assert recovered(store) == (0, 0, 0)
    world.pass_seconds(LATER)
    assert recovered(store) == (0, 0, 1)
    assert store.task(task_id).fencing_token == 1
    assert store.claim_next("drafts", "agt_ann", "once").fencing_token == 2
    assert [line.type for line in store.events(limit=1_000) if line.task_id == task_id] == [
        "enqueued", "contest_voided", "claimed",
    ]  # fmt: skip
    assert_sound(store)


def test_left_before_its_settle(store: Tessera, world: World) -> None:
    """A claim whose message won has its lease from the recovery on, for its agent to find under its key."""
    furnish(store)
    task_id = put(store)
    agent = agents_key(store)
    left = Steps(store, next_of(key="once")).until("settle_claim")
    left.die()
    world.pass_seconds(LATER)
    assert recovered(store) == (1, 0, 0)
    found = store.claim_next("drafts", "agt_ann", "once")
    assert (found.task_id, found.brief, found.fencing_token) == (task_id, "the brief of it", 1)
    assert found.proof.sequence_number == 1
    assert isinstance(agent.claim_next("drafts", "agt_bob", fresh()), NoTasks)
    assert_sound(store)


def test_left_by_a_loser(store: Tessera, world: World) -> None:
    """A claim whose message came second is missed, and takes nothing from the winner."""
    furnish(store)
    task_id = put(store)
    left = Steps(store, next_of()).until("append_message")
    assert isinstance(Steps(store, one_of(task_id)).finish(), Claimed)
    left.take()
    left.die()
    world.pass_seconds(LATER)
    assert recovered(store) == (0, 1, 0)
    assert store.task(task_id).worker == "agt_bob"
    assert_sound(store)


def test_a_rival_of_a_winner_that_was_left(store: Tessera, world: World) -> None:
    """Until a winner that was left is settled nobody is told that the task is his; the rival comes back for
    it after the winner's lease.
    """
    furnish(store)
    task_id = put(store)
    Steps(store, next_of("agt_ann", lease_seconds=60)).until("settle_claim").die()
    assert store.claim_next("drafts", "agt_bob", fresh()) == NoTasks("agt_bob", "drafts", 1)
    world.pass_seconds(LATER)
    store.recover_claims()
    assert store.task(task_id).worker == "agt_ann"
    world.pass_seconds(60)
    assert won(store, agent="agt_bob").task_id == task_id
    assert_sound(store)


def test_a_slow_process_after_the_recovery(store: Tessera, world: World) -> None:
    """A process that goes on after its claim was given up sends a message that wins nothing, now or later."""
    furnish(store)
    task_id = put(store)
    slow = Steps(store, next_of(key="slow")).until("append_message")
    world.pass_seconds(LATER)
    store.recover_claims()
    assert slow.finish() == NoTasks("agt_ann", "drafts", 1)
    assert won(store, agent="agt_bob").task_id == task_id
    assert [one.state for one in claims(store)] == ["void", "claimed"]
    assert [one.fencing_token for one in messages(store)] == [1, 2]
    assert store.task(task_id).worker == "agt_bob"
    assert_sound(store)


def test_a_slow_process_whose_claim_was_finished(store: Tessera, world: World) -> None:
    """A process that goes on after recovery has settled its win gets that very win."""
    furnish(store)
    put(store), put(store)
    slow = Steps(store, next_of(key="slow")).until("settle_claim")
    world.pass_seconds(LATER)
    store.recover_claims()
    first = store.claim_next("drafts", "agt_ann", "slow")
    assert slow.finish().claim_id == first.claim_id
    assert len(messages(store)) == 1
    assert_sound(store)


def _revoke(store: Tessera) -> None:
    store.revoke_key(store.keys()[-1].key_id)


def _deactivate(store: Tessera) -> None:
    store.define_agent("ws_a", "agt_ann", ["role_writer"], active=False)


def _pause(store: Tessera) -> None:
    store.pause_queue("drafts")


@pytest.mark.parametrize("happens", [_revoke, _deactivate, _pause])
def test_what_happens_between_log_and_settle(
    store: Tessera, world: World, happens: Callable[[Tessera], None]
) -> None:
    """A winner whose key, agent or queue ended meanwhile gets no lease, and leaves the task to be won in
    another contest.
    """
    furnish(store)
    task_id = put(store)
    key = store.issue_key(scopes=["agent:runtime"], workspace_id="ws_a").key
    caller = store.as_key(key)._door._caller()
    ann = Steps(store, next_of(), caller).until("settle_claim")
    happens(store)

    if happens is _revoke:
        with pytest.raises(Unauthorized):
            ann.finish()
    else:
        kind = Rejected if happens is _deactivate else NoTasks
        assert isinstance(ann.finish(), kind)

    assert store.task(task_id).state == "ready"
    store.resume_queue("drafts")
    assert won(store, agent="agt_bob").fencing_token == 2
    assert_sound(store)


@pytest.mark.parametrize("point", ["append_message", "settle_claim"])
def test_a_task_that_is_gone_by_then(store: Tessera, point: str) -> None:
    """A task that was cancelled between reserve and settle is nobody's; the call goes on with the next."""
    furnish(store)
    first, second = put(store, priority=1), put(store)
    ann = Steps(store, next_of()).until(point)
    store.cancel(first, "no more")
    assert ann.finish().task_id == second
    assert [one.state for one in claims(store)] == ["void", "claimed"]
    assert_sound(store)


def test_a_lapse_opens_another_contest(store: Tessera, world: World) -> None:
    """After a lapse the old message says nothing: the next claim is decided anew, under the next token."""
    furnish(store)
    task_id = put(store)
    first = won(store, lease_seconds=10)
    world.pass_seconds(10)
    second = won(store, agent="agt_bob")
    assert (second.task_id, second.fencing_token) == (task_id, 2)
    one, two = messages(store)
    assert (one.task, one.fencing_token, two.fencing_token) == (two.task, 1, 2)
    assert store.claims().claims[0].claim_id == first.claim_id
    assert_sound(store)


def test_foreign_and_repeated_messages(store: Tessera, world: World) -> None:
    """A copy of a claim's message, and a message that somebody made up for a later contest, change nothing:
    recovery settles each claim by the first message that is its own.
    """
    furnish(store)
    put(store)
    ann = Steps(store, next_of(key="once")).until("append_message")
    store_log, topic = LocalLog(), next(claims(store)).topic_id
    engine, message = store._door._engine, next(_reserved(store)).encode()
    for _ in range(2):
        carry_out(store_log.append(topic, message), engine, OWNER)
    ann.die()
    world.pass_seconds(LATER)
    assert recovered(store) == (1, 0, 0)
    assert next(claims(store)).proof.sequence_number == 1
    assert len(log_rows(store, topic)) == 2
    assert_sound(store)


def test_a_role_that_trusts_others_alone(store: Tessera) -> None:
    """Where a role's accounts leave out the one that the store pays with, no claim could win: that is said,
    and no message sent.
    """
    furnish(store, accounts=["0.0.7"])
    task_id = put(store)
    with pytest.raises(Unavailable, match="not the one that this store pays with"):
        store.claim_next("drafts", "agt_ann", "once")
    assert messages(store) == []
    assert store.task(task_id).state == "ready"
    own = finish(store, LocalLog().payer())
    store.define_role("ws_a", "role_writer", "Writer", accounts=[own, "0.0.7"])
    assert won(store).task_id == task_id
    assert_sound(store)


def test_a_damaged_brief(store: Tessera, world: World) -> None:
    """A task whose stored brief no longer matches its hash is won by nobody: it is dead, and the next is
    tried.
    """
    furnish(store)
    first, second = put(store, priority=1), put(store)
    with closing(file_of(store)) as file:
        (serial,) = file.execute("select serial from tasks where task_id = ?", (first,)).fetchone()
        file.execute("update briefs set brief = '{}' where serial = ?", (serial,))
    assert won(store).task_id == second
    assert store.task(first).state == "dead"
    assert len(messages(store)) == 1


def _reserved(store: Tessera) -> Iterator[str]:
    with closing(file_of(store)) as file:
        yield from [text for (text,) in file.execute("select message from claims where state = 0")]


def test_a_log_that_cannot_be_read_now_has_the_message(store: Tessera) -> None:
    """A contest that began long ago is read beside the writer; if that is refused at first, the claim is not
    taken for one whose message never came, and wins.
    """
    furnish(store)
    put(store)
    ann = Steps(store, next_of()).until("append_message")
    topic = store.workspace("ws_a").roles[0].topic_id
    for number in range(ROWS_AT_HAND_MAX + 1):
        finish(store, LocalLog().append(topic, b"%d" % number))
    ann.until("read_topic")
    outcome = ann._outcome

    def refused(_step: object) -> None:
        raise Unavailable("the look was cut short", definite=True)

    ann._outcome = refused
    ann.take()
    ann._outcome = outcome
    assert ann.finish().status == "claimed"
    assert_sound(store)
