"""T09: counts are never a tally of their own; after whatever happened they equal a recount of the tasks."""

from __future__ import annotations

import random
from collections import Counter
from itertools import pairwise
from typing import Any

from conformance.audit import audit
from conformance.bench import PAST_SHORT, SHORT, Bench

OUTCOMES = 500


class Mill:
    """Ends 500 tasks in mixed ways and keeps its own tally of what must have become of them."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.sturdy = bench.queue(backoff_base_seconds=600, backoff_cap_seconds=600)
        self.fragile = bench.queue(max_attempts=1)
        self.silent = bench.queue(**SHORT, max_attempts=2)
        self.expected = {name: Counter[str]() for name in bench.queues}
        self.outcomes = (
            self.done, self.failed, self.died, self.parked, self.resumed, self.split, self.released,
            self.cancelled_ready, self.cancelled_leased, self.dependent,
        )  # fmt: skip

    def done(self) -> None:
        self.bench.enqueue(self.sturdy, priority=1)
        self.bench.ok(self.bench.claim(self.sturdy), {"n": 1})
        self.expected[self.sturdy]["done"] += 1

    def failed(self) -> None:
        self.bench.enqueue(self.sturdy, priority=1)
        self.bench.fail(self.bench.claim(self.sturdy))
        self.expected[self.sturdy]["ready"] += 1

    def died(self) -> None:
        self.bench.enqueue(self.fragile, priority=1)
        self.bench.fail(self.bench.claim(self.fragile))
        self.expected[self.fragile]["dead"] += 1

    def parked(self) -> None:
        self.bench.enqueue(self.sturdy, priority=1)
        lease = self.bench.claim(self.sturdy)
        self.bench.client.park(lease.task_id, lease.fencing_token, "a question")
        self.expected[self.sturdy]["waiting"] += 1

    def resumed(self) -> None:
        task_id = self.bench.enqueue(self.fragile, priority=-1)
        lease = self.bench.claim(self.fragile, kinds=["work"])
        self.bench.client.park(lease.task_id, lease.fencing_token, "a question")
        self.bench.client.resume(lease.task_id, {"an": "answer"})
        assert self.bench.state(task_id) == "ready"
        self.expected[self.fragile]["ready"] += 1

    def split(self) -> None:
        self.bench.enqueue(self.fragile, kind="whole", priority=1)
        lease = self.bench.claim(self.fragile, kinds=["whole"])
        children: list[dict[str, Any]] = [{"brief": {}}, {"brief": {}, "after": [0]}]
        self.bench.client.split(lease.task_id, lease.fencing_token, children)
        self.bench.ok(self.bench.claim(self.fragile, kinds=["whole"]))
        self.bench.ok(self.bench.claim(self.fragile, kinds=["whole"]))
        self.expected[self.fragile] += Counter(done=2)
        self.bench.fail(self.bench.claim(self.fragile, kinds=["whole"]))
        self.expected[self.fragile]["dead"] += 1

    def released(self) -> None:
        self.bench.enqueue(self.sturdy, priority=1)
        lease = self.bench.claim(self.sturdy)
        self.bench.client.release(lease.task_id, lease.fencing_token, delay_seconds=3_600)
        self.expected[self.sturdy]["ready"] += 1

    def cancelled_ready(self) -> None:
        self.bench.client.cancel(self.bench.enqueue(self.sturdy), "unwanted")
        self.expected[self.sturdy]["cancelled"] += 1

    def cancelled_leased(self) -> None:
        self.bench.enqueue(self.sturdy, priority=1)
        self.bench.client.cancel(self.bench.claim(self.sturdy).task_id, "unwanted")
        self.expected[self.sturdy]["cancelled"] += 1

    def dependent(self) -> None:
        first = self.bench.enqueue(self.silent, delay_seconds=3_600)
        self.bench.enqueue(self.sturdy, depends_on=[first])
        self.expected[self.silent]["ready"] += 1
        self.expected[self.sturdy]["waiting"] += 1

    def agrees(self) -> None:
        """Counts, recount (inside `counts`) and this mill's own tally are one."""
        for queue, tally in self.expected.items():
            assert self.bench.counts(queue) == tally


def test_five_hundred_mixed_outcomes_leave_counts_that_equal_a_recount(bench: Bench) -> None:
    """After 500 outcomes of every kind, and on the way, counts equal the recount and the test's own tally."""
    mill, chance = Mill(bench), random.Random(9)
    for number in range(1, OUTCOMES + 1):
        chance.choice(mill.outcomes)()
        if number % 50 == 0:
            mill.agrees()
    assert bench.client.counts(recount=True).agree is True
    audit(bench)


def test_lapses_count_like_everything_else(bench: Bench) -> None:
    """Forty silent workers lapse at once: half their tasks return, half of them die at the second silence."""
    queue = bench.queue(**SHORT, max_attempts=2)
    for _ in range(40):
        bench.enqueue(queue)
    assert bench.counts(queue) == {"ready": 40}
    bench.claim(queue)
    for _ in range(39):
        bench.client.claim(queue, "silent")
    bench.pass_seconds(PAST_SHORT)
    bench.client.reap()
    assert bench.counts(queue) == {"ready": 40}
    for _ in range(20):
        bench.client.claim(queue, "silent")
    bench.pass_seconds(PAST_SHORT)
    bench.client.reap()
    assert bench.counts(queue) == {"ready": 20, "dead": 20}
    audit(bench)


def test_counts_change_with_each_step_of_one_task(bench: Bench) -> None:
    """A task is in exactly one count at a time, and the count moves in the step that moves the task."""
    queue = bench.queue()
    task_id = bench.enqueue(queue)
    assert bench.counts(queue) == {"ready": 1}
    lease = bench.claim(queue)
    assert bench.counts(queue) == {"leased": 1}
    bench.client.heartbeat(task_id, lease.fencing_token)
    assert bench.counts(queue) == {"leased": 1}
    bench.client.park(task_id, lease.fencing_token, "a question")
    assert bench.counts(queue) == {"waiting": 1}
    bench.client.resume(task_id, {"an": "answer"})
    assert bench.counts(queue) == {"ready": 1}
    bench.fail(bench.claim(queue))
    assert bench.counts(queue) == {"ready": 1}
    bench.ok(bench.claim(queue))
    assert bench.counts(queue) == {"done": 1}
    audit(bench)


def test_pages_show_everything_once(bench: Bench) -> None:
    """Tasks and log lines read in small pages are those read at once, each exactly once and in order."""
    queue = bench.queue()
    tasks = [bench.enqueue(queue) for _ in range(10)]
    paged, after = [], None
    for _ in range(4):
        page = bench.client.tasks(queue, limit=3, after=after)
        assert len(page.tasks) <= 3
        paged += [task.task_id for task in page.tasks]
        after = page.next
    assert (paged, after) == (tasks, None)
    log = bench.log()
    assert [line.task_id for line in log if line.type == "enqueued"] == tasks
    for earlier, later in pairwise(log):
        assert bench.client.events(after=later.seq - 1, limit=1) == [later]
        assert later in bench.client.events(after=earlier.seq, limit=10_000)
    audit(bench)


def test_a_new_queue_is_counted_from_the_start(bench: Bench) -> None:
    """A queue without tasks shows zeros, not nothing; counts say when they were taken."""
    queue = bench.queue()
    before = bench.client.counts()
    row = before.queues[queue]
    assert [getattr(row, state) for state in row.__struct_fields__] == [0] * 6
    bench.enqueue(queue)
    after = bench.client.counts()
    assert after.queues[queue].ready == 1
    assert before.as_of <= after.as_of
    audit(bench)
