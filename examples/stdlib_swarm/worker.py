"""A worker process. `work.act` knows the work, `tessera.Worker` all the rest: claims, heartbeats, submits,
retries, lost leases, the end.

python -m examples.stdlib_swarm.worker --store URL --name NAME
"""

from __future__ import annotations

import argparse
from typing import Any, Final

import tessera
from examples.serving import end_with_stdin
from examples.stdlib_swarm.work import ACTS, Done, act
from tessera.library import Tessera
from tessera.models import Lease
from tessera.worker import Context, Worker

QUEUES: Final = ("study", "report")
LINES_MIN: Final = 250  # a short file takes a moment too


def worker_at(store: Tessera, name: str, seconds_per_line: float = 0) -> Worker:
    """A worker at the swarm's queues."""
    worker = Worker(QUEUES, store, name=name, grace_seconds=1)

    @worker.handles(*ACTS)
    def study(lease: Lease, context: Context) -> Any:
        """An exception is a failed attempt, and a split or a park is an answer like any other."""
        outcome = act(lease)
        if not isinstance(outcome, Done):
            return outcome
        if outcome.lines is not None:  # take the time over a file that an agent would
            context.wait(max(outcome.lines, LINES_MIN) * seconds_per_line)
        return outcome.output

    return worker


def main() -> None:
    """Work at a service with the key in TESSERA_KEY, until SIGTERM or the end of standard input."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--store", required=True)
    parser.add_argument("--name", required=True)
    parser.add_argument("--pace", type=float, default=0, help="seconds per thousand lines")
    asked = parser.parse_args()
    end_with_stdin()
    with tessera.open(asked.store) as store:
        worker_at(store, asked.name, asked.pace / 1000).run()


if __name__ == "__main__":
    main()
