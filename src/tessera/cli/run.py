"""The handler behind `tessera work`: a command, carried out for one lease after another."""

from __future__ import annotations

import asyncio
import errno
import os
import signal
from contextlib import suppress
from typing import Any, Final

import click
import msgspec

from tessera.cli.program import Program
from tessera.cli.text import shortened
from tessera.errors import InvalidRequest, TesseraError
from tessera.models import Lease
from tessera.worker import Context, Failed, Release, Report, Unfit, reports

GRACE_SECONDS: Final = 5  # between asking a command to end and killing it
LINE_CHARS: Final = 160  # of somebody else's words in a progress line
HINTS: Final = {
    errno.ENOEXEC: "; if it is a script, does it begin with #!/bin/sh (or another #! line)?",
    errno.ENOENT: "; if it is a script, is the program of its #! line installed?",
}


class Carry:
    """A handler that gives a lease to the command and answers with what the command said."""

    def __init__(self, command: tuple[str, ...], env: dict[str, str]) -> None:
        self._command = command
        self._env = env

    async def __call__(self, lease: Lease, context: Context) -> Any:
        """The command's output; raises `Failed` with its last words if it has none."""
        brief, whole = msgspec.json.encode(lease.brief), msgspec.json.encode(lease)
        with Program(self._command, brief + b"\n", whole, self._env_for(lease)) as program:
            try:
                program.start()
            except OSError as error:  # the command's or this machine's fault, not the task's
                refusal = cannot_run(self._command[0], error)
                raise Unfit(refusal.detail) from refusal
            if not await self._ended_by_itself(program, context):
                return Release()
            verdict = await asyncio.to_thread(program.verdict)
        if not verdict.ok:
            raise Failed(verdict.error or "")
        return verdict.output

    def _env_for(self, lease: Lease) -> dict[str, str]:
        return {
            **os.environ,
            **self._env,
            "TESSERA_TASK_ID": lease.task_id,
            "TESSERA_FENCING_TOKEN": str(lease.fencing_token),
            "TESSERA_QUEUE": lease.queue,
            "TESSERA_KIND": lease.kind,
            "TESSERA_WORKER": lease.worker,
            "TESSERA_ATTEMPT": str(lease.attempts),
        }

    @staticmethod
    async def _ended_by_itself(program: Program, context: Context) -> bool:
        """Wait for the command. When the worker stops, or the lease is lost (which comes as a cancellation),
        it is asked to end, and killed when the grace is over; at once when there is no time for grace.
        """
        loop, gone = asyncio.get_running_loop(), asyncio.Event()

        def tell() -> None:
            with suppress(RuntimeError):  # the loop has ended, and nobody waits any more
                loop.call_soon_threadsafe(gone.set)

        program.when_ended(tell)
        ended, told = asyncio.ensure_future(gone.wait()), asyncio.ensure_future(context.told())
        try:
            await asyncio.wait({ended, told}, return_when=asyncio.FIRST_COMPLETED)
            if ended.done():
                return True
            await _end(program, ended)
            return False
        except asyncio.CancelledError:
            if not context.stopping:
                await _end(program, ended)
            raise
        finally:
            ended.cancel()
            told.cancel()


async def _end(program: Program, ended: asyncio.Future[Any]) -> None:
    """Ask the command to end, and wait for it as long as the grace lasts. What is left, `Program` kills."""
    program.signal(signal.SIGTERM)
    await asyncio.wait({ended}, timeout=GRACE_SECONDS)


def cannot_run(program: str, error: OSError) -> TesseraError:
    """The refusal for a command that did not start. The error names the program when it is the program's."""
    if error.filename != program:
        return TesseraError(f"cannot run the command: {error}")
    hint = HINTS.get(error.errno or 0, "")
    return InvalidRequest(f"cannot run {program}: {error.strerror}{hint}")


class Lines:
    """What `tessera work` says on stderr: one line a lease."""

    def __init__(self, quiet: bool) -> None:
        self._quiet = quiet

    def settled(self, report: Report) -> None:
        """What became of a lease, unless it went as it should and nobody wants to hear of it."""
        if not self._quiet or report.word in (reports.LOST, reports.FAILED):
            click.echo(self._line(report), err=True)

    def cannot_claim(self, trouble: TesseraError) -> None:
        """The store does not answer; the worker asks again."""
        click.echo(f"cannot claim now: {trouble.code}: {trouble}", err=True)

    @staticmethod
    def _line(report: Report) -> str:
        word = "handed back by the command" if report.word == reports.HANDED_BACK else report.word
        lease = report.lease
        line = f"{word}: {lease.task_id} ({lease.kind}, attempt {lease.attempts}, {report.seconds:.1f} s)"
        return f"{line}: {shortened(report.why, LINE_CHARS)}" if report.why else line
