"""`tessera work`: claim, run a program, hand in what came of it, again and again."""

from __future__ import annotations

import os
import shutil
import signal
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from tessera.cli import options

if TYPE_CHECKING:
    from tessera import models
    from tessera.cli.run import Run
    from tessera.library import Tessera


SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


@dataclass(frozen=True, slots=True)
class Order:
    """What the worker was told on the command line."""

    queue: str
    worker: str
    kinds: tuple[str, ...]
    command: tuple[str, ...]
    store_url: str
    poll_seconds: float
    once: bool
    drain: bool
    quiet: bool


class Bell:
    """Wakes the main thread when a signal has come or a slot has ended. A signal is a byte in a pipe, so it
    is neither missed between two looks nor handled in the middle of something.
    """

    SLOT_ENDED: Final = 0

    def __enter__(self) -> Bell:
        self._hears, self._rings = os.pipe()
        os.set_blocking(self._rings, False)
        self._former_fd = signal.set_wakeup_fd(self._rings, warn_on_full_buffer=False)
        self._former = {number: signal.signal(number, _ring_only) for number in SIGNALS}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._former.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(self._former_fd)
        os.close(self._hears)
        os.close(self._rings)

    def slot_ended(self) -> None:
        """Called by a slot as its last act."""
        os.write(self._rings, bytes([self.SLOT_ENDED]))

    def let_signals_through(self) -> None:
        """From now on a signal does what it does to any process."""
        for number in SIGNALS:
            signal.signal(number, signal.SIG_DFL)

    def wait(self) -> int:
        """The number of the next signal, or `SLOT_ENDED`."""
        return os.read(self._hears, 1)[0]


def _ring_only(_number: int, _frame: object) -> None:
    """The byte in the pipe says it all; a handler must exist for it to be written."""


class Shift:
    """A worker's time at a queue: one thread a slot, each carrying one lease at a time.

    It ends when a slot is refused (the refusal is raised), when the order says so, or by a signal: the first
    lets no slot claim again and stops what runs, the second kills what runs, a third kills this process.
    """

    def __init__(self, store: Tessera, order: Order) -> None:
        self._store = store
        self._order = order
        self._closing = threading.Event()
        self._signals = 0
        self._runs: set[Run] = set()
        self._failure: BaseException | None = None

    def work(self, slots: int) -> None:
        """Fill the slots and wait for their end."""
        with Bell() as bell:
            threads = [threading.Thread(target=self._slot, args=(bell,)) for _ in range(slots)]
            for thread in threads:
                thread.start()
            working = slots
            while working:
                rung = bell.wait()
                if rung == Bell.SLOT_ENDED:
                    working -= 1
                elif rung in SIGNALS:
                    self._heed(bell)
            for thread in threads:
                thread.join()
        if self._failure is not None:
            raise self._failure

    def _heed(self, bell: Bell) -> None:
        self._signals += 1
        if self._signals > 1:
            bell.let_signals_through()
        self._closing.set()
        for run in tuple(self._runs):
            run.stop(at_once=self._signals > 1)

    def _slot(self, bell: Bell) -> None:
        try:
            self._serve()
        except BaseException as failure:  # raised again by `work`, in the main thread
            self._failure = self._failure or failure
            self._closing.set()
        finally:
            bell.slot_ended()

    def _serve(self) -> None:
        from tessera import models
        from tessera.runtime import real_runtime

        new_id = real_runtime().new_id
        key = new_id("work:")
        while not self._closing.is_set():
            answer = self._next(key)
            if isinstance(answer, models.Lease):
                key = new_id("work:")
                self._carry(answer)
                if self._order.once:
                    return
            elif answer is None:
                return
            else:
                self._closing.wait(min(answer.retry_after_seconds, self._order.poll_seconds))

    def _next(self, key: str) -> models.Lease | models.Empty | None:
        """The next lease, or when to ask again, or None when the queue is drained and the order is to drain
        it. The key makes asking again safe: a claim whose answer was lost gives the same lease.
        """
        from tessera import errors, models

        order, kinds = self._order, self._order.kinds or None
        try:
            answer = self._store.claim_or_wait(order.queue, order.worker, kinds, idempotency_key=key)
            drained = isinstance(answer, models.Empty) and order.drain and self._is_drained()
        except (errors.Unavailable, errors.RateLimited) as trouble:
            click.echo(f"cannot claim now: {trouble.code}: {trouble.detail}", err=True)
            return models.Empty(retry_after_seconds=1)
        return None if drained else answer

    def _carry(self, lease: models.Lease) -> None:
        from tessera.cli.run import Run

        run = Run(self._store, self._order, lease)
        self._runs.add(run)
        if self._signals:  # after the run was added, so that a signal reaches it one way or the other
            run.stop()
        try:
            run.carry_out()
        finally:
            self._runs.discard(run)

    def _is_drained(self) -> bool:
        from tessera import models

        counts = self._store.counts().queues.get(self._order.queue, models.QueueCounts())
        return counts.ready + counts.leased + counts.waiting == 0


def _must_exist(ctx: click.Context, param: click.Parameter, command: tuple[str, ...]) -> tuple[str, ...]:
    if shutil.which(command[0]) is None:
        raise click.BadParameter(f"there is no program {command[0]!r}", ctx, param, "COMMAND")
    return command


@click.command()
@options.queue
@options.worker
@options.kinds
@click.option("--parallel", type=click.IntRange(min=1), default=1, show_default=True, metavar="N",
              help="How many commands to run at once.")  # fmt: skip
@click.option("--once", is_flag=True, help="Carry one task, then end.")
@click.option("--drain", is_flag=True, help="End when nothing of the queue is ready, leased or waiting.")
@click.option("--poll", "poll_seconds", type=options.Seconds(min=0.01), default=1, show_default=True,
              metavar="SECONDS", help="Longest wait between two claims that find nothing.")  # fmt: skip
@click.option("--quiet", is_flag=True, help="Say nothing about tasks that went as they should.")
@click.argument("command", metavar="-- COMMAND...", nargs=-1, required=True, type=click.UNPROCESSED,
                callback=_must_exist)  # fmt: skip
@options.takes_store
def work(store: Tessera, parallel: int, **order: Any) -> None:
    """Run a command for each task of a queue, with heartbeats meanwhile.

    The brief comes on the command's standard input as JSON. Exit code 0 with one JSON document on its
    standard output (or nothing, which hands in null) is success. Any other exit code fails the task, and the
    last 8 KiB of its standard error say why; so does output that is no JSON or over the limit.

    Its environment has TESSERA_STORE, TESSERA_TASK_ID, TESSERA_FENCING_TOKEN, TESSERA_QUEUE, TESSERA_KIND,
    TESSERA_WORKER and TESSERA_ATTEMPT; the file that TESSERA_LEASE_FILE names holds the whole lease as JSON
    (children, dependencies, inputs). With these it may split, park, release or submit by itself.

    It runs in a process group of its own, and the group ends with it. When the lease is lost, the group is
    terminated (killed after 5 seconds) and the work goes on with the next task.

    SIGTERM or Ctrl-C: no more claims; what runs is terminated the same way, its leases are released without
    a failure, and the exit code is 0. A second signal kills what runs at once; a third ends this process.

    \b
    Example:
      tessera work builds --worker w1 --parallel 4 -- ./compile.sh --fast
      tessera work notes --worker w2 --drain -- jq '{length: (.text | length)}'
    """
    url = str(click.get_current_context().params["url"])
    if "://" not in url:  # the command may change its directory
        url = str(Path(url).absolute())
    Shift(store, Order(store_url=url, **order)).work(1 if order["once"] else parallel)
