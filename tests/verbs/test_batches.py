"""enqueue_batch, claim_batch: many at once, by the rules of one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from verbs.bench import SETTINGS, Bench
from verbs.refusals import refused
from verbs.tables import Tables, tables

from tessera.library import Tessera
from tessera.models import Lease
from tessera.testing import World, temporary_store

VERBS = ("enqueue_batch",)
TRACES = [f"00-{digit * 32}-{digit * 16}-01" for digit in "ab"]
MIB = 1 << 20


def spec(**fields: Any) -> dict[str, Any]:
    """A task for `q`."""
    return {"queue": "q", "kind": "k", "brief": {}, **fields}


def ids(leases: list[Lease]) -> list[str]:
    return [lease.task_id for lease in leases]


# enqueue_batch


def test_a_thousand_tasks_at_once(store: Tessera) -> None:
    """A batch of 1,000 answers their ids in the order given, and they are claimed in that order."""
    made = store.enqueue_batch(spec(brief={"n": n}) for n in range(1_000))

    assert store.counts(recount=True).queues["q"].ready == 1_000
    assert [lease.brief["n"] for lease in store.claim_batch("q", "w", 100)] == list(range(100))
    lines = [line for line in store.events(limit=10_000) if line.type == "enqueued"]
    assert [(line.task_id, line.queue, line.key_id, line.data) for line in lines] == [
        (task_id, "q", None, None) for task_id in made
    ]


@pytest.mark.parametrize("number", [0, 1_001])
def test_how_many_a_batch_may_be(bench: Bench, store: Tessera, number: int) -> None:
    """No task and more than a thousand are refused whole."""
    assert "tasks" in refused(bench, "invalid_request", store.enqueue_batch, [spec()] * number).detail


def a_thousand(**bad: Any) -> list[dict[str, Any]]:
    """999 good tasks and a bad one."""
    return [spec(task_id=f"fresh-{n}", kind=f"k{n % 7}") for n in range(999)] + [spec(**bad)]


def test_one_bad_task_refuses_a_thousand(bench: Bench, store: Tessera) -> None:
    """The thousandth being refused, nothing is left of the 999 before it, and the refusal names it."""
    bench.queue("other")
    store.enqueue(spec(queue="other", task_id="taken"))
    said = []
    for bad in ({"brief": []}, {"brief": {"n": 2**53}}, {"brief": {"text": "x" * MIB}}):
        said.append(refused(bench, "invalid_request", store.enqueue_batch, a_thousand(**bad)))
    for bad in ({"queue": "absent"}, {"depends_on": ["absent"]}, {"task_id": "self", "depends_on": ["self"]}):
        said.append(refused(bench, "not_found", store.enqueue_batch, a_thousand(**bad)))
    for bad in ({"task_id": "taken"}, {"task_id": "fresh-0", "queue": "other"}):
        said.append(refused(bench, "idempotency_conflict", store.enqueue_batch, a_thousand(**bad)))

    assert all(refusal.detail.startswith("tasks[999]: ") for refusal in said)
    assert len(store.enqueue_batch(a_thousand())) == 1_000


@pytest.mark.parametrize(
    "bad", [{"surprise": 1}, {"priority": 1_001}, {"kind": "K"}, {"task_id": "claim"}, {"delay_seconds": -1}]
)
def test_one_malformed_task_refuses_all(bench: Bench, store: Tessera, bad: dict[str, Any]) -> None:
    """What breaks the form of a task is refused by its path, before anything else."""
    said = refused(bench, "invalid_request", store.enqueue_batch, [spec(), spec(), spec(**bad)]).detail

    assert "tasks[2]" in said


def test_a_batch_needs_what_each_task_needs(bench: Bench, store: Tessera) -> None:
    """A key may enqueue a batch if it might enqueue each of its tasks, and not otherwise."""
    store.define_queue("other")
    hidden = store.enqueue(spec(queue="other"))
    grant = store.issue_key(queues=["q"], kinds=["k"], effect_classes=["read"])
    keyed = store.as_key(grant.key)
    for bad in ({"queue": "other"}, {"kind": "k2"}, {"depends_on": [hidden]}):
        refused(bench, "forbidden", keyed.enqueue_batch, [spec(), spec(**bad)])
    refused(bench, "scope_denied", keyed.enqueue_batch, [spec(), spec(effect_class="write-internal")])
    keyed.enqueue_batch([spec(), spec()])

    assert {line.key_id for line in store.events(after=4)} == {grant.grant.key_id}


def test_dependencies_within_a_batch(bench: Bench, store: Tessera) -> None:
    """A later task may depend on earlier ones, new or known; one that comes after is unknown yet."""
    store.enqueue(spec(task_id="done", priority=9))
    store.submit("done", store.claim("q", "w").fencing_token, None, "key")
    diamond = [
        spec(task_id="top"), spec(task_id="left", depends_on=["top", "top"]),
        spec(task_id="right", depends_on=["top", "done"]), spec(task_id="end", depends_on=["right", "left"]),
        spec(task_id="free", depends_on=["done"]),
    ]  # fmt: skip
    refused(bench, "not_found", store.enqueue_batch, diamond[::-1])
    store.enqueue_batch(diamond)

    tasks = {task.task_id: (task.state, task.pending_deps) for task in store.tasks("q").tasks}
    assert tasks == {
        "done": ("done", 0), "top": ("ready", 0), "left": ("waiting", 1), "right": ("waiting", 1),
        "end": ("waiting", 2), "free": ("ready", 0),
    }  # fmt: skip
    for wave in (["free", "top"], ["left", "right"], ["end"]):
        leases = store.claim_batch("q", "w", 9)
        assert ids(leases) == wave
        for lease in leases:
            store.submit(lease.task_id, lease.fencing_token, None, lease.task_id)
    assert store.counts(recount=True).queues["q"].done == 6


def test_an_id_given_twice_is_one_task(store: Tessera) -> None:
    """The first of two tasks with one id is made, whatever the second says; both are answered with it."""
    twice = [
        spec(task_id="a", brief={"n": 1}, traceparent=TRACES[0]),
        spec(task_id="a", brief={"n": 2}, traceparent=TRACES[1], depends_on=["absent"]),
        spec(task_id="b"),
        spec(task_id="b", traceparent=TRACES[1]),
    ]
    assert store.enqueue_batch(twice) == ["a", "a", "b", "b"]

    assert (store.task("a").brief, store.task("a").state) == ({"n": 1}, "ready")
    lines = [line for line in store.events() if line.type == "enqueued"]
    assert [(line.task_id, line.data) for line in lines] == [("a", {"traceparent": TRACES[0]}), ("b", None)]
    before = tables(store)
    assert store.enqueue_batch(twice[::-1]) == ["b", "b", "a", "a"]
    assert tables(store) == before


def test_a_batch_of_one_is_an_enqueue() -> None:
    """A batch of one leaves every table as the single verb does."""

    def left_by(act: Callable[[Tessera], list[str]]) -> tuple[list[str], Tables]:
        with temporary_store(World()) as store:
            store.define_queue("q", **SETTINGS)
            store.enqueue(spec(task_id="first"))
            return act(store), tables(store)

    task = spec(depends_on=["first"], priority=-3, delay_seconds=5, traceparent=TRACES[0])
    assert left_by(lambda store: [store.enqueue(task)]) == left_by(lambda store: store.enqueue_batch([task]))


# claim_batch


def test_a_batch_is_claimed_in_order(store: Tessera) -> None:
    """The highest priority first, then the oldest, each under its own token, and no more than asked for."""
    low, usual, high = ([store.enqueue(spec(priority=priority)) for _ in range(3)] for priority in (-1, 0, 1))
    first, second = store.claim_batch("q", "w", 5), store.claim_batch("q", "w", 5)

    assert ids(first) == high + usual[:2]
    assert ids(second) == usual[2:] + low
    assert {(lease.fencing_token, lease.attempts, lease.worker) for lease in first + second} == {(1, 1, "w")}
    lines = [line for line in store.events() if line.type == "claimed"]
    assert [(line.task_id, line.worker, line.fencing_token) for line in lines] == [
        (lease.task_id, "w", 1) for lease in first + second
    ]
    assert store.claim_batch("q", "w", 5) == []


@pytest.mark.parametrize("limit", [0, 101, -1, 1.5, "2", None, True])
def test_how_many_may_be_claimed(bench: Bench, store: Tessera, limit: Any) -> None:
    """One to a hundred, an integer."""
    store.enqueue_batch([spec()] * 120)
    assert "limit" in refused(bench, "invalid_request", store.claim_batch, "q", "w", limit).detail
    assert (len(store.claim_batch("q", "w", 1)), len(store.claim_batch("q", "w", 100))) == (1, 100)


def test_a_batch_of_one_is_a_claim() -> None:
    """A batch of one leaves every table as the single verb does, and gives the same lease."""

    def left_by(act: Callable[[Tessera], list[Lease]]) -> tuple[list[Lease], Tables]:
        with temporary_store(World()) as store:
            store.define_queue("q", **SETTINGS)
            store.enqueue_batch([spec(), spec(kind="b")])
            return act(store), tables(store)

    one = left_by(lambda store: [store.claim("q", "w", ["b"], idempotency_key="key")])
    assert left_by(lambda store: store.claim_batch("q", "w", 1, ["b"], idempotency_key="key")) == one


def test_filters_of_a_batch(bench: Bench, store: Tessera) -> None:
    """Kinds and effect classes narrow a batch, and a key's grant narrows it when nothing is asked for."""
    kinds = [store.enqueue(spec(kind=kind)) for kind in "abab"]
    broad = store.enqueue(spec(kind="a", effect_class="write-internal", priority=9))
    keyed = store.as_key(store.issue_key(kinds=["a"]).key)
    refused(bench, "forbidden", keyed.claim_batch, "q", "w", 9, ["a", "b"])
    refused(bench, "scope_denied", keyed.claim_batch, "q", "w", 9, effect_classes=["write-internal"])

    assert store.claim_batch("q", "w", 9, []) == []
    assert ids(keyed.claim_batch("q", "w", 9)) == [kinds[0], kinds[2]]
    assert ids(store.claim_batch("q", "w", 9, effect_classes=["write-internal"])) == [broad]
    assert ids(store.claim_batch("q", "w", 9)) == [kinds[1], kinds[3]]
