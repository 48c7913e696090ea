"""T07: trying again is safe. The same submit is stored once, and a key serves one task."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from conformance.audit import audit
from conformance.bench import PAST_SHORT, SHORT, Bench, code_of, together
from tessera.errors import TesseraError
from tessera.models import Lease


def test_the_same_submit_twice_stores_one_result(bench: Bench) -> None:
    """A replay gets the first receipt, marked as replayed, and writes nothing."""
    queue = bench.queue()
    task_id = bench.enqueue(queue)
    lease = bench.claim(queue)
    key = bench.name("k")
    first = bench.ok(lease, {"answer": 42}, key)
    assert (first.task_id, first.fencing_token, first.idempotency_key) == (task_id, lease.fencing_token, key)
    before = bench.log()
    again = bench.client.submit(task_id, lease.fencing_token, {"answer": 42}, key)
    assert again == replace(first, replayed=True)
    assert bench.log() == before
    assert [result.idempotency_key for result in bench.client.results(task_id)] == [key]
    audit(bench)


def test_a_replay_returns_the_first_receipt_whatever_it_says(bench: Bench) -> None:
    """Another output, outcome or token under the same key changes nothing about the first receipt."""
    queue = bench.queue()
    task_id = bench.enqueue(queue)
    lease = bench.claim(queue)
    key = bench.name("k")
    first = bench.ok(lease, {"answer": 42}, key)
    expected = replace(first, replayed=True)
    assert bench.client.submit(task_id, lease.fencing_token, "other", key) == expected
    assert bench.client.submit(task_id, lease.fencing_token, None, key, ok=False, error="no") == expected
    assert bench.client.submit(task_id, lease.fencing_token + 7, None, key) == expected
    assert [result.output for result in bench.client.results(task_id)] == [{"answer": 42}]
    audit(bench)


def test_a_failed_submit_replays_after_the_task_moved_on(bench: Bench) -> None:
    """The receipt of a failure comes back while another worker holds the task, and takes nothing from it."""
    queue = bench.queue()
    task_id = bench.enqueue(queue)
    lease = bench.claim(queue)
    key = bench.name("k")
    first = bench.client.submit(task_id, lease.fencing_token, None, key, ok=False, error="no luck")
    assert (first.ok, first.replayed, first.state) == (False, False, "ready")
    holder = bench.claim(queue, "next")
    assert bench.client.submit(task_id, lease.fencing_token, None, key) == replace(first, replayed=True)
    assert bench.task(task_id).worker == "next"
    assert bench.task(task_id).failures == 1
    assert bench.ok(holder).state == "done"
    assert len(bench.client.results(task_id)) == 2
    audit(bench)


def test_a_replay_outlives_the_lease(bench: Bench) -> None:
    """A worker that was answered nothing and comes back late still gets its receipt, not `stale_lease`."""
    queue = bench.queue(**SHORT)
    task_id = bench.enqueue(queue)
    lease = bench.claim(queue)
    key = bench.name("k")
    first = bench.ok(lease, "done in time", key)
    bench.pass_seconds(PAST_SHORT)
    assert bench.client.submit(task_id, lease.fencing_token, "done in time", key) == replace(
        first, replayed=True
    )
    with bench.refused("stale_lease", task_id):
        bench.client.submit(task_id, lease.fencing_token, "done in time", bench.name("k"))
    audit(bench)


def test_a_key_that_served_another_task_is_refused(bench: Bench) -> None:
    """Keys are global: one used for another task, even on another queue, is a conflict that costs nothing."""
    queues = [bench.queue(), bench.queue()]
    first, second = (bench.enqueue(queue) for queue in queues)
    key = bench.name("k")
    bench.ok(bench.claim(queues[0]), "same", key)
    lease = bench.claim(queues[1])
    with bench.refused("idempotency_conflict", first, second):
        bench.client.submit(second, lease.fencing_token, "same", key)
    assert bench.state(second) == "leased"
    assert bench.ok(lease, "same").state == "done"
    audit(bench)


def test_a_submit_needs_a_proper_key(bench: Bench) -> None:
    """A key is one to 255 visible ASCII characters; anything else is refused and the lease lives on."""
    queue = bench.queue()
    task_id = bench.enqueue(queue)
    lease = bench.claim(queue)
    improper: list[Any] = ["", "a b", "tab\t", "line\n", "x" * 256, "schlüssel", None]
    for key in improper:
        with bench.refused("invalid_request", task_id):
            bench.client.submit(task_id, lease.fencing_token, None, key)
    longest = bench.name("k").ljust(255, "~")
    assert bench.ok(lease, None, longest).idempotency_key == longest
    audit(bench)


def test_one_key_from_many_threads_is_stored_once(bench: Bench) -> None:
    """8 identical submits at once: one is the first, seven are replays of it, one result is stored."""
    queue = bench.queue()
    task_id = bench.enqueue(queue)
    lease = bench.claim(queue)
    key = bench.name("k")
    receipts = together(8, lambda _: bench.client.submit(task_id, lease.fencing_token, [1, 2], key))
    assert sorted(receipt.replayed for receipt in receipts) == [False] + [True] * 7
    assert len({replace(receipt, replayed=False) for receipt in receipts}) == 1
    assert len(bench.client.results(task_id)) == 1
    audit(bench)


def test_many_keys_on_one_lease_have_one_winner(bench: Bench) -> None:
    """8 submits with keys of their own at once: the lease ends with one of them, the rest are stale."""
    queue = bench.queue()
    task_id = bench.enqueue(queue)
    lease = bench.claim(queue)
    keys = [bench.name("k") for _ in range(8)]
    codes = together(
        8, lambda n: code_of(lambda: bench.client.submit(task_id, lease.fencing_token, n, keys[n]))
    )
    assert sorted(map(str, codes)) == ["None"] + ["stale_lease"] * 7
    stored = bench.client.results(task_id)
    assert [(result.output, result.idempotency_key) for result in stored] == [
        (codes.index(None), keys[codes.index(None)])
    ]
    audit(bench)


def test_a_claim_s_key_returns_the_same_lease_while_it_lives(bench: Bench) -> None:
    """A claim that is asked again gets the lease it already has; after the lease has ended it claims anew."""
    queue = bench.queue()
    tasks = [bench.enqueue(queue) for _ in range(2)]
    key = bench.name("k")
    lease = bench.claim(queue, idempotency_key=key)
    assert bench.claim(queue, idempotency_key=key) == lease
    assert bench.task(lease.task_id).attempts == 1
    bench.ok(lease)
    assert [lease.task_id, bench.claim(queue, idempotency_key=key).task_id] == tasks
    assert bench.counts(queue) == {"leased": 1, "done": 1}
    audit(bench)


def test_a_claim_s_key_is_the_claimer_s_own(bench: Bench) -> None:
    """The same idempotency key means another claim under another grant, or on another queue."""
    queue, other = bench.queue(), bench.queue()
    for name in (queue, queue, other):
        bench.enqueue(name)
    mine, theirs = bench.backend.keyed(queues=[queue, other]), bench.backend.keyed(queues=[queue])
    key = bench.name("k")
    first = mine.claim(queue, "me", idempotency_key=key)
    second = theirs.claim(queue, "them", idempotency_key=key)
    third = mine.claim(other, "me", idempotency_key=key)
    assert first is not None
    assert second is not None
    assert third is not None
    assert len({first.task_id, second.task_id, third.task_id}) == 3
    assert mine.claim(queue, "me", idempotency_key=key) == first
    audit(bench)


def test_enqueueing_a_known_id_changes_nothing(bench: Bench) -> None:
    """The same id in the same queue is the same task, in whatever state; in another queue it is refused."""
    queue, other = bench.queue(), bench.queue()
    task_id = bench.name("task")
    assert bench.enqueue(queue, task_id=task_id, brief={"v": 1}) == task_id
    assert bench.enqueue(queue, task_id=task_id, brief={"v": 2}, priority=9) == task_id
    assert bench.task(task_id).brief == {"v": 1}
    bench.ok(bench.claim(queue))
    assert bench.enqueue(queue, task_id=task_id) == task_id
    assert bench.state(task_id) == "done"
    with bench.refused("idempotency_conflict", task_id):
        bench.enqueue(other, task_id=task_id)
    assert bench.story(task_id).count("enqueued") == 1
    assert bench.counts(other) == {}
    audit(bench)


def test_one_id_from_many_threads_is_one_task(bench: Bench) -> None:
    """8 threads enqueue the same id at once: every one is answered with it, and one task exists."""
    queue = bench.queue()
    task_id = bench.name("task")
    answers = together(8, lambda _: bench.client.enqueue(queue=queue, kind="work", brief={}, task_id=task_id))
    assert answers == [task_id] * 8
    assert bench.counts(queue) == {"ready": 1}
    audit(bench)


def test_a_batch_of_tasks_is_all_or_nothing(bench: Bench) -> None:
    """A fault in one task refuses all; without it all are made, known ids once, and again changes nothing."""
    queue, other = bench.queue(), bench.queue()
    known, fresh = bench.enqueue(queue), bench.name("task")
    taken = bench.enqueue(other)

    def spec(**fields: Any) -> dict[str, Any]:
        return {"queue": queue, "kind": "work", "brief": {}, **fields}

    good = [spec(task_id=known), spec(task_id=fresh), spec(task_id=fresh), spec(depends_on=[fresh, known])]
    for code, fault in (
        ("not_found", spec(queue=bench.name("q"))), ("not_found", spec(depends_on=[bench.name("nobody")])),
        ("idempotency_conflict", spec(task_id=taken)), ("invalid_request", spec(brief=[])),
    ):  # fmt: skip
        with bench.refused(code, known, taken):
            bench.client.enqueue_batch([*good, fault])
    for number in (0, 1_001):
        with bench.refused("invalid_request", known):
            bench.client.enqueue_batch([spec()] * number)
    made = bench.client.enqueue_batch(good)
    assert made[:3] == [known, fresh, fresh]
    assert (bench.task(made[3]).state, bench.task(made[3]).pending_deps) == ("waiting", 2)
    assert bench.client.enqueue_batch(good[:3]) == made[:3]
    assert bench.counts(queue) == {"ready": 2, "waiting": 1}
    audit(bench)


def test_each_submit_of_a_batch_stands_alone(bench: Bench) -> None:
    """Refused ones leave the others be, and an earlier one counts as stored; all of it can be sent again."""
    queue = bench.queue(max_attempts=1)
    for _ in range(4):
        bench.enqueue(queue)
    one, two, three, four = bench.client.claim_batch(queue, "worker", 4)
    keys = [bench.name("k") for _ in range(3)]

    def submit(lease: Lease, key: str, **fields: Any) -> dict[str, Any]:
        about = {"task_id": lease.task_id, "fencing_token": lease.fencing_token}
        return {**about, "idempotency_key": key, **fields}

    batch = [
        submit(one, keys[0], output=1), submit(two, keys[0]), submit(two, keys[1], ok=False, error="no"),
        submit(one, keys[0], output=2), submit(one, bench.name("k")), submit(three, keys[2], fencing_token=9),
        submit(three, keys[2], output=3), {**submit(four, bench.name("k")), "task_id": bench.name("nobody")},
    ]  # fmt: skip
    results = bench.client.submit_batch(batch)
    assert [one.code if isinstance(one, TesseraError) else one.state for one in results] == [
        "done", "idempotency_conflict", "dead", "done", "stale_lease", "stale_lease", "done", "not_found",
    ]  # fmt: skip
    stored = {n: results[n] for n in (0, 2, 6)}
    assert results[3] == replace(stored[0], replayed=True)
    again = bench.client.submit_batch([batch[n] for n in stored])
    assert again == [replace(receipt, replayed=True) for receipt in stored.values()]
    assert bench.counts(queue) == {"done": 2, "dead": 1, "leased": 1}
    bench.ok(four)
    audit(bench)


def test_a_batch_s_key_returns_its_leases_while_they_live(bench: Bench) -> None:
    """A batch that is claimed again gives its leases, in their order; ended ones are left out."""
    queue = bench.queue()
    for priority in (0, 5, 0, 5, 0):
        bench.enqueue(queue, priority=priority)
    key = bench.name("k")
    leases = bench.client.claim_batch(queue, "worker", 3, idempotency_key=key)
    assert bench.client.claim_batch(queue, "other", 5, idempotency_key=key) == leases
    bench.ok(leases[0])
    assert bench.client.claim_batch(queue, "worker", 3, idempotency_key=key) == leases[1:]
    assert bench.counts(queue) == {"done": 1, "leased": 2, "ready": 2}
    audit(bench)
