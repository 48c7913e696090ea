"""T05: only the holder of the current token may act; whoever held an earlier one changes nothing."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from conformance.audit import audit
from conformance.bench import PAST_SHORT, SHORT, Bench
from tessera.models import Lease


def late_acts(bench: Bench, task_id: str, token: int) -> dict[str, Callable[[], object]]:
    """Everything a holder can do with a lease."""
    return {
        "heartbeat": lambda: bench.client.heartbeat(task_id, token),
        "submit": lambda: bench.client.submit(task_id, token, {"by": token}, bench.name("k")),
        "failed submit": lambda: bench.client.submit(
            task_id, token, None, bench.name("k"), ok=False, error="late"
        ),
        "split": lambda: bench.client.split(task_id, token, [{"brief": {}}]),
        "park": lambda: bench.client.park(task_id, token, "late"),
        "release": lambda: bench.client.release(task_id, token),
    }


def leased_again(bench: Bench) -> tuple[Lease, Lease]:
    """A task whose first holder fell silent and whose second holds it now."""
    queue = bench.queue(**SHORT)
    bench.enqueue(queue)
    old = bench.claim(queue, "old")
    bench.pass_seconds(PAST_SHORT)
    bench.lengthen(queue)
    return old, bench.claim(queue, "new")


def test_the_old_holder_is_refused_and_the_new_one_succeeds(bench: Bench) -> None:
    """After a re-lease the old token is refused whatever it tries, and the new one's submit is stored."""
    old, new = leased_again(bench)
    for act in late_acts(bench, old.task_id, old.fencing_token).values():
        with bench.refused("stale_lease", old.task_id):
            act()
    assert bench.ok(new, {"by": "new"}).state == "done"
    results = bench.client.results(new.task_id)
    assert [(result.fencing_token, result.worker) for result in results] == [(new.fencing_token, "new")]
    audit(bench)


def test_the_old_holder_is_refused_after_the_new_one_is_done(bench: Bench) -> None:
    """The order does not matter: once the new holder's result is stored, the old one's never is."""
    old, new = leased_again(bench)
    bench.ok(new, {"by": "new"})
    for act in late_acts(bench, old.task_id, old.fencing_token).values():
        with bench.refused("stale_lease", old.task_id):
            act()
    assert [result.output for result in bench.client.results(new.task_id)] == [{"by": "new"}]
    audit(bench)


def test_a_refused_submit_leaves_its_key_unused(bench: Bench) -> None:
    """The idempotency key of a refused submit was not spent; the new holder may still use it."""
    old, new = leased_again(bench)
    key = bench.name("k")
    with bench.refused("stale_lease", old.task_id):
        bench.client.submit(old.task_id, old.fencing_token, "old", key)
    receipt = bench.ok(new, "new", key)
    assert (receipt.fencing_token, receipt.idempotency_key) == (new.fencing_token, key)
    audit(bench)


def test_a_guessed_token_is_refused(bench: Bench) -> None:
    """A token that was never handed out opens nothing, and the true holder does not notice."""
    queue = bench.queue()
    task_id = bench.enqueue(queue)
    lease = bench.claim(queue)
    for act in late_acts(bench, task_id, lease.fencing_token + 1).values():
        with bench.refused("stale_lease", task_id):
            act()
    assert bench.ok(lease).state == "done"
    audit(bench)


def test_a_token_is_the_right_not_the_worker_s_name(bench: Bench) -> None:
    """A worker that lost its memory goes on with the token alone."""
    queue = bench.queue()
    task_id = bench.enqueue(queue)
    token = bench.claim(queue, "forgetful").fencing_token
    assert bench.client.heartbeat(task_id, token).worker == "forgetful"
    assert bench.client.submit(task_id, token, None, bench.name("k")).state == "done"
    audit(bench)


@pytest.mark.parametrize("ending", ["submit", "failed submit", "split", "park", "release", "cancel"])
def test_a_lease_that_was_ended_stays_ended(bench: Bench, ending: str) -> None:
    """Whatever ended a lease, its token is stale from then on and nothing it tries takes effect."""
    queue = bench.queue()
    task_id = bench.enqueue(queue)
    token = bench.claim(queue).fencing_token
    acts = late_acts(bench, task_id, token)
    if ending == "cancel":
        bench.client.cancel(task_id, "no longer wanted")
    else:
        acts[ending]()
    failures = bench.task(task_id).failures
    assert failures == (1 if ending == "failed submit" else 0)
    for act in acts.values():
        with bench.refused("stale_lease", task_id):
            act()
    audit(bench)


@pytest.mark.parametrize("before", ["ready", "dependencies"])
def test_a_task_that_nobody_holds_takes_no_token(bench: Bench, before: str) -> None:
    """A task that was never leased refuses every lease verb; an unknown one is not found."""
    queue = bench.queue()
    depends_on = [bench.enqueue(queue)] if before == "dependencies" else []
    task_id = bench.enqueue(queue, depends_on=depends_on)
    for act in late_acts(bench, task_id, 1).values():
        with bench.refused("stale_lease", task_id):
            act()
    for act in late_acts(bench, bench.name("nobody"), 1).values():
        with bench.refused("not_found"):
            act()
    audit(bench)


def test_another_key_may_not_use_a_lease(bench: Bench) -> None:
    """A lease belongs to the key that claimed it, even for one that covers the queue and knows its token."""
    queue = bench.queue()
    task_id = bench.enqueue(queue)
    mine, other = bench.backend.keyed(queues=[queue]), bench.backend.keyed(queues=[queue])
    lease = mine.claim(queue, "mine")
    assert lease is not None
    with bench.refused("scope_denied", task_id):
        other.heartbeat(task_id, lease.fencing_token)
    with bench.refused("scope_denied", task_id):
        other.submit(task_id, lease.fencing_token, None, bench.name("k"))
    with bench.refused("stale_lease", task_id):
        other.submit(task_id, lease.fencing_token + 1, None, bench.name("k"))
    assert mine.submit(task_id, lease.fencing_token, None, bench.name("k")).state == "done"
    audit(bench)
