"""What claim-next does, sentence by sentence of its contract."""

from __future__ import annotations

from typing import Any

import pytest

from lite.workshop import (
    ROLE,
    Steps,
    agents_key,
    assert_sound,
    claims,
    fresh,
    furnish,
    messages,
    next_of,
    one_of,
    put,
    won,
)
from tessera.errors import NotFound
from tessera.library import Tessera
from tessera.models import Claimed, Missed, NoTasks, Rejected
from tessera.testing import World


def test_claimed_for_an_eligible_agent(store: Tessera) -> None:
    """An eligible agent gets the one available task: details, lease and a proof that the log has."""
    furnish(store)
    task_id = put(store, required_capabilities=["english"])
    answer = agents_key(store).claim_next("drafts", "agt_ann", "once", [ROLE], 300)

    assert isinstance(answer, Claimed)
    assert (answer.task_id, answer.title, answer.brief) == (task_id, "the title", "the brief of it")
    assert (answer.status, answer.input) == ("claimed", {"x": "what it starts from"})
    task = store.task(task_id)
    assert (task.state, task.worker, task.fencing_token) == ("leased", "agt_ann", answer.fencing_token)
    assert task.expires_at == answer.lease_expires_at
    (message,) = messages(store)
    assert (message.claim_id, message.lease_seconds) == (answer.claim_id, 300)
    (claim,) = claims(store)
    assert (claim.state, claim.proof) == ("claimed", answer.proof)
    assert (answer.proof.status, answer.proof.sequence_number) == ("verified", 1)
    assert_sound(store)


def test_a_won_claim_is_a_lease(store: Tessera, world: World) -> None:
    """Its holder keeps it alive, splits, parks, releases and hands in like any other; no heartbeat shortens
    it.
    """
    furnish(store)
    put(store)
    agent = agents_key(store)
    first = agent.claim_next("drafts", "agt_ann", "1", lease_seconds=500)
    beat = agent.heartbeat(first.task_id, first.fencing_token)
    assert beat.expires_at == first.lease_expires_at
    assert beat.brief == {"title": first.title, "brief": first.brief, "input": first.input}
    assert agent.park(first.task_id, first.fencing_token, "which tone?").state == "waiting"
    store.resume(first.task_id, "kind")
    second = agent.claim_next("drafts", "agt_ann", "2")
    assert [one.input for one in second.inputs] == ["kind"]
    child = {"brief": {"title": "a part", "brief": "do it"}}
    (part,) = agent.split(second.task_id, second.fencing_token, [child])
    third = agent.claim_next("drafts", "agt_bob", "3")
    assert (third.task_id, third.title, third.brief, third.input) == (part, "a part", "do it", None)
    agent.submit(part, third.fencing_token, {"text": "done"}, "part")
    fourth = agent.claim_next("drafts", "agt_ann", "4")
    assert [one.output for one in fourth.children] == [{"text": "done"}]
    assert agent.release(fourth.task_id, fourth.fencing_token).state == "ready"
    fifth = agent.claim_next("drafts", "agt_ann", "5")
    assert agent.submit(fifth.task_id, fifth.fencing_token, "all", "all").state == "done"
    assert_sound(store)


def test_no_tasks_without_a_write(store: Tessera) -> None:
    """When no eligible task exists the answer is no_tasks, and the log is not written to."""
    furnish(store)
    answer = store.claim_next("drafts", "agt_ann", "once")
    assert answer == NoTasks(agent_id="agt_ann", queue_id="drafts", retry_after_seconds=30)
    assert messages(store) == []


REJECTED: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({"active": False}, {}, "inactive_agent"),
    ({"role_ids": []}, {}, "role_not_assigned"),
    ({"role_ids": ["role_other"]}, {}, "role_not_assigned"),
    ({}, {"role_ids": ["role_other"]}, "role_not_assigned"),
    ({}, {"role_ids": []}, "role_not_assigned"),
    ({"capabilities": []}, {}, "missing_capability"),
    ({"capabilities": ["french"]}, {}, "missing_capability"),
    ({}, {"lease_seconds": 0}, "invalid_lease"),
    ({}, {"lease_seconds": -1}, "invalid_lease"),
    ({}, {"lease_seconds": 3_601}, "invalid_lease"),
    ({}, {"agent_id": "agt_none"}, "agent_not_in_workspace"),
    ({}, {"queue_id": "none"}, "queue_not_found"),
    ({}, {"queue_id": "plain"}, "queue_not_found"),
]


