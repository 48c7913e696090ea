"""What is a workspace's exists for nobody else, on any door, and what its work is never enters the log."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from lite.workshop import (
    ROLE,
    SECRETS,
    Steps,
    agents_key,
    assert_sound,
    commitment,
    file_of,
    fresh,
    furnish,
    messages,
    next_of,
    put,
    won,
)
from tessera.errors import TesseraError
from tessera.library import Tessera
from tessera.testing import World

Ask = Callable[[Tessera, str, str], Any]
# Every verb that names a queue or a task, asked as whoever knows nothing of it would.
ASKS: dict[str, Ask] = {
    "enqueue": lambda key, queue, task: key.enqueue(queue=queue, kind="lite", brief={}),
    "enqueue_batch": lambda key, queue, task: key.enqueue_batch(
        [{"queue": queue, "kind": "lite", "brief": {}}]
    ),
    "depends_on": lambda key, queue, task: key.enqueue(queue="plain", kind="k", brief={}, depends_on=[task]),
    "claim": lambda key, queue, task: key.claim(queue, "w"),
    "claim_queues": lambda key, queue, task: key.claim(["plain", queue], "w"),
    "claim_batch": lambda key, queue, task: key.claim_batch(queue, "w", 2),
    "heartbeat": lambda key, queue, task: key.heartbeat(task, 1),
    "submit": lambda key, queue, task: key.submit(task, 1, None, "once"),
    "submit_batch": lambda key, queue, task: key.submit_batch(
        [{"task_id": task, "fencing_token": 1, "idempotency_key": "once"}]
    ),
    "split": lambda key, queue, task: key.split(task, 1, [{"brief": {}}]),
    "park": lambda key, queue, task: key.park(task, 1, "why"),
    "release": lambda key, queue, task: key.release(task, 1),
    "resume": lambda key, queue, task: key.resume(task, 1),
    "cancel": lambda key, queue, task: key.cancel(task, "why"),
    "register_job": lambda key, queue, task: key.register_job(task, 1, "j", "m"),
    "update_job": lambda key, queue, task: key.update_job(f"job-{task}", "completed"),
    "jobs": lambda key, queue, task: key.jobs(task),
    "jobs_after": lambda key, queue, task: key.jobs(after=f"job-{task}"),
    "task": lambda key, queue, task: key.task(task),
    "tasks": lambda key, queue, task: key.tasks(queue),
    "tasks_after": lambda key, queue, task: key.tasks(after=task),
    "results": lambda key, queue, task: key.results(task),
    "claim_next": lambda key, queue, task: key.claim_next(queue, "agt_ann", "once"),
    "claim_task": lambda key, queue, task: key.claim_task(task, "agt_ann", "once"),
}


def said(ask: Ask, key: Tessera, queue: str, task: str) -> str:
    """What a key is answered or refused, with the names that it gave itself taken out."""
    try:
        answer: Any = ask(key, queue, task)
    except TesseraError as refusal:
        answer = refusal.problem()
    if isinstance(answer, list):
        answer = [one.problem() if isinstance(one, TesseraError) else one for one in answer]
    return repr(answer).replace(queue, "QUEUE").replace(task, "TASK")


@pytest.fixture
def town(store: Tessera) -> Tessera:
    """A plain queue, and two workspaces with a leased task each, whose holder has a model job."""
    store.define_queue("plain")
    for name, queue, agent in (("ws_a", "drafts", "agt_ann"), ("ws_b", "letters", "agt_zoe")):
        furnish(store, name, queue, agent)
        task_id = put(store, name, queue, task_id=f"task_of_{name}")
        won(store, queue, agent)
        store.register_job(task_id, 1, f"job-{task_id}", "m")
    return store


@pytest.mark.parametrize("ask", ASKS)
def test_what_is_anothers_does_not_exist(town: Tessera, ask: str) -> None:
    """A plain key, and another workspace's, are answered about a workspace's queue and task, to the letter,
    like about a queue and a task that there are not.
    """
    plain = town.as_key(town.issue_key(scopes=["store"]).key)
    for key in (plain, agents_key(town, "ws_b")):
        theirs = said(ASKS[ask], key, "drafts", "task_of_ws_a")
        assert theirs == said(ASKS[ask], key, "no-such", "task_that_is_not")
        assert "not_found" in theirs or "unauthorized_scope" in theirs


@pytest.mark.parametrize("ask", ["enqueue", "enqueue_batch", "claim", "claim_queues", "claim_batch"])
def test_the_log_is_the_only_way_in(town: Tessera, ask: str) -> None:
    """A workspace's queue gives and takes tasks by lite claims alone, also for those who know of it."""
    admin = town.as_key(town.issue_key(scopes=["admin"]).key)
    town.define_queue("plain")
    for key in (town, admin):
        assert "'forbidden'" in said(ASKS[ask], key, "drafts", "task_of_ws_a")


