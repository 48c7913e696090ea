"""T13: several workers move work through several queues; nothing is lost, doubled or left without receipt."""

from __future__ import annotations

from collections import Counter

from conformance.audit import audit
from conformance.bench import Bench, brief_of, together
from conformance.receipts import receipt

WORKERS = 4
TASKS = 50
ROUNDS = 5_000  # far more than it takes; a backend that never gets done must not hang the suite


def test_four_workers_move_fifty_tasks_through_two_queues(bench: Bench) -> None:
    """4 workers draft and polish 50 tasks: every task is done once in each queue, with a receipt for each."""
    drafts, polish = bench.queue(), bench.queue()
    for n in range(TASKS):
        bench.enqueue(drafts, brief={"n": n}, task_id=f"{drafts}.{n}")

    def work(number: int) -> list[str]:
        receipts = []
        worker = f"worker-{number}"
        for _ in range(ROUNDS):
            if bench.client.counts().queues[polish].done == TASKS:
                break
            if lease := bench.client.claim(drafts, worker):
                # The next step is named after this one, so taking the step twice would make it once.
                bench.enqueue(polish, brief=lease.brief, task_id=f"{polish}.{brief_of(lease)['n']}")
                receipts.append(bench.ok(lease, {"draft": brief_of(lease)["n"]}).sha256)
            if lease := bench.client.claim(polish, worker):
                receipts.append(bench.ok(lease, {"polished": brief_of(lease)["n"]}).sha256)
        return receipts

    receipts = [sha256 for share in together(WORKERS, work) for sha256 in share]
    assert bench.counts(drafts) == bench.counts(polish) == {"done": TASKS}
    assert len(receipts) == len(set(receipts)) == 2 * TASKS
    stored = [bench.client.results(task.task_id) for queue in (drafts, polish) for task in bench.tasks(queue)]
    assert all(len(results) == 1 for results in stored)
    assert Counter(results[0].sha256 for results in stored) == Counter(receipts)
    for n in range(TASKS):
        expected = receipt(f"{polish}.{n}", 1, True, {"polished": n}, None)
        assert [result.sha256 for result in bench.client.results(f"{polish}.{n}")] == [expected]
    audit(bench)


def test_unreliable_workers_lose_and_double_nothing(bench: Bench) -> None:
    """4 workers that fail, give back and park at random still finish every task exactly once."""
    queue = bench.queue(max_attempts=20)
    tasks = [bench.enqueue(queue, brief={"n": n}) for n in range(TASKS)]

    def work(number: int) -> None:
        for _ in range(ROUNDS):
            if bench.client.counts().queues[queue].done == TASKS:
                break
            lease = bench.client.claim(queue, f"worker-{number}")
            if lease is None:
                continue
            step = (lease.attempts + brief_of(lease)["n"]) % 4
            if lease.attempts > 4 or step == 0:
                bench.ok(lease, {"n": brief_of(lease)["n"]})
            elif step == 1:
                bench.fail(lease)
            elif step == 2:
                bench.client.release(lease.task_id, lease.fencing_token)
            else:
                bench.client.park(lease.task_id, lease.fencing_token, "a question")
                bench.client.resume(lease.task_id, {"go": "on"}, park=lease.parks + 1)

    together(WORKERS, work)
    assert bench.counts(queue) == {"done": TASKS}
    for n, task_id in enumerate(tasks):
        done = [result for result in bench.client.results(task_id) if result.ok]
        assert [result.output for result in done] == [{"n": n}]
    audit(bench)


def test_the_log_never_holds_what_the_work_is_about(bench: Bench) -> None:
    """Briefs, outputs, inputs, errors and reasons stay out of the log; it only names things."""
    queue = bench.queue()
    secret = bench.name("confidential")
    bench.enqueue(queue, brief={"brief": secret})
    lease = bench.claim(queue)
    bench.client.park(lease.task_id, lease.fencing_token, secret)
    bench.client.resume(lease.task_id, {"input": secret})
    bench.fail(bench.claim(queue), error=secret, output=secret)
    bench.ok(bench.claim(queue), {"output": secret})
    bench.client.cancel(bench.enqueue(queue), secret)
    log = bench.log()
    assert {"enqueued", "claimed", "parked", "resumed", "submitted", "cancelled"} <= {
        line.type for line in log
    }
    assert not any(secret in repr(line) for line in log)
    audit(bench)
