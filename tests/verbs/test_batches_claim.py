"""claim_batch: keys, several queues, damaged briefs, and what each lease carries."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import pytest
from verbs.bench import LAPSE, Bench
from verbs.refusals import refused
from verbs.tables import file_of, tables

from tessera.library import Tessera
from tessera.models import Lease
from tessera.testing import World

VERBS = ("claim_batch",)


@pytest.fixture
def store(bench: Bench) -> Tessera:
    """The store with the queues `q` and `r`."""
    bench.queue("r")
    return bench.store


def fill(store: Tessera, number: int, queue: str = "q", **fields: Any) -> list[str]:
    """New tasks, each with its number in its brief."""
    return store.enqueue_batch(
        {"queue": queue, "kind": "k", "brief": {"n": n}, **fields} for n in range(number)
    )


def ids(leases: list[Lease]) -> list[str]:
    return [lease.task_id for lease in leases]


def end(store: Tessera, *leases: Lease) -> None:
    """Hand in success for each."""
    for lease in leases:
        store.submit(lease.task_id, lease.fencing_token, {"by": lease.task_id}, f"end-{lease.task_id}")


def damage(store: Tessera, *task_ids: str) -> None:
    """Change stored briefs behind the store's back."""
    with closing(file_of(store)) as file:
        for task_id in task_ids:
            file.execute(
                "update briefs set brief = '{\"n\":99}' where serial ="
                " (select serial from tasks where task_id = ?)", (task_id,),
            )  # fmt: skip


def test_the_same_key_gives_the_same_leases(store: Tessera) -> None:
    """A batch that is asked for again gives its leases, in their order and whatever it asks for, and changes
    nothing.
    """
    fill(store, 9), fill(store, 2, priority=1)
    first = store.claim_batch("q", "w", 5, idempotency_key="key")
    before = tables(store)

    assert store.claim_batch("q", "w", 5, idempotency_key="key") == first
    assert store.claim_batch("q", "other", 1, ["none"], ["public"], idempotency_key="key") == first
    assert store.claim_batch(["r", "q"], "w", 100, idempotency_key="key") == first
    assert store.claim("q", "w", idempotency_key="key") == first[0]
    assert tables(store) == before


def test_a_key_gives_what_is_left_of_its_leases(store: Tessera, world: World) -> None:
    """Those that have ended are left out, and only when all have does the key claim anew."""
    store.define_queue("q", lease_seconds=60)
    fill(store, 6)
    first = store.claim_batch("q", "w", 3, idempotency_key="key")
    end(store, first[1])
    assert store.claim_batch("q", "w", 3, idempotency_key="key") == [first[0], first[2]]

    world.pass_seconds(LAPSE / 2)
    kept = store.heartbeat(first[2].task_id, 1)
    world.pass_seconds(LAPSE / 2)
    assert store.claim_batch("q", "w", 3, idempotency_key="key") == [kept]

    end(store, kept)
    anew = store.claim_batch("q", "w", 3, idempotency_key="key")
    assert (ids(anew)[0], anew[0].fencing_token, len(anew)) == (first[0].task_id, 2, 3)


def test_a_key_belongs_to_a_grant_and_a_queue(store: Tessera) -> None:
    """The same idempotency key is another claim for another grant, and on another queue."""
    fill(store, 4), fill(store, 2, "r")
    one, two = (store.as_key(store.issue_key().key) for _ in range(2))

    claims = ((one, "q"), (two, "q"), (one, "r"))
    batches = [keyed.claim_batch(queue, "w", 2, idempotency_key="key") for keyed, queue in claims]
    assert len({task_id for batch in batches for task_id in ids(batch)}) == 6
    assert one.claim_batch("q", "w", 2, idempotency_key="key") == batches[0]
    both = one.claim_batch(["q", "r"], "w", 2, idempotency_key="key")
    assert sorted(ids(both)) == sorted(ids(batches[0]) + ids(batches[2]))


def test_a_key_whose_grant_was_narrowed_gives_nothing_away(bench: Bench, store: Tessera) -> None:
    """A replay needs the right on each queue that it names, like any claim."""
    fill(store, 2)
    keyed = store.as_key(store.issue_key(queues=["q"]).key)
    assert len(keyed.claim_batch("q", "w", 2, idempotency_key="key")) == 2

    refused(bench, "forbidden", keyed.claim_batch, ["q", "r"], "w", 2, idempotency_key="key")


@pytest.mark.parametrize("limit", [1, 7])
def test_two_queues_are_emptied_together(store: Tessera, limit: int) -> None:
    """Of several queues each gives its own in its own order, and all of them are served."""
    expected = fill(store, 10, priority=1) + fill(store, 10), fill(store, 15, "r")
    claimed: list[Lease] = []
    while leases := store.claim_batch(["q", "r"], "w", limit):
        assert len(leases) == min(limit, 35 - len(claimed))
        claimed += leases

    for queue, in_order in zip("qr", expected, strict=True):
        assert [lease.task_id for lease in claimed if lease.queue == queue] == in_order
    assert store.counts(recount=True).agree