def test_lists_and_numbers(town: Tessera) -> None:
    """Queues, counts, recounts, health, tasks and jobs show each key its own side and nothing beyond."""
    plain = town.as_key(town.issue_key(scopes=["store"]).key)
    admin = town.as_key(town.issue_key(scopes=["admin"]).key)
    everything = ["drafts", "letters", "plain"]
    for key, names in (
        (plain, ["plain"]), (agents_key(town), ["drafts"]), (agents_key(town, "ws_b"), ["letters"]),
        (admin, everything), (town, everything),
    ):  # fmt: skip
        counts = key.counts(recount=True)
        assert [queue.name for queue in key.queues()] == names
        assert sorted(counts.queues) == sorted(counts.recount) == names
        assert sorted(key.health().queues) == names
        found = {name for name in names if name != "plain"}
        assert {task.queue for task in key.tasks().tasks} == found
        assert len(key.jobs().jobs) == len(found)


def test_a_brief_is_shown_under_its_lease(town: Tessera) -> None:
    """A workspace's key is shown a task's details by its own lease alone; followers see all but those."""
    task_id = put(town)
    mine, other = agents_key(town), agents_key(town)
    assert mine.task(task_id).brief is None
    lease = mine.claim_next("drafts", "agt_ann", fresh())
    assert mine.task(task_id).brief["brief"] == lease.brief
    for answer in (other.task(task_id), other.tasks().tasks[-1]):
        assert answer.brief is None
        assert not any(secret in repr(answer) for secret in SECRETS)
    assert mine.park(task_id, lease.fencing_token, "why").brief is None
    assert other.resume(task_id, 1).brief is None
    assert other.cancel(task_id, "why").brief is None
    assert town.task(task_id).brief["title"] == SECRETS[0]


def test_tombstones_say_little(town: Tessera, world: World) -> None:
    """The tombstone of a workspace's task holds no error and no hash, and the whole store nothing of it for
    whoever holds the store scope.
    """
    town.define_queue("drafts", max_attempts=1)
    lease = agents_key(town).claim_next("drafts", "agt_ann", fresh())
    put(town)
    lease = won(town)
    town.submit(lease.task_id, lease.fencing_token, None, "k", ok=False, error="because of the secret")
    tomb = town.get_record("negative.knowledge", lease.task_id).value
    assert (tomb["last_error"], tomb["brief_sha256"], tomb["failures"]) == (None, None, 1)
    assert "secret" not in repr(tomb)


def test_children_stay_in_the_workspace(town: Tessera) -> None:
    """A workspace's task has children of its kind, form and workspace, or none."""
    town.define_queue("more")
    town.assign_queue("ws_a", "more")
    task_id = put(town)
    lease = won(town)
    part = {"title": "T", "brief": "B"}
    for child in (
        {"brief": part, "queue": "plain"}, {"brief": part, "queue": "letters"}, {"brief": part, "kind": "k"},
        {"brief": {}}, {"brief": {**part, "more": 1}}, {"brief": {"title": 1, "brief": "B"}},
    ):  # fmt: skip
        with pytest.raises(TesseraError) as refusal:
            town.split(task_id, lease.fencing_token, [child])
        assert refusal.value.code == "invalid_request"
    ids = town.split(task_id, lease.fencing_token, [{"brief": part}, {"brief": part, "queue": "more"}])
    assert won(town).task_id == ids[0]
    assert won(town, "more").task_id == ids[1]
    assert_sound(town)


