"""A lease from its holder's side, on a scripted clock and behind a door that sometimes does not answer."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tessera import models
from tessera.client import AsyncTessera
from tessera.errors import Unavailable
from tessera.worker.deadlines import StoreClock
from tessera.worker.doors import ThreadedDoor
from tessera.worker.holding import Holding, Kept


def now(act: Coroutine[Any, Any, Any]) -> Any:
    """What a coroutine comes to."""
    return asyncio.run(act)


@pytest.fixture
def holding(world, store, outage) -> Iterator[Holding]:
    store.enqueue(queue="q", kind="k", brief={})
    clock, sent_us = StoreClock(), world.elapsed_us
    lease = store.claim("q", "w")
    assert isinstance(lease, models.Lease)
    clock.saw(sent_us, lease.claimed_at)
    with ThreadPoolExecutor(1) as threads:
        yield Holding(AsyncTessera(ThreadedDoor(outage, threads)), lease, world.runtime(), clock)


def test_heartbeats_come_at_half_their_interval(holding) -> None:
    """A kept lease is due again after half of the queue's interval."""
    assert now(holding.keep()) == (Kept.YES, 2)


def test_a_lease_is_believed_in_until_its_deadline_less_a_margin(world, holding, outage) -> None:
    """While the store cannot answer, the holder goes on until a fifth of a heartbeat before its end."""
    world.pass_seconds(6)
    assert now(holding.keep())[0] is Kept.YES
    outage.times = 2

    world.pass_seconds(7.1)
    assert now(holding.keep())[0] is Kept.UNKNOWN
    world.pass_seconds(0.1)
    assert now(holding.keep())[0] is Kept.NO


def test_a_lapse_is_not_the_holder_s_word(world, holding) -> None:
    """A lapsed lease is gone and was not handed back."""
    world.pass_seconds(8)

    assert now(holding.keep())[0] is Kept.NO
    assert not now(holding.was_handed_back())


def test_a_cancel_is_not_the_holder_s_word(store, holding) -> None:
    """A cancelled task's lease was not handed back."""
    store.cancel(holding.lease.task_id, "why not")

    assert not now(holding.was_handed_back())


@pytest.mark.parametrize("resumed", [False, True])
def test_a_park_is_the_holder_s_word(store, holding, resumed) -> None:
    """A parked task was handed back, also when somebody has claimed it again since."""
    store.park(holding.lease.task_id, 1, "why")
    if resumed:
        store.resume(holding.lease.task_id, None)
        store.claim("q", "other")

    assert now(holding.keep())[0] is Kept.NO
    assert now(holding.was_handed_back())


def test_a_failed_submit_is_the_holder_s_word(store, holding) -> None:
    """A failure that was handed in under the lease's token is no loss, though it counts."""
    store.submit(holding.lease.task_id, 1, None, "key", ok=False)

    assert now(holding.was_handed_back())


def test_nobody_to_ask_means_lost(holding, outage) -> None:
    """A store that cannot answer cannot vouch for anybody."""
    outage.times = 1

    assert not now(holding.was_handed_back())


def test_handing_in_outlasts_an_outage(holding, outage, store) -> None:
    """A submit whose answer was lost is asked again, as long as the lease may live, and stored once."""
    outage.times, outage.answers_get_lost = 30, True

    receipt = now(holding.hand_in(True, {"n": 1}, None))

    assert receipt.replayed
    assert len(store.results(holding.lease.task_id)) == 1


def test_handing_in_gives_up_with_the_lease(world, holding, outage) -> None:
    """A store that stays away past the lease's end is reported, after a few tries at least."""
    outage.times = 9
    world.pass_seconds(8)

    with pytest.raises(Unavailable):
        now(holding.hand_in(True, None, None))
    assert outage.times == 9 - 5


def test_giving_back_counts_no_failure(holding, store) -> None:
    """A released task is ready again, unharmed."""
    now(holding.give_back())

    task = store.task(holding.lease.task_id)
    assert (task.state, task.failures) == ("ready", 0)
