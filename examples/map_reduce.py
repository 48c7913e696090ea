"""Map and reduce with a split: one task becomes many, and comes back with what they found.

python examples/map_reduce.py
"""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import tessera
from tessera.models import Lease
from tessera.worker import Context, Split, Worker

LINES = [
    "one swarm to find the words",
    "one swarm to count the words",
    "one merge to bring them all together",
]


def count(lease: Lease, context: Context) -> Any:
    """The same task twice: fresh, it splits; back from its children, it merges their outputs."""
    if not lease.children:
        return Split([{"kind": "map", "brief": {"line": line}} for line in lease.brief["lines"]])
    total = sum((Counter(child.output) for child in lease.children), Counter[str]())
    return dict(total.most_common(3))


def map_line(lease: Lease, context: Context) -> Any:
    """One line's words. Should this worker die here, another gets the line."""
    return Counter(lease.brief["line"].split())


with tempfile.TemporaryDirectory() as folder, tessera.open(str(Path(folder) / "store.db")) as store:
    store.define_queue("words", heartbeat_seconds=10)
    task_id = store.enqueue(queue="words", kind="count", brief={"lines": LINES})
    worker = Worker("words", store, parallel=3)
    worker.handles("count")(count)
    worker.handles("map")(map_line)
    worker.run(drain=True)

    [result] = [result for result in store.results(task_id) if result.ok]
    print(f"Most frequent of {len(LINES)} lines: {result.output}")
    print(f"{store.counts().queues['words'].done} tasks are done; the receipt is {result.sha256}")
