"""submit_batch: several outcomes, each standing alone."""

from __future__ import annotations

import random
from typing import Any

import pytest
from msgspec.structs import replace
from verbs.bench import LAPSE, SETTINGS, Bench
from verbs.refusals import refused
from verbs.tables import Tables, tables

from tessera.errors import REGISTRY, TesseraError
from tessera.library import Tessera
from tessera.models import Receipt
from tessera.testing import World, temporary_store

VERBS = ("submit_batch",)
KIB = 1 << 10


def leased(store: Tessera, number: int, **fields: Any) -> list[str]:
    """New tasks of `q`, each leased under token 1."""
    tasks = store.enqueue_batch([{"queue": "q", "kind": "k", "brief": {}, **fields}] * number)
    leases = store.claim_batch("q", "w", number)
    assert sorted(lease.task_id for lease in leases) == sorted(tasks)
    return tasks


def outcome(task_id: str, key: str | None = None, **fields: Any) -> dict[str, Any]:
    """A submit under token 1."""
    return {"task_id": task_id, "fencing_token": 1, "idempotency_key": key or f"k-{task_id}", **fields}


def words(results: list[Receipt | TesseraError]) -> list[str]:
    """Each result as one word: its code, or the task's state after it."""
    return [one.code if isinstance(one, TesseraError) else one.state for one in results]


def test_each_stands_alone(store: Tessera, world: World) -> None:
    """Refused ones of every kind leave the others be; each result stands where its submit stood."""
    store.define_queue("short", **SETTINGS)
    lapsed = store.enqueue(queue="short", kind="k", brief={})
    assert store.claim("short", "w") is not None
    world.pass_seconds(LAPSE)
    used, *tasks = leased(store, 11)
    first = store.submit(used, 1, "first", "used")

    results = store.submit_batch(
        [
            outcome(tasks[0], output=0),
            outcome(lapsed),
            outcome("absent"),
            outcome(tasks[1], fencing_token=2),
            outcome(tasks[2], key="used"),
            outcome(used, key="used", output="other", fencing_token=9),
            outcome(tasks[3], ok=False, error="boom"),
            outcome(tasks[4], output="x" * KIB**2),
            {"task_id": tasks[5], "fencing_token": 1},
            outcome(tasks[6], error="x" * (8 * KIB + 1)),
            outcome(tasks[7], error="é" * (4 * KIB + 1)),
            outcome(tasks[8], output={"n": 2**53}),
            outcome(tasks[9], output=9),
        ]
    )

    assert words(results) == [
        "done", "stale_lease", "not_found", "stale_lease", "idempotency_conflict", "done", "ready",
        *["invalid_request"] * 5, "done",
    ]  # fmt: skip
    assert results[5] == replace(first, replayed=True)
    refusals = [one for one in results if isinstance(one, TesseraError)]
    assert all(type(one) is REGISTRY[one.code] and one.definite for one in refusals)
    assert (store.task(lapsed).state, store.task(lapsed).last_error) == ("ready", "lease lapsed")
    counts = store.counts(recount=True)
    assert (counts.agree, counts.queues["q"].leased, counts.queues["q"].done) == (True, 7, 3)
    assert [row["output"] for row in tables(store)["results"]] == ['"first"', "0", "null", "9"]


def test_a_batch_of_refusals_leaves_nothing(store: Tessera) -> None:
    """When every submit is refused, every table is as it was."""
    tasks = leased(store, 2)
    store.submit(tasks[0], 1, None, "used")
    before = tables(store)

    results = store.submit_batch(
        [outcome("absent"), outcome(tasks[1], key="used"), outcome(tasks[0], key="k")]
    )

    assert words(results) == ["not_found", "idempotency_conflict", "stale_lease"]
    assert tasks[0] not in results[1].detail
    assert tables(store) == before


def test_a_key_submits_only_its_own(store: Tessera) -> None:
    """In one batch a key is refused where it lacks the queue or the lease, and heard where it has both."""
    store.define_queue("r", **SETTINGS)
    mine, theirs = (store.as_key(store.issue_key(queues=["q"]).key) for _ in range(2))
    specs = [{"queue": queue, "kind": "k", "brief": {}} for queue in "qqr"]
    own, foreign, hidden = store.enqueue_batch(specs)
    for holder, queue in ((mine, "q"), (theirs, "q"), (store, "r")):
        assert holder.claim(queue, "w") is not None

    submits = [outcome(task_id) for task_id in (hidden, foreign, own)]
    assert words(mine.submit_batch(submits)) == ["forbidden", "scope_denied", "done"]
    assert [store.task(task_id).state for task_id in (own, foreign, hidden)] == ["done", "leased", "leased"]


