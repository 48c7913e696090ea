"""release: give a lease back unharmed. (Contract §3.)"""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from verbs.bench import LAPSE, Bench
from verbs.refusals import refused, refused_after_lapse

from tessera.models import Lease

VERBS = ("release",)
DAYS_30 = 30 * 24 * 3_600


def test_the_whole_answer(bench: Bench, lease: Lease) -> None:
    """The task is ready at once, no failure counted, its attempt kept; the answer is the task as it is."""
    before = bench.store.task("t")
    bench.world.pass_seconds(1)
    view = bench.store.release("t", 1)
    assert view == bench.store.task("t")
    assert view == msgspec.structs.replace(
        before, state="ready", worker=None, claimed_at=None, expires_at=None, updated_at=bench.now()
    )
    assert (view.failures, view.attempts, view.last_error) == (0, 1, None)
    assert (bench.counts().ready, bench.counts().leased) == (1, 0)
    assert bench.claim().fencing_token == 2


def test_the_log_of_a_release(bench: Bench) -> None:
    """One event names the lease that ended and the key."""
    key = bench.key()
    task_id = bench.enqueue()
    key.claim("q", "w")
    seq = bench.seq()
    key.release(task_id, 1)
    (line,) = bench.log(seq)
    assert (line.type, line.queue, line.task_id, line.worker) == ("released", "q", task_id, "w")
    assert (line.fencing_token, line.key_id, line.data) == (1, bench.key_id(), None)


def test_a_delay(bench: Bench, lease: Lease) -> None:
    """A released task may be claimed again after its delay, and not a microsecond before."""
    assert bench.store.release("t", 1, 2.5).not_before == bench.after(2.5)
    bench.world.pass_seconds(2.499999)
    assert bench.store.claim("q", "w") is None
    bench.world.pass_seconds(0.000001)
    assert bench.claim().failures == 0


def test_releasing_costs_no_failure_however_often(bench: Bench) -> None:
    """A task that is given back a hundred times is as far from its death as before."""
    bench.queue("q", max_attempts=1)
    bench.enqueue(task_id="t")
    for token in range(1, 101):
        bench.claim()
        bench.store.release("t", token)
    task = bench.store.task("t")
    assert (task.state, task.failures, task.attempts, task.fencing_token) == ("ready", 0, 100, 100)


@pytest.mark.parametrize("delay", [0, 1.5, DAYS_30])
def test_the_bounds_of_a_delay(bench: Bench, lease: Lease, delay: float) -> None:
    """A delay is anything from nothing to thirty days."""
    assert bench.store.release("t", 1, delay).not_before == (bench.after(delay) if delay else None)


NO_DELAYS: list[Any] = [-1, -0.001, DAYS_30 + 0.001, float("inf"), float("nan"), "1", None, True]


def test_what_is_no_delay(bench: Bench, lease: Lease) -> None:
    """Less than nothing, more than thirty days and what is no number are refused."""
    for delay in NO_DELAYS:
        refused(bench, "invalid_request", bench.store.release, "t", 1, delay)


def test_an_unknown_task(bench: Bench, lease: Lease) -> None:
    """A task that does not exist is not found."""
    refused(bench, "not_found", bench.store.release, "none", 1)


def test_outside_the_grant(bench: Bench, lease: Lease) -> None:
    """Keys of other queues and kinds release nothing."""
    refused(bench, "forbidden", bench.key(queues=["other"]).release, "t", 1)
    refused(bench, "forbidden", bench.key(kinds=["x"]).release, "t", 1)


def test_another_keys_lease(bench: Bench, lease: Lease) -> None:
    """Only the key that claimed gives a lease back."""
    refused(bench, "scope_denied", bench.key(scopes=["admin"]).release, "t", 1)


def test_a_lease_that_is_not_live(bench: Bench, lease: Lease) -> None:
    """A guessed, a lapsed and an ended lease cannot be given back, and a lapse stays a failure."""
    refused(bench, "stale_lease", bench.store.release, "t", 2)
    bench.world.pass_seconds(LAPSE)
    refused_after_lapse(bench, "stale_lease", bench.store.release, "t", 1)
    assert bench.store.task("t").failures == 1
    bench.claim()
    bench.store.release("t", 2)
    refused(bench, "stale_lease", bench.store.release, "t", 2)
