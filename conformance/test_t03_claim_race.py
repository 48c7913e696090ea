"""T03: no task is ever leased to two workers at once, however many ask."""

from __future__ import annotations

from collections import Counter

import pytest

from conformance.audit import audit
from conformance.bench import LONG, Bench, together
from tessera.models import Lease

WORKERS = 8
TASKS = 1_000


def test_eight_workers_share_a_thousand_tasks_without_a_double(bench: Bench) -> None:
    """8 workers race for 1,000 tasks: each task is leased exactly once, to the worker that got the answer."""
    queue = bench.queue()

    def fill(number: int) -> list[str]:
        return [bench.enqueue(queue, brief={"n": n}) for n in range(number, TASKS, WORKERS)]

    enqueued = [task_id for share in together(WORKERS, fill) for task_id in share]
    assert bench.counts(queue) == {"ready": TASKS}

    def drain(number: int) -> list[Lease]:
        won = []
        while (lease := bench.client.claim(queue, f"worker-{number}")) is not None:
            won.append(lease)
        return won

    shares = together(WORKERS, drain)
    leases = [lease for share in shares for lease in share]
    assert Counter(lease.task_id for lease in leases) == Counter(enqueued)
    assert {lease.fencing_token for lease in leases} == {1}
    assert all(lease.worker == f"worker-{number}" for number, share in enumerate(shares) for lease in share)
    assert bench.counts(queue) == {"leased": TASKS}
    holders = {line.task_id: line.worker for line in bench.log() if line.type == "claimed"}
    assert holders == {lease.task_id: lease.worker for lease in leases}
    audit(bench)


def test_one_task_has_one_winner_every_time(bench: Bench) -> None:
    """8 workers race for a single task, 20 times over: one lease and seven empty answers each time."""
    queue = bench.queue()
    for _ in range(20):
        task_id = bench.enqueue(queue)
        answers = together(WORKERS, lambda number: bench.client.claim(queue, f"worker-{number}"))
        leases = [answer for answer in answers if answer is not None]
        assert [(lease.task_id, lease.fencing_token) for lease in leases] == [(task_id, 1)]
        assert bench.task(task_id).worker == leases[0].worker
        bench.ok(leases[0])
    audit(bench)


def test_the_race_for_a_task_that_comes_back_gives_one_new_token(bench: Bench) -> None:
    """A released task is raced for like a new one, and each of its leases has the next token."""
    queue = bench.queue()
    task_id = bench.enqueue(queue)
    for token in range(1, 11):
        answers = together(WORKERS, lambda number: bench.client.claim(queue, f"worker-{number}"))
        tokens = [answer.fencing_token for answer in answers if answer is not None]
        assert tokens == [token]
        bench.client.release(task_id, token)
    assert bench.task(task_id).attempts == 10
    audit(bench)


def test_claims_go_by_priority_then_by_age(bench: Bench) -> None:
    """The highest priority is leased first; among equals the oldest task."""
    queue = bench.queue()
    low = [bench.enqueue(queue, priority=-5) for _ in range(2)]
    usual = [bench.enqueue(queue) for _ in range(3)]
    high = [bench.enqueue(queue, priority=1_000) for _ in range(2)]
    order = [bench.claim(queue).task_id for _ in range(7)]
    assert order[:2] == high
    assert order[2:5] == usual
    assert order[5:] == low
    audit(bench)


def test_a_batch_goes_by_priority_then_by_age(bench: Bench) -> None:
    """A batch is what as many claims would give, no more than asked for and no more than there is."""
    queue = bench.queue()
    low, high = ([bench.enqueue(queue, priority=priority) for _ in range(3)] for priority in (-5, 5))
    first = bench.client.claim_batch(queue, "worker", 4)
    assert [lease.task_id for lease in first] == high + low[:1]
    assert {(lease.worker, lease.fencing_token, lease.attempts) for lease in first} == {("worker", 1, 1)}
    assert [lease.task_id for lease in bench.client.claim_batch(queue, "worker", 4)] == low[1:]
    assert bench.client.claim_batch(queue, "worker", 4) == []
    for limit in (0, 101):
        with bench.refused("invalid_request"):
            bench.client.claim_batch(queue, "worker", limit)
    for lease in first:
        bench.ok(lease)
    audit(bench)


def test_eight_workers_share_a_thousand_tasks_in_batches(bench: Bench) -> None:
    """8 workers race in batches of up to 20 over two queues: again each task is leased exactly once."""
    queues = [bench.queue(), bench.queue(weight=9)]
    specs = [{"queue": queues[n % 2], "kind": "work", "brief": {"n": n}} for n in range(TASKS)]
    enqueued = bench.client.enqueue_batch(specs)
    assert len(set(enqueued)) == TASKS

    def drain(number: int) -> list[str]:
        won: list[str] = []
        while leases := bench.client.claim_batch(queues, f"worker-{number}", 20 - number):
            won += [lease.task_id for lease in leases]
        return won

    shares = together(WORKERS, drain)
    assert Counter(task_id for share in shares for task_id in share) == Counter(enqueued)
    audit(bench)


