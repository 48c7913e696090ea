"""One lease carried out by a command: watch the command, keep the lease, settle it."""

from __future__ import annotations

import os
import queue
import signal
from enum import Enum
from typing import TYPE_CHECKING, Final

import click
import msgspec

from tessera import errors, models
from tessera.cli.holding import Holding, Kept
from tessera.cli.program import Program
from tessera.cli.text import shortened
from tessera.limits import SECOND_US
from tessera.runtime import real_runtime

if TYPE_CHECKING:
    from tessera.cli.work import Order
    from tessera.library import Tessera

GRACE_SECONDS: Final = 5  # between asking a command to end and killing it
LINE_CHARS: Final = 160  # of somebody else's words in a progress line


class News(Enum):
    """What a run can be told."""

    ENDED = "the command has ended"
    STOP = "stop the command and give the lease back"
    KILL = "the same, without grace"


class Fate(Enum):
    """What becomes of the lease once the command has ended."""

    HAND_IN = "the command ended by itself"
    GIVE_BACK = "we were told to stop"
    LOST = "it is not ours any more"


class Run:
    """A lease and the command that works on it. One thread calls `carry_out`, anybody may call `stop`."""

    def __init__(self, store: Tessera, order: Order, lease: models.Lease) -> None:
        self._runtime = real_runtime()
        self._order = order
        self._lease = lease
        self._holding = Holding(store, lease, self._runtime)
        self._news: queue.SimpleQueue[News] = queue.SimpleQueue()
        self._fate = Fate.HAND_IN
        self._start_us = self._runtime.elapsed_us()
        self._beat_us: int | None = self._in(self._holding.beat_seconds)
        self._kill_us: int | None = None

    def stop(self, at_once: bool = False) -> None:
        """Stop the command and give the lease back."""
        self._news.put(News.KILL if at_once else News.STOP)

    def carry_out(self) -> None:
        """Run the command to its end and settle the lease one way or another."""
        if not self._news.empty():  # told to stop before it began
            self._give_back()
            return
        brief, lease = msgspec.json.encode(self._lease.brief), msgspec.json.encode(self._lease)
        with Program(self._order.command, brief + b"\n", lease, self._env()) as program:
            try:
                program.start()
            except OSError as error:  # this machine's fault, not the task's
                self._give_back()
                raise errors.TesseraError(f"cannot run the command: {error}") from error
            self._watch(program)
            self._settle(program)

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

    # While the command runs

    def _watch(self, program: Program) -> None:
        """Returns when the command has ended, for whatever reason."""
        program.when_ended(lambda: self._news.put(News.ENDED))
        while (news := self._next_news()) is not News.ENDED:
            now_us = self._runtime.elapsed_us()
            if news is not None:
                self._end(program, Fate.GIVE_BACK, GRACE_SECONDS if news is News.STOP else 0)
            elif self._kill_us is not None and now_us >= self._kill_us:
                self._kill_us = None
                program.signal(signal.SIGKILL)
            elif self._beat_us is not None and now_us >= self._beat_us:
                self._beat(program)

    def _next_news(self) -> News | None:
        """What happens next, or None when it is time to beat or to kill."""
        dues = [due for due in (self._beat_us, self._kill_us) if due is not None]
        wait = max(0, min(dues) - self._runtime.elapsed_us()) / SECOND_US if dues else None
        try:
            return self._news.get(timeout=wait)
        except queue.Empty:
            return None

    def _end(self, program: Program, fate: Fate, grace: float) -> None:
        """Ask the command to end; it is killed after so many seconds. A lost lease stays lost."""
        self._fate = fate if self._fate is Fate.HAND_IN else self._fate
        self._kill_us = self._in(grace)
        program.signal(signal.SIGTERM)

    def _beat(self, program: Program) -> None:
        """A command whose lease is lost is ended; one that gave it back itself may finish in peace."""
        kept, seconds = self._holding.keep()
        self._beat_us = None if kept is Kept.NO else self._in(seconds)
        if kept is Kept.NO and not self._holding.was_handed_back():
            self._end(program, Fate.LOST, GRACE_SECONDS)

    def _in(self, seconds: float) -> int:
        return self._runtime.elapsed_us() + int(seconds * SECOND_US)

    # When it has ended

    def _settle(self, program: Program) -> None:
        if self._fate is Fate.LOST:
            self._say_lost("the lease ended while the command was running")
        elif self._fate is Fate.GIVE_BACK:
            self._give_back()
        else:
            self._hand_in(program)

    def _hand_in(self, program: Program) -> None:
        verdict = program.verdict()
        try:
            receipt = self._holding.hand_in(verdict)
        except errors.TesseraError as refusal:
            self._say_gone(refusal)
            return
        if receipt.ok:
            self._say("done")
        else:
            why = verdict.error or "the output was refused"
            self._say("failed", f"the task is now {receipt.state}; {why}")

    def _give_back(self) -> None:
        try:
            self._holding.give_back()
        except errors.TesseraError as refusal:
            self._say_gone(refusal)
        else:
            self._say("released")

    # What is said about it

    def _say_gone(self, refusal: errors.TesseraError) -> None:
        if self._holding.was_handed_back():
            self._say("handed back by the command")
        else:
            self._say_lost(f"{refusal.code}: {refusal.detail}")

    def _say_lost(self, why: str) -> None:
        click.echo(self._line("lost", why), err=True)

    def _say(self, word: str, why: str = "") -> None:
        if not self._order.quiet:
            click.echo(self._line(word, why), err=True)

    def _line(self, word: str, why: str) -> str:
        lease = self._lease
        spent = (self._runtime.elapsed_us() - self._start_us) / SECOND_US
        line = f"{word}: {lease.task_id} ({lease.kind}, attempt {lease.attempts}, {spent:.1f} s)"
        return f"{line}: {shortened(why, LINE_CHARS)}" if why else line
