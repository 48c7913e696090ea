"""T14: a restart in the middle of a run loses nothing and doubles nothing."""

from __future__ import annotations

from collections import Counter
from typing import Any

from msgspec.structs import replace

from conformance.audit import audit
from conformance.bench import PAST_SHORT, SHORT, Bench

TASKS = 24


def seen(bench: Bench) -> list[Any]:
    """Everything that can be read of the bench's queues."""
    return [
        (queue, bench.counts(queue), bench.tasks(queue), [
            bench.client.results(task.task_id) for task in bench.tasks(queue)
        ])
        for queue in bench.queues
    ] + [bench.log()]  # fmt: skip


def test_a_restart_mid_run_loses_and_doubles_nothing(bench: Bench) -> None:
    """With tasks done, failed, leased and ready, a restart changes nothing answered, and all get done."""
    queue = bench.queue()
    tasks = [bench.enqueue(queue, brief={"n": n}) for n in range(TASKS)]
    for n in range(8):
        bench.ok(bench.claim(queue), {"before": n})
    for lease in [bench.claim(queue) for _ in range(3)]:
        bench.fail(lease)
    held = [bench.claim(queue, "survivor") for _ in range(5)]
    before = seen(bench)
    bench.backend.restart()
    assert seen(bench) == before
    for lease in held:
        assert bench.client.heartbeat(lease.task_id, lease.fencing_token).worker == "survivor"
        bench.ok(lease, {"across": True})
    while (last := bench.client.claim(queue, "after")) is not None:
        bench.ok(last, {"after": True})
    assert bench.counts(queue) == {"done": TASKS}
    successes = [result.task_id for task in tasks for result in bench.client.results(task) if result.ok]
    assert Counter(successes) == Counter(tasks)
    audit(bench)


def test_leases_that_end_over_a_restart_return_with_higher_tokens(bench: Bench) -> None:
    """A lease whose time runs out across a restart lapses; its old token stays refused afterwards."""
    queue = bench.queue(**SHORT)
    for _ in range(4):
        bench.enqueue(queue)
    old = {lease.task_id: lease for lease in (bench.claim(queue, "before") for _ in range(4))}
    bench.backend.restart()
    bench.pass_seconds(PAST_SHORT)
    bench.lengthen(queue)
    new = {lease.task_id: lease for lease in (bench.claim(queue, "after") for _ in range(4))}
    assert new.keys() == old.keys()
    for task_id, lease in new.items():
        assert lease.fencing_token > old[task_id].fencing_token
        assert lease.failures == 1
        with bench.refused("stale_lease", task_id):
            bench.client.submit(task_id, old[task_id].fencing_token, None, bench.name("k"))
        bench.ok(lease)
    assert bench.counts(queue) == {"done": 4}
    audit(bench)


def test_a_submit_whose_answer_was_lost_replays_after_a_restart(bench: Bench) -> None:
    """Receipts are stored: the same submit after a restart is a replay, with the same hash."""
    queue = bench.queue()
    task_id = bench.enqueue(queue)
    lease = bench.claim(queue)
    key = bench.name("k")
    first = bench.ok(lease, {"v": 1}, key)
    bench.backend.restart()
    again = bench.client.submit(task_id, lease.fencing_token, {"v": 1}, key)
    assert again == replace(first, replayed=True)
    assert len(bench.client.results(task_id)) == 1
    audit(bench)


def test_everything_that_waits_still_waits_after_a_restart(bench: Bench) -> None:
    """Parks, splits, dependencies, delays, pauses and settings survive, and end as they would have."""
    queue, slow = bench.queue(), bench.queue(max_attempts=7)
    parked = bench.enqueue(queue, kind="asks")
    lease = bench.claim(queue, kinds=["asks"])
    bench.client.park(parked, lease.fencing_token, "a question")
    parent = bench.enqueue(queue, kind="whole")
    lease = bench.claim(queue, kinds=["whole"])
    (child,) = bench.client.split(parent, lease.fencing_token, [{"brief": {}, "kind": "part"}])
    dependent = bench.enqueue(queue, kind="later", depends_on=[child])
    bench.enqueue(queue, kind="delayed", delay_seconds=3_600)
    bench.client.pause_queue(slow)
    bench.backend.restart()
    settings = {config.name: config for config in bench.client.queues()}[slow]
    assert (settings.paused, settings.max_attempts) == (True, 7)
    assert bench.counts(queue) == {"ready": 2, "waiting": 3}
    bench.idle(queue, kinds=["asks", "whole", "later", "delayed"])
    bench.ok(bench.claim(queue, kinds=["part"]), "part of it")
    assert bench.claim(queue, kinds=["whole"]).children[0].output == "part of it"
    assert bench.claim(queue, kinds=["later"]).dependencies[0].task_id == child
    bench.client.resume(parked, {"an": "answer"})
    assert [given.input for given in bench.claim(queue, kinds=["asks"]).inputs] == [{"an": "answer"}]
    assert bench.state(dependent) == "leased"
    audit(bench)


def test_keys_and_sequence_numbers_go_on_after_a_restart(bench: Bench) -> None:
    """The log continues where it stood, without a number used twice, and idempotency keys stay spent."""
    queue = bench.queue()
    first, second = bench.enqueue(queue), bench.enqueue(queue)
    key = bench.name("k")
    bench.ok(bench.claim(queue), None, key)
    before = bench.log()
    bench.backend.restart()
    lease = bench.claim(queue)
    with bench.refused("idempotency_conflict", first, second):
        bench.client.submit(second, lease.fencing_token, None, key)
    after = bench.log()
    assert after[: len(before)] == before
    assert [line.type for line in after[len(before) :]] == ["claimed"]
    assert after[-1].seq > before[-1].seq
    audit(bench)
