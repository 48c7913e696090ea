"""A process that works on a store until its standard input ends, and says what it was answered.

python busy.py STORE NAME
"""

from __future__ import annotations

import select
import sys

import tessera


def main(path: str, name: str) -> None:
    """Enqueue, claim, hand in; a line for each receipt."""
    with tessera.open(path) as store:
        number = 0
        while not select.select([sys.stdin], [], [], 0)[0]:
            number += 1
            task_id = store.enqueue(queue="q", kind=name, brief={"n": number}, task_id=f"{name}-{number}")
            lease = store.claim("q", name, kinds=[name])
            store.submit(task_id, lease.fencing_token, number, f"{name}-{number}")
            sys.stdout.write(f"{task_id}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