def test_several_queues_are_served_by_weight(bench: Bench) -> None:
    """Weights 1 and 4 give about one lease in five; empty and paused queues take no share."""
    light, heavy, empty, paused = (bench.queue(weight=weight) for weight in (1, 4, 1_000, 1_000))
    for queue in (light, heavy, paused):
        bench.client.enqueue_batch([{"queue": queue, "kind": "work", "brief": {}}] * 400)
    bench.client.pause_queue(paused)
    served: Counter[str] = Counter()
    for _ in range(4):
        leases = bench.client.claim_batch([empty, light, paused, heavy], "worker", 100)
        served.update(lease.queue for lease in leases)
    assert served[light] + served[heavy] == 400
    assert 40 <= served[light] <= 120  # five standard deviations either way
    lease = bench.client.claim([light, empty], "worker")
    assert lease is not None
    assert lease.queue == light
    audit(bench)


def test_a_filtered_claim_takes_only_what_it_asks_for(bench: Bench) -> None:
    """Filters by kind and effect class reach past everything that goes first and does not match."""
    queue = bench.queue()
    for _ in range(20):
        bench.enqueue(queue, kind="loud", priority=1_000)
    wanted = bench.enqueue(queue, kind="quiet", effect_class="write-internal")
    bench.idle(queue, kinds=["other"])
    bench.idle(queue, kinds=["loud"], effect_classes=["write-internal"])
    bench.idle(queue, kinds=["quiet"], effect_classes=["read"])
    lease = bench.claim(queue, kinds=["quiet", "other"], effect_classes=["write-internal"])
    assert (lease.task_id, lease.kind, lease.effect_class) == (wanted, "quiet", "write-internal")
    audit(bench)


def test_a_filtered_claim_keeps_the_order(bench: Bench) -> None:
    """Among the kinds that a claim asks for, priority goes first and then age, as without a filter."""
    queue = bench.queue()
    low = bench.enqueue(queue, kind="b", priority=-5)
    usual = [bench.enqueue(queue, kind=kind) for kind in ("b", "a", "b")]
    bench.enqueue(queue, kind="c", priority=9)
    high = [bench.enqueue(queue, kind=kind, priority=5) for kind in ("a", "b")]
    assert [bench.claim(queue, kinds=["b", "a"]).task_id for _ in range(6)] == [*high, *usual, low]
    bench.idle(queue, kinds=["b", "a"])
    audit(bench)


def test_a_paused_queue_gives_no_lease_and_loses_none(bench: Bench) -> None:
    """While a queue is paused its leases go on and new tasks come in, but nothing is claimed."""
    queue = bench.queue()
    bench.enqueue(queue)
    lease = bench.claim(queue)
    assert bench.client.pause_queue(queue).paused
    later = bench.enqueue(queue)
    bench.idle(queue)
    bench.client.heartbeat(lease.task_id, lease.fencing_token)
    assert bench.ok(lease).state == "done"
    assert not bench.client.resume_queue(queue).paused
    assert bench.claim(queue).task_id == later
    audit(bench)


def test_a_delayed_task_waits_its_time(bench: Bench) -> None:
    """A task enqueued with a delay is not claimable before its time, and is claimable after it."""
    queue = bench.queue()
    task_id = bench.enqueue(queue, delay_seconds=2)
    not_before = bench.task(task_id).not_before
    assert not_before is not None
    bench.idle(queue)
    bench.pass_until(not_before)
    assert bench.claim(queue).task_id == task_id
    audit(bench)


def test_a_queue_that_is_defined_again_keeps_what_is_not_named(bench: Bench) -> None:
    """Defining a queue again changes the settings that are named and no other; bounds are kept."""
    queue = bench.queue(max_attempts=7)
    assert bench.client.define_queue(queue, weight=5).max_attempts == 7
    stored = {config.name: config for config in bench.client.queues()}[queue]
    assert (stored.max_attempts, stored.weight, stored.paused) == (7, 5, False)
    assert stored.heartbeat_seconds == LONG["heartbeat_seconds"]
    out_of_bounds = {"heartbeat_seconds": 0, "miss_limit": 11, "lease_seconds": 3_601, "max_attempts": 21}
    for setting, value in out_of_bounds.items():
        with bench.refused("invalid_request"):
            bench.client.define_queue(queue, **{setting: value})
    assert {config.name: config for config in bench.client.queues()}[queue] == stored
    bench.enqueue(queue)
    audit(bench)


@pytest.mark.parametrize(
    "name", ["", "Upper", "-dash", "a" * 65, "line\n", "space here", "ünïcode"], ids=repr
)
def test_a_queue_needs_a_proper_name(bench: Bench, name: str) -> None:
    """Names outside the pattern are refused and make no queue."""
    queues = [config.name for config in bench.client.queues()]
    with bench.refused("invalid_request"):
        bench.client.define_queue(name)
    assert [config.name for config in bench.client.queues()] == queues
