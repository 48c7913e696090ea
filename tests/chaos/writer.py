"""A process that writes to the log as fast as it can, by verbs that write one line or many.

python -m chaos.writer STORE NAME LINES
"""

from __future__ import annotations

import random
import sys
import zlib
from concurrent.futures import ThreadPoolExecutor

import tessera

THREADS = 4


def write(store: tessera.Tessera, name: str, lines: int) -> None:
    """At least so many lines: tasks enqueued one or some at a time, claimed and handed in."""
    chance, written = random.Random(zlib.crc32(name.encode())), 0
    while written < lines:
        size = chance.choice((1, 1, 3, 10))
        store.enqueue_batch([{"queue": "log", "kind": "k", "brief": {}}] * size)
        leases = store.claim_batch("log", name, size)
        for lease in leases:
            store.submit(lease.task_id, lease.fencing_token, {}, f"{lease.task_id}:{lease.fencing_token}")
        written += size + 2 * len(leases)


def main(url: str, name: str, lines: int) -> None:
    """Write from several threads, which share what the engine lets them share."""
    with tessera.open(url) as store, ThreadPoolExecutor(THREADS) as pool:
        for done in [pool.submit(write, store, f"{name}.{n}", lines // THREADS) for n in range(THREADS)]:
            done.result()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
