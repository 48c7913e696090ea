"""A lease from its holder's side, on a scripted clock and behind a door that sometimes does not answer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tessera import models
from tessera.cli.holding import Holding, Kept
from tessera.cli.program import Verdict
from tessera.errors import Unavailable
from tessera.library import Tessera
from tessera.testing import World, temporary_store


@pytest.fixture
def store(world: World) -> Iterator[Tessera]:
    with temporary_store(world) as store:
        store.define_queue("q", heartbeat_seconds=4, miss_limit=2, backoff_base_seconds=0)
        store.enqueue(queue="q", kind="k", brief={})
        yield store


@pytest.fixture
def holding(world: World, store: Tessera, outage: Any) -> Holding:
    lease = store.claim("q", "w")
    assert isinstance(lease, models.Lease)
    return Holding(Tessera(outage), lease, world.runtime())


def test_heartbeats_come_at_half_their_interval(holding) -> None:
    """A kept lease is due again after half of the queue's interval."""
    assert holding.keep() == (Kept.YES, 2)


def test_a_lease_is_believed_in_until_it_lapses(world, holding, outage) -> None:
    """While the store cannot answer, the holder goes on exactly until the lease has lapsed by the clock."""
    world.pass_seconds(6)
    assert holding.keep()[0] is Kept.YES
    outage.times = 2

    world.pass_seconds(7.9)
    assert holding.keep()[0] is Kept.UNKNOWN
    world.pass_seconds(0.1)
    assert holding.keep()[0] is Kept.NO


def test_a_lapse_is_not_the_holder_s_word(world, holding) -> None:
    """A lapsed lease is gone and was not handed back."""
    world.pass_seconds(8)

    assert holding.keep()[0] is Kept.NO
    assert not holding.was_handed_back()


def test_a_cancel_is_not_the_holder_s_word(store, holding) -> None:
    """A cancelled task's lease was not handed back."""
    store.cancel(holding.lease.task_id, "why not")

    assert not holding.was_handed_back()


@pytest.mark.parametrize("resumed", [False, True])
def test_a_park_is_the_holder_s_word(store, holding, resumed) -> None:
    """A parked task was handed back, also when somebody has claimed it again since."""
    store.park(holding.lease.task_id, 1, "why")
    if resumed:
        store.resume(holding.lease.task_id, None)
        store.claim("q", "other")

    assert holding.keep()[0] is Kept.NO
    assert holding.was_handed_back()


def test_a_failed_submit_is_the_holder_s_word(store, holding) -> None:
    """A failure that was handed in under the lease's token is no loss, though it counts."""
    store.submit(holding.lease.task_id, 1, None, "key", ok=False)

    assert holding.was_handed_back()


def test_nobody_to_ask_means_lost(holding, outage) -> None:
    """A store that cannot answer cannot vouch for anybody."""
    outage.times = 1

    assert not holding.was_handed_back()


def test_handing_in_outlasts_an_outage(world, holding, outage, store) -> None:
    """A submit whose answer was lost is asked again and stored once."""
    outage.times, outage.answers_get_lost = 3, True

    receipt = holding.hand_in(Verdict(ok=True, output={"n": 1}))

    assert receipt.replayed
    assert len(store.results(holding.lease.task_id)) == 1


def test_handing_in_gives_up(holding, outage) -> None:
    """A store that stays away is reported."""
    outage.times = 9
    with pytest.raises(Unavailable):
        holding.hand_in(Verdict(ok=True))


def test_a_refused_output_becomes_a_failure(holding, store) -> None:
    """What the store will not take as an output fails the task and says why."""
    receipt = holding.hand_in(Verdict(ok=True, output="x" * (1 << 20)))

    assert not receipt.ok
    [result] = store.results(holding.lease.task_id)
    assert result.error.startswith("the output was refused: output: more than 1048576 bytes")


def test_giving_back_counts_no_failure(holding, store) -> None:
    """A released task is ready again, unharmed."""
    holding.give_back()

    task = store.task(holding.lease.task_id)
    assert (task.state, task.failures) == ("ready", 0)