def test_an_earlier_submit_counts_as_stored(store: Tessera) -> None:
    """In a batch a key replays, conflicts with another task, and ends a lease once, as between batches."""
    one, two, three = leased(store, 3)

    results = store.submit_batch(
        [
            outcome(one, key="a", fencing_token=3),  # refused, so the key is still unused
            outcome(one, key="a", output=1),
            outcome(one, key="a", output=2, ok=False),
            outcome(two, key="a"),
            outcome(one, key="b"),
            outcome(three, key="c", ok=False, error="boom"),
            outcome(three, key="c"),
            outcome(three, key="d"),
            outcome(two, key="b", output=3),
        ]
    )

    assert words(results) == [
        "stale_lease", "done", "done", "idempotency_conflict", "stale_lease", "ready", "ready", "stale_lease",
        "done",
    ]  # fmt: skip
    assert results[2] == replace(results[1], replayed=True)
    assert results[6] == replace(results[5], replayed=True)
    stored = [(row["idempotency_key"], row["output"], row["ok"]) for row in tables(store)["results"]]
    assert stored == [("a", "1", 1), ("c", "null", 0), ("b", "3", 1)]
    again = store.submit_batch([outcome(one, key="a"), outcome(three, key="c"), outcome(two, key="b")])
    assert again == [replace(results[n], replayed=True) for n in (1, 5, 8)]


def test_what_waits_for_two_results_of_a_batch_starts_once(store: Tessera) -> None:
    """A parent and a dependent whose last two come in one batch are ready, with one line each; one that
    waits for more counts both.
    """
    store.define_queue("q", max_attempts=1)
    (parent,) = leased(store, 1)
    children = store.split(parent, 1, [{"brief": {}}, {"brief": {}}])
    assert len(store.claim_batch("q", "w", 2)) == 2
    (other,) = leased(store, 1)
    specs = [
        {"queue": "q", "kind": "k", "brief": {}, "depends_on": ids} for ids in (children, [*children, other])
    ]
    dependent, patient = store.enqueue_batch(specs)

    words_ = words(
        store.submit_batch([outcome(children[0], output=1), outcome(children[1], ok=False, error="no")])
    )

    assert words_ == ["done", "dead"]
    assert [store.task(task_id).state for task_id in (parent, dependent, patient)] == [
        "ready",
        "ready",
        "waiting",
    ]
    assert store.task(patient).pending_deps == 1
    types = [line.type for line in store.events(limit=1_000)]
    assert (types.count("parent_ready"), types.count("dependencies_met")) == (1, 1)
    merge, after = (store.claim("q", "w") for _ in range(2))
    assert [(one.state, one.output) for one in merge.children] == [("done", 1), ("dead", None)]
    assert [(one.state, one.output) for one in after.dependencies] == [("done", 1), ("dead", None)]


def test_failures_of_a_batch_leave_their_tombstones(store: Tessera) -> None:
    """Each last failure of a batch buries its own task; others are tried again."""
    tasks = leased(store, 2)
    store.define_queue("once", **{**SETTINGS, "max_attempts": 1})
    fragile = [store.enqueue(queue="once", kind="k", brief={}) for _ in range(3)]
    assert len(store.claim_batch("once", "w", 3)) == 3

    everything = [*tasks, *fragile]
    results = store.submit_batch(
        [outcome(one, ok=False, error=f"no {n}") for n, one in enumerate(everything)]
    )

    assert words(results) == ["ready", "ready", "dead", "dead", "dead"]
    assert [store.task(task_id).last_error for task_id in everything] == [f"no {n}" for n in range(5)]
    assert {row["key"] for row in tables(store)["records"]} == set(fragile)
    types = [line.type for line in store.events(limit=1_000) if line.task_id == fragile[1]]
    assert types == ["enqueued", "claimed", "submitted", "dead_lettered"]


