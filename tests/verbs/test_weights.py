"""Claims of several queues: each is served in proportion to its weight."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import tessera
from tessera.library import Tessera
from tessera.testing import World

VERBS = ()
WEIGHTS = {"light": 1, "middle": 2, "heavy": 5}
QUEUES = list(WEIGHTS)


@pytest.fixture
def store(tmp_path: Path, world: World) -> Iterator[Tessera]:
    """A store with three queues, whose chance is random and the same in every run."""
    runtime = replace(world.runtime(), uniform=random.Random(11).uniform)
    with tessera.open(str(tmp_path / "store.db"), runtime=runtime) as store:
        for name, weight in WEIGHTS.items():
            store.define_queue(name, weight=weight)
        yield store
        assert store.counts(recount=True).agree


def fill(store: Tessera, number: int, *queues: str, **fields: object) -> None:
    """So many new tasks in each of the queues."""
    for queue in queues or QUEUES:
        store.enqueue_batch([{"queue": queue, "kind": "k", "brief": {}, **fields}] * number)


def served(store: Tessera, claims: int, limit: int, queues: list[str] = QUEUES) -> Counter[str]:
    """How many leases came from each queue in so many claims of a worker."""
    found: Counter[str] = Counter()
    for _ in range(claims):
        if limit == 1:
            lease = store.claim(queues, "w")
            found.update([] if lease is None else [lease.queue])
        else:
            found.update(lease.queue for lease in store.claim_batch(queues, "w", limit))
    return found


def near(number: int, total: int, share: float) -> bool:
    """Within five standard deviations of the share."""
    return abs(number - total * share) <= 5 * (total * share * (1 - share)) ** 0.5


@pytest.mark.parametrize("limit", [1, 7, 100])
@pytest.mark.parametrize("queues", [QUEUES, QUEUES[::-1], [*QUEUES, *QUEUES]], ids=["up", "down", "twice"])
def test_queues_are_served_by_weight(store: Tessera, limit: int, queues: list[str]) -> None:
    """One by one or in batches, in whatever order or how often they are named, each gets its share."""
    fill(store, 700)
    claims = min(240, 700 // limit)
    found = served(store, claims, limit, queues)

    assert sum(found.values()) == claims * limit
    for queue, weight in WEIGHTS.items():
        assert near(found[queue], claims * limit, weight / 8), found


def test_a_queue_that_is_empty_leaves_its_share(store: Tessera) -> None:
    """With nothing in the heavy queue the others are served one to two; with nothing else, one gets all."""
    fill(store, 400, "light", "middle")
    found = served(store, 30, 10)

    assert found["heavy"] == 0
    assert near(found["light"], 300, 1 / 3), found
    fill(store, 400, "heavy")
    assert served(store, 5, 10, ["heavy", "light"])["heavy"] > 0


def test_everything_is_served_in_the_end(store: Tessera) -> None:
    """A claim comes back empty only when every queue is."""
    fill(store, 30)

    assert served(store, 9, 10) == dict.fromkeys(QUEUES, 30)
    assert store.claim(QUEUES, "w") is None


def test_a_paused_queue_takes_no_part(store: Tessera) -> None:
    """While a queue is paused the others share all; afterwards it has its share again."""
    fill(store, 600)
    store.pause_queue("heavy")
    paused = served(store, 30, 10)
    store.resume_queue("heavy")
    resumed = served(store, 40, 10)

    assert paused["heavy"] == 0
    assert near(paused["light"], 300, 1 / 3), paused
    assert near(resumed["heavy"], 400, 5 / 8), resumed
    for queue in QUEUES:
        store.pause_queue(queue)
    assert store.claim_batch(QUEUES, "w", 10) == []


def test_what_cannot_be_claimed_takes_no_share(store: Tessera, world: World) -> None:
    """Delayed tasks and kinds that are not asked for do not count until they could be claimed."""
    fill(store, 300, "light", "middle")
    fill(store, 300, "heavy", delay_seconds=5)
    fill(store, 300, "heavy", kind="other")
    found = Counter(lease.queue for _ in range(3) for lease in store.claim_batch(QUEUES, "w", 100, ["k"]))
    assert (found["heavy"], near(found["light"], 300, 1 / 3)) == (0, True), found

    world.pass_seconds(5)
    leases = [lease for _ in range(2) for lease in store.claim_batch(QUEUES, "w", 100, ["k"])]
    assert near(sum(lease.queue == "heavy" for lease in leases), 200, 5 / 8)


def test_a_new_weight_counts_at_once(store: Tessera) -> None:
    """The claim after a change of a weight is dealt by it."""
    fill(store, 900)
    before = served(store, 40, 10)
    store.define_queue("light", weight=1_000)
    after = served(store, 40, 10)

    assert near(before["light"], 400, 1 / 8), before
    assert after["light"] > 380


def test_priority_counts_within_a_queue_only(store: Tessera) -> None:
    """Weights decide between queues, priority and age within one."""
    fill(store, 200, "light", priority=1_000)
    fill(store, 200, "heavy", priority=-1_000)
    store.enqueue(queue="heavy", kind="k", brief={"goes": "first"})
    leases = [lease for _ in range(6) for lease in store.claim_batch(["light", "heavy"], "w", 10)]

    heavy = [lease for lease in leases if lease.queue == "heavy"]
    assert near(len(heavy), 60, 5 / 6)
    assert [lease.brief == {"goes": "first"} for lease in heavy] == [True] + [False] * (len(heavy) - 1)


@pytest.mark.parametrize(
    ("u", "queue"),
    [
        (0.0, "light"), (0.124, "light"), (0.125, "middle"), (0.374, "middle"), (0.375, "heavy"),
        (1.0, "heavy"),
    ],
)  # fmt: skip
def test_a_scripted_draw(tmp_path: Path, u: float, queue: str) -> None:
    """A draw falls where the weights, in the order of the names, put it."""
    with tessera.open(str(tmp_path / "s.db"), runtime=World(u=u).runtime()) as store:
        for name, weight in WEIGHTS.items():
            store.define_queue(name, weight=weight)
        fill(store, 3)
        assert store.claim(QUEUES, "w").queue == queue
        assert {lease.queue for lease in store.claim_batch(QUEUES, "w", 2)} == {queue}


@pytest.mark.parametrize("queues", ["light", ["light"], ["light", "light"]])
def test_one_queue_is_no_matter_of_chance(tmp_path: Path, world: World, queues: str | list[str]) -> None:
    """A claim of one queue draws nothing, however it is named."""

    def never(_low: float, _high: float) -> float:
        raise AssertionError("drawn")

    runtime = replace(world.runtime(), uniform=never)
    with tessera.open(str(tmp_path / "s.db"), runtime=runtime) as store:
        store.define_queue("light")
        fill(store, 3, "light")
        assert store.claim(queues, "w") is not None
        assert len(store.claim_batch(queues, "w", 9)) == 2
