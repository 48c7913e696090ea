"""How long the largest transactions hold the writer, and what a store of a million tasks costs in memory.

A transaction on the event loop should take at most 50 ms; only a cancel or a split whose size asks for it may
take longer. Nothing is synced here: a sync does not hold the loop.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.scale import store
from tessera.canonical import strict_json
from tessera.models import decode
from tessera.rules.grants import OWNER
from tessera.runtime import real_runtime
from tessera.storage.sqlite import Job, Writer
from tessera.surface import SURFACE

ROUNDS = 5


class Stage:
    """A store whose verbs are timed, each in a transaction of its own."""

    def __init__(self, writer: Writer) -> None:
        self.writer = writer

    def ask(self, verb: str, **fields: Any) -> tuple[float, Any]:
        """Milliseconds from the lock to the commit, and the answer."""
        row = SURFACE[verb]
        job = Job(row.run(), (OWNER, decode(strict_json(fields), row.ask)))
        start = time.perf_counter()
        self.writer.begin()
        self.writer.attempt([job])
        self.writer.commit()
        spent = (time.perf_counter() - start) * 1e3
        assert not isinstance(job.outcome, Exception), job.outcome
        return spent, job.outcome

    def report(self, what: str, measure: Callable[[], float]) -> None:
        """The best and the worst of a few rounds."""
        times = sorted(measure() for _ in range(ROUNDS))
        sys.stdout.write(f"  {what:52} {times[0]:8.1f} to {times[-1]:8.1f} ms\n")


def family(stage: Stage, depth: int, queue: str) -> str:
    """In a queue of its own, a root whose every task, down to a depth, is split into a hundred."""
    stage.ask("define_queue", name=queue, lease_seconds=3_600)
    root = stage.ask("enqueue", queue=queue, kind="k", brief={})[1].task_id
    level = [root]
    for _ in range(depth):
        below: list[str] = []
        for _ in level:
            lease = stage.ask("claim", queue=queue, worker="w")[1]
            children = [{"brief": {}} for _ in range(100)]
            split = stage.ask(
                "split", task_id=lease.task_id, fencing_token=lease.fencing_token, children=children
            )
            below += split[1].children
        level = below[:98]
    return root


def split_once(stage: Stage) -> float:
    """One split into a hundred children."""
    stage.ask("enqueue", queue="one", kind="k", brief={})
    lease = stage.ask("claim", queue="one", worker="w")[1]
    children = [{"brief": {}, "after": [n - 1] if n else []} for n in range(100)]
    ask = dict(task_id=lease.task_id, fencing_token=lease.fencing_token, children=children)
    spent = stage.ask("split", **ask)[0]
    stage.ask("cancel", task_id=lease.task_id, reason="measured")
    return spent


def settle(stage: Stage) -> float:
    """A claim that finds a hundred lapsed leases to settle first."""
    leases = stage.ask("claim_batch", queue="short", worker="late", limit=100)[1].leases
    assert len(leases) == 100
    stage.writer.execute("update leases set expires_at = 1 where worker = 'late'")
    stage.writer.forget()
    return stage.ask("claim", queue="short", worker="w")[0]


def put(stage: Stage, number: int, size: int) -> float:
    """So many new records, each with a text of its own to be found."""
    drawn = random.Random(size)
    words = [f"{drawn.getrandbits(40):x}" for _ in range(size // 11)]
    writes = []
    for _ in range(number):
        drawn.shuffle(words)
        writes.append({"store": "s", "key": uuid.uuid4().hex, "value": {"text": " ".join(words)}})
    return stage.ask("put_records", writes=writes)[0]


def resident() -> float:
    """MiB of this process in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / (1 << 20)


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory(prefix="tessera-stalls-") as folder:
        store(folder, 1_000_000, 0).close()
        before = resident()
        writer = Writer(str(Path(folder) / "1000000-0.db"), real_runtime())
        stage = Stage(writer)
        for queue in ("one", "short"):
            stage.ask(
                "define_queue", name=queue, max_attempts=20, backoff_base_seconds=0, lease_seconds=3_600
            )
        batch = [{"queue": "short", "kind": "k", "brief": {"n": n}} for n in range(1_000)]
        sys.stdout.write("transactions, with a million ready tasks in the store\n")
        stage.report("enqueue_batch of 1,000", lambda: stage.ask("enqueue_batch", tasks=batch)[0])
        stage.report(
            "claim_batch of 100", lambda: stage.ask("claim_batch", queue="q", worker="w", limit=100)[0]
        )
        stage.report("a claim that settles 100 lapses first", lambda: settle(stage))
        stage.report("split into 100 children in 100 waves", lambda: split_once(stage))
        stage.report("a record of 1 MB of text", lambda: put(stage, 1, 1_000_000))
        stage.report("100 records of 38 KB of text", lambda: put(stage, 100, 38_000))
        roots = [family(stage, 1, f"tree-{n}") for n in range(ROUNDS)]
        stage.report("cancel a tree of 100", lambda: stage.ask("cancel", task_id=roots.pop(), reason="x")[0])
        spent = stage.ask("cancel", task_id=family(stage, 2, "forest"), reason="x")[0]
        sys.stdout.write(f"  {'cancel a tree of 9,900':52} {spent:8.1f} ms\n")
        for _ in range(20):
            stage.ask("claim_batch", queue="q", worker="w", limit=100)
        sys.stdout.write(f"\nmemory: {resident() - before:.0f} MiB more than before the store was opened\n")
        writer.close()


if __name__ == "__main__":
    main()