def test_many_lapses_in_a_batch(store: Tessera, world: World) -> None:
    """More leases that have just lapsed than one turn settles are all settled for good, and all refused."""
    store.define_queue("short", **SETTINGS)
    lapsed = store.enqueue_batch([{"queue": "short", "kind": "k", "brief": {}}] * 40)
    store.claim_batch("short", "w", 100)
    world.pass_seconds(LAPSE)
    (good,) = leased(store, 1)

    submits = [outcome(task_id) for task_id in lapsed]
    results = store.submit_batch([*submits[:20], outcome(good), *submits[20:]])

    assert words(results) == ["stale_lease"] * 20 + ["done"] + ["stale_lease"] * 20
    assert {store.task(task_id).failures for task_id in lapsed} == {1}
    assert store.counts(recount=True).queues["short"].ready == 40


@pytest.mark.parametrize(
    "bad", [{"surprise": 1}, {"fencing_token": 0}, {"idempotency_key": "a b"}, {"ok": "yes"}, {"task_id": ""}]
)
def test_what_breaks_the_form_refuses_the_whole(bench: Bench, store: Tessera, bad: dict[str, Any]) -> None:
    """A submit that is no submit is named by its path, and none of the batch is stored."""
    tasks = leased(store, 2)
    batch = [outcome(tasks[0]), {**outcome(tasks[1]), **bad}]
    assert "submits[1]" in refused(bench, "invalid_request", store.submit_batch, batch).detail


def test_how_many_may_be_submitted(bench: Bench, store: Tessera) -> None:
    """One to a hundred."""
    tasks = leased(store, 100)
    for number in (0, 101):
        refused(bench, "invalid_request", store.submit_batch, [outcome(tasks[0])] * number)
    assert words(store.submit_batch([outcome(task_id) for task_id in tasks])) == ["done"] * 100


def unordered(found: Tables) -> Tables:
    """Tables without what the order of work within one instant decides: the place of a line in the log, and
    how often a waiting row was saved.
    """
    for table, column in (("events", "seq"), ("tasks", "revision")):
        found[table] = sorted(({**row, column: None} for row in found[table]), key=repr)
    return found


def played(seed: int, batch: bool) -> tuple[list[Any], Tables]:
    """A random family of tasks, then random submits at one instant, together or one by one."""
    chance, world = random.Random(seed), World(u=0.5)
    with temporary_store(world) as store:
        store.define_queue("q", **{**SETTINGS, "max_attempts": chance.choice([1, 2])})
        store.define_queue("short", **SETTINGS)
        short = store.enqueue_batch([{"queue": "short", "kind": "k", "brief": {}}] * 3)
        store.claim_batch("short", "w", 3)
        world.pass_seconds(LAPSE)
        known = list(short)
        for task_id in leased(store, 3):
            known += store.split(task_id, 1, [{"brief": {}}] * chance.randint(1, 3))
        for _ in range(8):
            depends_on = chance.sample(known, chance.randint(0, 3))
            known.append(store.enqueue(queue="q", kind="k", brief={}, depends_on=depends_on))
        store.claim_batch("q", "w", 100)
        submits = [
            outcome(
                chance.choice(known), key=f"k{chance.randrange(25)}", ok=chance.random() < 0.6,
                fencing_token=1 + (chance.random() < 0.1), output=chance.randrange(9),
            )
            for _ in range(40)
        ]  # fmt: skip
        results = store.submit_batch(submits) if batch else [
            store.submit_batch([submit])[0] for submit in submits
        ]  # fmt: skip
        shown = [one.problem() if isinstance(one, TesseraError) else one for one in results]
        return shown, unordered(tables(store))


@pytest.mark.parametrize("seed", range(25))
def test_a_batch_does_what_its_submits_do_one_by_one(seed: int) -> None:
    """Random submits of a random family give the same answers and leave the same tables either way."""
    assert played(seed, batch=True) == played(seed, batch=False)


def test_a_batch_of_one_is_a_submit() -> None:
    """A batch of one leaves every table as the single verb does, and gives the same receipt."""

    def left_by(batch: bool, ok: bool) -> tuple[Receipt, Tables]:
        with temporary_store(World()) as store:
            store.define_queue("q", **SETTINGS)
            (task_id,) = leased(store, 1)
            submit = outcome(task_id, output=[1.0], ok=ok, error=None if ok else "boom")
            receipt = store.submit_batch([submit])[0] if batch else store.submit(**submit)
            return receipt, tables(store)

    for ok in (True, False):
        assert left_by(batch=True, ok=ok) == left_by(batch=False, ok=ok)