@pytest.mark.parametrize(("agent", "ask", "reason"), REJECTED)
def test_rejected_without_a_write(
    store: Tessera, agent: dict[str, Any], ask: dict[str, Any], reason: str
) -> None:
    """Whom policy refuses is told why, by claim-next and by a direct claim, and the log is not written to."""
    furnish(store)
    store.define_queue("plain")
    store.define_role("ws_a", "role_other", "Other")
    task_id = put(store, required_capabilities=["english"])
    had = {"role_ids": [ROLE], "capabilities": ["english"], **agent}
    store.define_agent("ws_a", "agt_ann", **had)

    asked = {"queue_id": "drafts", "agent_id": "agt_ann", "idempotency_key": "once", **ask}
    assert store.claim_next(**asked) == Rejected(reason, retryable=False)
    if reason != "queue_not_found":
        del asked["queue_id"]
        assert store.claim_task(task_id, **asked) == Rejected(reason, retryable=False)
    assert messages(store) == []
    assert list(claims(store)) == []


def test_a_key_without_the_scope(store: Tessera) -> None:
    """A key without `agent:runtime`, or whose grant leaves the queue or the kind out, is told that alone."""
    furnish(store)
    task_id = put(store)
    lacking = Rejected("unauthorized_scope", retryable=False)
    admin = store.as_key(store.issue_key(scopes=["admin"]).key)
    for key in (admin, agents_key(store, queues=["other"]), agents_key(store, kinds=["other"])):
        assert key.claim_next("drafts", "agt_ann", fresh()) == lacking
        assert key.claim_task(task_id, "agt_ann", fresh()) == lacking
    assert messages(store) == []


def test_the_next_candidate_after_a_missed_race(store: Tessera) -> None:
    """Who loses the first candidate between reserve and the log's order wins the second, without noticing."""
    furnish(store)
    first, second = put(store, priority=1), put(store)
    ann = Steps(store, next_of()).until("append_message")
    assert isinstance(Steps(store, one_of(first)).finish(), Claimed)

    answer = ann.finish()

    assert (answer.status, answer.task_id) == ("claimed", second)
    assert [one.state for one in claims(store)] == ["missed", "claimed", "claimed"]
    assert len(messages(store)) == 3
    assert_sound(store)


def test_no_more_than_three_candidates(store: Tessera) -> None:
    """Three lost candidates end the call: no_tasks, to come back in a second, though a fourth was there."""
    furnish(store)
    tasks = [put(store, priority=10 - place) for place in range(4)]
    ann = Steps(store, next_of())
    for task_id in tasks[:3]:
        ann.until("append_message")
        assert isinstance(Steps(store, one_of(task_id)).finish(), Claimed)
        ann.take()

    assert ann.finish() == NoTasks(agent_id="agt_ann", queue_id="drafts", retry_after_seconds=1)
    assert [one.state for one in claims(store)].count("missed") == 3
    assert store.task(tasks[3]).state == "ready"
    assert_sound(store)


def test_a_direct_claim_may_miss(store: Tessera) -> None:
    """A direct claim that loses, or comes for a task that is not to be had, says so and tries no other."""
    furnish(store)
    task_id, other = put(store), put(store)
    bob = Steps(store, one_of(task_id)).until("append_message")
    assert Steps(store, one_of(task_id, "agt_ann")).finish().task_id == task_id
    missed = Missed(agent_id="agt_bob", task_id=task_id, retry_after_seconds=1)
    assert bob.finish() == missed
    late = store.claim_task(task_id, "agt_bob", fresh())
    assert isinstance(late, Missed)
    assert late.status == "missed"
    assert len(messages(store)) == 2
    assert store.task(other).state == "ready"


