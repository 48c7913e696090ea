"""A worker process: claim, keep the lease alive, do the work, hand in what came of it; then again.

Nothing here knows what the work is; `work.act` does. The store may refuse any of this at any time, and the
two refusals that a worker has to live with are treated in one place each. `Worker.carry` takes `stale_lease`:
somebody else has the task now, so what we found is void. `patiently` takes `unavailable`: ask again.
"""

from __future__ import annotations

import argparse
import os
import signal
import threading
import time
from collections.abc import Callable
from typing import Final, ParamSpec, Self, TypeVar
from uuid import uuid4

import tessera
from examples.stdlib_swarm.work import Act, Done, Park, Split, act
from tessera.errors import StaleLease, Unavailable
from tessera.library import Tessera
from tessera.models import Lease

QUEUES: Final = ("study", "report")
POLL_SECONDS: Final = 0.1  # between two claims that found nothing
TRIES: Final = 5  # of a call that the store could not answer
LINES_MIN: Final = 250  # a short file takes a moment too

Answer = TypeVar("Answer")
P = ParamSpec("P")


class Heartbeats:
    """Keeps a lease alive from a thread of its own while the work goes on, and notices when it is lost."""

    def __init__(self, store: Tessera, lease: Lease) -> None:
        self._store = store
        self._lease = lease
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._beat, daemon=True)
        self.lost = threading.Event()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _beat(self) -> None:
        """Twice as often as the queue expects, so that one late beat costs nothing."""
        while not self._over.wait(self._lease.heartbeat_seconds / 2):
            try:
                self._store.heartbeat(self._lease.task_id, self._lease.fencing_token)
            except StaleLease:
                self.lost.set()
                return
            except Unavailable:
                continue  # the next beat may get through; the lease lives for several


class Worker:
    """One worker at its queues."""

    def __init__(
        self, store: Tessera, name: str, seconds_per_line: float, told: threading.Event, parent: int
    ) -> None:
        self._store = store
        self._name = name
        self._seconds_per_line = seconds_per_line
        self._told = told
        self._parent = parent

    def work(self) -> None:
        """Carry leases until it is time to stop."""
        while not self._should_stop():
            lease = self.next_lease()
            if lease is None:
                self._told.wait(POLL_SECONDS)
            else:
                self.carry(lease)

    def _should_stop(self) -> bool:
        """Whether we were told to, or whoever started us is gone and nobody will."""
        return self._told.is_set() or os.getppid() != self._parent

    def next_lease(self) -> Lease | None:
        """A lease from the first queue that has one."""
        key = uuid4().hex  # trying again under the same key gives the lease that the first try won
        for queue in QUEUES:
            lease = patiently(self._store.claim, queue, self._name, idempotency_key=key)
            if lease is not None:
                return lease
        return None

    def carry(self, lease: Lease) -> None:
        """Do the work and settle the lease, unless it is lost meanwhile."""
        try:
            with Heartbeats(self._store, lease) as heartbeats:
                self._attempt(lease, heartbeats)
        except StaleLease:
            pass

    def _attempt(self, lease: Lease, heartbeats: Heartbeats) -> None:
        try:
            outcome = act(lease)
            if self._read_slowly(outcome, heartbeats):
                self._settle(lease, outcome)
            else:
                patiently(self._store.release, *_handle(lease))
        except (StaleLease, Unavailable):
            raise
        except Exception as error:  # the attempt failed, the worker did not
            why = f"{type(error).__name__}: {error}"
            patiently(self._store.submit, *_handle(lease), None, _once(lease), ok=False, error=why)

    def _read_slowly(self, outcome: Act, heartbeats: Heartbeats) -> bool:
        """Take the time over a file that an agent would. False when it is time to stop meanwhile."""
        if not isinstance(outcome, Done) or outcome.lines is None:
            return True
        end = time.monotonic() + max(outcome.lines, LINES_MIN) * self._seconds_per_line
        while (left := end - time.monotonic()) > 0:
            if heartbeats.lost.is_set():
                raise StaleLease
            if self._should_stop():
                return False
            self._told.wait(min(left, POLL_SECONDS))
        return True

    def _settle(self, lease: Lease, outcome: Act) -> None:
        match outcome:
            case Done(output):
                patiently(self._store.submit, *_handle(lease), output, _once(lease))
            case Split(children):
                patiently(self._store.split, *_handle(lease), children)
            case Park(reason, schema):
                patiently(self._store.park, *_handle(lease), reason, input_schema=schema)


def _handle(lease: Lease) -> tuple[str, int]:
    """What every call about a lease begins with."""
    return lease.task_id, lease.fencing_token


def _once(lease: Lease) -> str:
    """The idempotency key of a lease's submit: the same for each try, another for the next lease."""
    return f"{lease.task_id}:{lease.fencing_token}"


def patiently(call: Callable[P, Answer], *args: P.args, **kwargs: P.kwargs) -> Answer:
    """Call again when the store could not answer. Safe for every verb: a repeated claim or submit gets its
    first answer, and if another verb did get through the first time, the second is `stale_lease`.
    """
    for _ in range(TRIES - 1):
        try:
            return call(*args, **kwargs)
        except Unavailable:
            time.sleep(POLL_SECONDS)
    return call(*args, **kwargs)


def main() -> None:
    """Work at a store with the key in TESSERA_KEY, until SIGTERM or the parent's end."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--store", required=True)
    parser.add_argument("--name", required=True)
    parser.add_argument("--parent", type=int, required=True, help="the process to work for")
    parser.add_argument("--pace", type=float, default=0, help="seconds per thousand lines")
    asked = parser.parse_args()
    told = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: told.set())
    # The key comes by the environment: arguments show in the list of processes.
    with tessera.open(asked.store) as owner:
        store = owner.as_key(os.environ["TESSERA_KEY"])
        Worker(store, asked.name, asked.pace / 1000, told, asked.parent).work()


if __name__ == "__main__":
    main()