def test_a_requeued_task_is_won_again(town: Tessera) -> None:
    """A dead task that is requeued asks of its agent what it asked before."""
    town.define_queue("drafts", max_attempts=1)
    put(town, required_capabilities=["english"])
    lease = won(town)
    town.submit(lease.task_id, lease.fencing_token, None, "k", ok=False)
    again = town.requeue(lease.task_id)
    assert won(town, agent="agt_ann").task_id == again


def test_no_word_of_the_work_is_in_the_log(store: Tessera) -> None:
    """Whatever the work is called, says, gives and comes to, and whatever ids and keys are used: none of it
    is in the bytes of the log, in the claims or in the events.
    """
    words = [f"word{number}xyz" for number in range(12)]
    furnish(store, "ws_" + words[0], "q" + words[1], "agt_" + words[2])
    ws, queue, agent = "ws_" + words[0], "q" + words[1], "agt_" + words[2]
    store.define_agent(ws, agent, [ROLE], [words[3]])
    task = put(
        store, ws, queue, task_id=words[4], title=words[5], brief=words[6], input={words[7]: words[8]},
        required_capabilities=[words[3]],
    )  # fmt: skip
    lease = agents_key(store, ws).claim_next(queue, agent, words[9])
    store.submit(task, lease.fencing_token, {"summary": words[10]}, words[11])
    with file_of(store) as file:
        log = b"".join(row[0] for row in file.execute("select message from topic_messages"))
        kept = repr(file.execute("select message, idempotency_sha256, topic_id from claims").fetchall())
        events = repr(file.execute("select data from events").fetchall())
    assert len(log) > 500
    assert [word for word in words if word.encode() in log or word in kept] == []
    assert [word for word in words[3:] if word in events] == []


def test_equal_ids_look_unrelated(store: Tessera) -> None:
    """Two workspaces with the same ids share no commitment and no topic."""
    found = []
    for name, queue in (("ws_a", "drafts"), ("ws_b", "letters")):
        furnish(store, name, queue)
        put(store, name, queue)
        won(store, queue)
    one, two = messages(store)
    for field in ("workspace", "queue", "role", "task", "agent", "idempotency_sha256"):
        assert getattr(one, field) != getattr(two, field)
        found += [getattr(one, field), getattr(two, field)]
    assert len(set(found)) == 12
    assert commitment(store, "agent", "agt_ann") == one.agent
    assert commitment(store, "agent", "agt_ann", "ws_b") == two.agent


def test_details_come_after_claim_and_proof(store: Tessera) -> None:
    """Before the settle's transaction no step of a claim hands out the task's details; with them, claim
    state, lease and proof are in the store.
    """
    furnish(store)
    task_id = put(store)
    ann = Steps(store, next_of())
    seen: list[str] = []
    ann._outcome = _noting(ann._outcome, seen)
    ann.until("settle_claim")
    assert seen
    assert not any(secret in text for text in seen for secret in SECRETS)
    answer = ann.finish()
    assert answer.brief == SECRETS[1]
    with file_of(store) as file:
        row = file.execute("select state, sequence_number, proof_status from claims").fetchall()
    assert row == [(1, 1, "verified")]
    assert store.task(task_id).state == "leased"


def _noting(outcome: Callable[[Any], Any], seen: list[str]) -> Callable[[Any], Any]:
    def noted(step: Any) -> Any:
        came = outcome(step)
        seen.append(repr(came))
        return came

    return noted