def test_queues_are_named_one_way(bench: Bench, store: Tessera) -> None:
    """Neither, both, none and too many are refused; a queue named twice counts once."""
    fill(store, 3)
    call = store._door.call
    for names in (b"", b'"queue":"q","queues":["q"],', b'"queues":[],', b'"queue":null,', b'"queues":"q",'):
        for verb in ("claim", "claim_batch"):
            refused(bench, "invalid_request", call, verb, b"{" + names + b'"worker":"w"}')
    refused(bench, "invalid_request", store.claim_batch, ["q"] * 101, "w", 2)
    refused(bench, "not_found", store.claim_batch, ["q", "absent"], "w", 2)

    assert ids(store.claim_batch(["q", "q"], "w", 9)) == [task.task_id for task in store.tasks("q").tasks]


def test_damage_in_the_middle_of_a_batch(store: Tessera) -> None:
    """A task whose brief is damaged ends with a tombstone, and the batch goes on past it."""
    tasks = fill(store, 5)
    damage(store, tasks[2])

    leases = store.claim_batch("q", "w", 4)

    assert ids(leases) == tasks[:2] + tasks[3:]
    assert [lease.brief["n"] for lease in leases] == [0, 1, 3, 4]
    dead = store.task(tasks[2])
    assert (dead.state, dead.failures, dead.attempts, dead.fencing_token) == ("dead", 0, 0, 0)
    assert [row["key"] for row in tables(store)["records"]] == [tasks[2]]


@pytest.mark.parametrize("queues", ["q", ["q", "r"]])
def test_much_damage_in_a_batch(store: Tessera, queues: Any) -> None:
    """More damaged briefs than one turn settles are all ended, and what is whole is leased."""
    tasks = fill(store, 60)
    damage(store, *tasks[:30], *tasks[35:])

    assert ids(store.claim_batch(queues, "w", 100)) == tasks[30:35]
    assert store.counts(recount=True).queues["q"].dead == 55
    assert len(tables(store)["record_heads"]) == 55


def test_damage_under_a_live_lease_is_null_again(store: Tessera) -> None:
    """A replay of a batch shows `null` for a brief that was damaged since, and ends nothing."""
    tasks = fill(store, 2)
    store.claim_batch("q", "w", 2, idempotency_key="key")
    damage(store, tasks[0])

    again = store.claim_batch("q", "w", 2, idempotency_key="key")

    assert [lease.brief for lease in again] == [None, {"n": 1}]
    assert store.counts().queues["q"].leased == 2


def test_each_lease_carries_its_own(store: Tessera) -> None:
    """Children, dependencies and inputs go with the lease whose they are."""
    (parent,) = fill(store, 1)
    children = store.split(parent, store.claim("q", "w").fencing_token, [{"brief": {}}, {"brief": {}}])
    end(store, *store.claim_batch("q", "w", 2))
    (dependent,) = fill(store, 1, depends_on=[children[1]])
    (parked,) = fill(store, 1, priority=1)
    store.park(parked, store.claim("q", "w").fencing_token, "why")
    store.resume(parked, {"go": "on"})
    (plain,) = fill(store, 1)

    leases = {lease.task_id: lease for lease in store.claim_batch("q", "w", 9)}

    assert list(leases) == [parked, parent, dependent, plain]
    assert [child.output for child in leases[parent].children] == [{"by": child} for child in children]
    assert [one.task_id for one in leases[dependent].dependencies] == [children[1]]
    assert [given.input for given in leases[parked].inputs] == [{"go": "on"}]
    carried = {(len(one.children), len(one.dependencies), len(one.inputs)) for one in leases.values()}
    assert carried == {(2, 0, 0), (0, 1, 0), (0, 0, 1), (0, 0, 0)}


def test_what_is_due_is_settled_first(store: Tessera, world: World) -> None:
    """Lapses, delayed tasks and parks whose time is up, of all queues named, are settled before a batch."""
    lapsing = fill(store, 150) + fill(store, 3, "r")
    while store.claim_batch(["q", "r"], "w", 100):
        pass
    delayed = fill(store, 120, "r", delay_seconds=LAPSE)
    world.pass_seconds(LAPSE)

    claimed: list[str] = []
    while leases := store.claim_batch(["r", "q"], "w", 100):
        claimed += ids(leases)
    assert sorted(claimed) == sorted(lapsing + delayed)
    assert {store.task(task_id).failures for task_id in lapsing} == {1}


def test_an_empty_batch_says_when_to_come_back(store: Tessera) -> None:
    """With nothing ready the soonest due time of the queues tells the seconds, from 1 to 30."""
    assert store.claim_batch_or_wait(["q", "r"], "w", 5).retry_after_seconds == 30
    fill(store, 1, "r", delay_seconds=4.2), fill(store, 1, "q", delay_seconds=7)
    assert store.claim_batch_or_wait(["q", "r"], "w", 5).retry_after_seconds == 5
    assert store.claim_batch_or_wait(["q"], "w", 5).retry_after_seconds == 7
    assert store.claim_batch(["q", "r"], "w", 5) == []