def test_order_of_candidates(store: Tessera, world: World) -> None:
    """Priority first, then age, then id, whatever roles and capabilities the tasks ask for."""
    furnish(store)
    store.define_role("ws_a", "role_b", "B")
    store.define_agent("ws_a", "agt_ann", [ROLE, "role_b"], ["english"])
    world.pass_seconds(1)
    late = put(store, required_role_id="role_b", task_id="task_b")
    later = put(store, task_id="task_c")
    high = put(store, priority=5, required_capabilities=["english"])
    world.pass_seconds(1)
    last = put(store, required_role_id="role_b", task_id="task_a")
    assert [won(store).task_id for _ in range(4)] == [high, late, later, last]


def test_asked_roles_narrow_the_choice(store: Tessera) -> None:
    """Of the roles asked for only those that the agent has count."""
    furnish(store)
    store.define_role("ws_a", "role_b", "B")
    store.define_agent("ws_a", "agt_ann", [ROLE, "role_b"])
    put(store, priority=9)
    other = put(store, required_role_id="role_b")
    assert won(store, role_ids=["role_b", "role_none"]).task_id == other
    assert isinstance(store.claim_next("drafts", "agt_ann", fresh(), ["role_b"]), NoTasks)


def test_what_is_not_ready_is_no_candidate(store: Tessera) -> None:
    """A task that waits for another, and every task of a paused queue, is not contended for."""
    furnish(store)
    first = put(store)
    put(store, depends_on=[first])
    store.pause_queue("drafts")
    assert isinstance(store.claim_next("drafts", "agt_ann", fresh()), NoTasks)
    assert isinstance(store.claim_task(first, "agt_ann", fresh()), Missed)
    store.resume_queue("drafts")
    assert won(store).task_id == first
    assert isinstance(store.claim_next("drafts", "agt_ann", fresh()), NoTasks)
    assert len(messages(store)) == 1


def test_a_dependency_elsewhere_is_named_by_its_place(store: Tessera) -> None:
    """A dependency outside the workspace is not found, and named by its place, counted from 0."""
    furnish(store)
    store.define_queue("plain")
    first, outside = put(store), store.enqueue(queue="plain", kind="k", brief={})
    with pytest.raises(NotFound, match=r"^depends_on\[1\]: no such task: enqueue it first$"):
        put(store, depends_on=[first, outside])


def test_a_lease_as_long_as_asked(store: Tessera, world: World) -> None:
    """A claim's lease lasts what it asks for, else what the role says, else what the queue says."""
    furnish(store)
    store.define_queue("drafts", lease_seconds=700)
    for asked, seconds in ((1, 1), (3_600, 3_600), (None, 700)):
        put(store)
        answer = won(store, lease_seconds=asked)
        assert messages(store)[-1].lease_seconds == seconds
        world.pass_seconds(seconds)
        assert store.reap() == 1
        store.cancel(answer.task_id, "enough")
    store.define_role("ws_a", ROLE, "Writer", lease_seconds=50)
    put(store)
    won(store)
    assert messages(store)[-1].lease_seconds == 50


@pytest.mark.parametrize("workspace_id", ["ws_b", "ws_none"])
def test_nothing_across_workspaces(store: Tessera, workspace_id: str) -> None:
    """Another workspace's queue, agent and task are refused before the log is written to, in the very words
    for what does not exist.
    """
    furnish(store, "ws_a", "drafts", "agt_ann")
    furnish(store, "ws_b", "letters", "agt_zoe")
    theirs = put(store, "ws_b", "letters") if workspace_id == "ws_b" else "task_none"
    queue, agent = ("letters", "agt_zoe") if workspace_id == "ws_b" else ("none", "agt_none")
    put(store)
    key = agents_key(store)

    assert key.claim_next(queue, "agt_ann", "1") == Rejected("queue_not_found", retryable=False)
    assert key.claim_next("drafts", agent, "2") == Rejected("agent_not_in_workspace", retryable=False)
    with pytest.raises(NotFound, match=r"^no such task$"):
        key.claim_task(theirs, "agt_ann", "3")
    assert messages(store) == []
    assert list(claims(store)) == []
