"""One lease carried out by a command: watch it, keep the lease, hand in the verdict."""

from __future__ import annotations

import os
import queue
import signal
from collections.abc import Callable
from datetime import datetime, timedelta
from enum import Enum
from typing import TYPE_CHECKING, Final, TypeVar

import click
import msgspec

from tessera import errors, models
from tessera.cli.program import Program, Verdict
from tessera.cli.text import shortened
from tessera.limits import SECOND_US
from tessera.runtime import real_runtime

if TYPE_CHECKING:
    from tessera.cli.work import Order
    from tessera.library import Tessera

GRACE_US: Final = 5 * SECOND_US  # between asking a command to end and killing it
BEAT_US_MIN: Final = SECOND_US // 5
TRIES_MAX: Final = 5  # at handing in, while the store cannot answer
RETRY_SECONDS: Final = 1.0
LINE_CHARS: Final = 160
Answer = TypeVar("Answer")


class News(Enum):
    """What can happen to a run from outside."""

    ENDED = "the command has ended"
    STOP = "stop it and give the lease back"
    KILL = "the same, without grace"


class Fate(Enum):
    """What becomes of the lease when the command has ended."""

    HAND_IN = "the command ended by itself"
    RELEASE = "we were told to stop"
    LOST = "it is no longer ours"


class Run:
    """A lease and the command that works on it. `carry_out` is one thread's; `stop` may come from anywhere."""

    def __init__(self, store: Tessera, order: Order, lease: models.Lease) -> None:
        self._store = store
        self._order = order
        self._lease = lease
        self._runtime = real_runtime()
        self._news: queue.SimpleQueue[News] = queue.SimpleQueue()
        self._fate = Fate.HAND_IN
        self._start_us = self._runtime.elapsed_us()
        self._alive_us = self._span_us(lease.expires_at)
        self._beat_us: int | None = self._next_beat()
        self._kill_us: int | None = None

    def stop(self, at_once: bool = False) -> None:
        """Stop the command and give the lease back. Safe from a signal handler: this queue may be put to at
        any moment.
        """
        self._news.put(News.KILL if at_once else News.STOP)

    def carry_out(self) -> None:
        """Run the command to its end and settle the lease, one way or another."""
        if not self._news.empty():  # told to stop before it began
            self._release()
            return
        brief = msgspec.json.encode(self._lease.brief) + b"\n"
        try:
            with Program(self._order.command, brief, msgspec.json.encode(self._lease), self._env()) as program:
                self._watch(program)
                self._settle(program)
        except OSError as error:  # the machine's fault, not the task's
            self._release()
            raise errors.TesseraError(f"cannot run the command: {error}") from error

    def _env(self) -> dict[str, str]:
        lease = self._lease
        return {
            **os.environ,
            "TESSERA_STORE": self._order.store_url,
            "TESSERA_TASK_ID": lease.task_id,
            "TESSERA_FENCING_TOKEN": str(lease.fencing_token),
            "TESSERA_QUEUE": lease.queue,
            "TESSERA_KIND": lease.kind,
            "TESSERA_WORKER": lease.worker,
            "TESSERA_ATTEMPT": str(lease.attempts),
        }

    # While it runs

    def _watch(self, program: Program) -> None:
        program.when_ended(lambda: self._news.put(News.ENDED))
        while (news := self._next_news()) is not News.ENDED:
            now_us = self._runtime.elapsed_us()
            if news is News.STOP:
                self._end(program, Fate.RELEASE)
            elif news is News.KILL or (self._kill_us is not None and now_us >= self._kill_us):
                self._kill_us = None
                program.signal(signal.SIGKILL)
            if self._beat_us is not None and now_us >= self._beat_us:
                self._beat(program)

    def _next_news(self) -> News | None:
        """What happens next, or None when it is time to beat or to kill."""
        dues = [due for due in (self._beat_us, self._kill_us) if due is not None]
        wait = max(0, min(dues) - self._runtime.elapsed_us()) / SECOND_US if dues else None
        try:
            return self._news.get(timeout=wait)
        except queue.Empty:
            return None

    def _end(self, program: Program, fate: Fate) -> None:
        self._fate = fate
        self._kill_us = self._runtime.elapsed_us() + GRACE_US
        program.signal(signal.SIGTERM)

    def _beat(self, program: Program) -> None:
        """Keep the lease. A refusal means it is gone: by the command's own act, which may finish in peace, or
        lost. A store that cannot answer is asked again for as long as the lease may be alive.
        """
        asked_us = self._runtime.elapsed_us()
        try:
            lease = self._store.heartbeat(self._lease.task_id, self._lease.fencing_token)
        except (errors.Unavailable, errors.RateLimited):
            self._beat_us = asked_us + int(RETRY_SECONDS * SECOND_US)
            if asked_us < self._alive_us:
                return
        except errors.TesseraError:
            if self._was_handed_back():
                self._beat_us = None
                return
        else:
            self._alive_us = asked_us + self._span_us(lease.expires_at) - self._start_us
            self._beat_us = self._next_beat()
            return
        self._beat_us = None
        self._end(program, Fate.LOST)

    def _next_beat(self) -> int:
        half_us = self._lease.heartbeat_seconds * SECOND_US // 2
        return self._runtime.elapsed_us() + max(BEAT_US_MIN, half_us)
