"""A process that claims whenever it is told to, in a race with others. Run as a program by the cases.

It reads lines; for each it claims once from the queue `q` and answers with what it got.
"""

from __future__ import annotations

import sys

import tessera

if __name__ == "__main__":
    with tessera.open(sys.argv[1]) as store:
        store.counts()
        for line in sys.stdin:
            lease = store.claim("q", f"process {sys.argv[2]} {line.strip()}")
            answer = "nothing" if lease is None else f"{lease.task_id} {lease.fencing_token}"
            sys.stdout.write(answer + "\n")
            sys.stdout.flush()
