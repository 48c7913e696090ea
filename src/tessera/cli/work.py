"""`tessera work`: claim, run a program, hand in what came of it, again and again."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tessera.cli import options

if TYPE_CHECKING:
    from tessera.library import Tessera


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
@click.option("--once", is_flag=True, help="Wait for a task, carry it, then end.")
@click.option("--drain", is_flag=True, help="End when nothing of the queue is ready, leased or waiting.")
@click.option("--poll", "poll_seconds", type=options.Seconds(min=0.01), default=1, show_default=True,
              metavar="SECONDS", help="Longest wait between two claims that find nothing.")  # fmt: skip
@click.option("--quiet", is_flag=True, help="Say nothing about tasks that went as they should.")
@click.argument("command", metavar="-- COMMAND...", nargs=-1, required=True, type=click.UNPROCESSED,
                callback=_must_exist)  # fmt: skip
@options.takes_store
def work(
    store: Tessera, queue: str, worker: str, kinds: tuple[str, ...], command: tuple[str, ...],
    parallel: int, poll_seconds: float, quiet: bool, **how: Any,
) -> None:  # fmt: skip
    """Run a command for each task of a queue, with heartbeats meanwhile.

    The brief comes on the command's standard input as JSON. Exit code 0 with one JSON document on its
    standard output (or nothing, which hands in null) is success. Any other exit code fails the task, and the
    last 8 KiB of its standard error say why; so does output that is no JSON or over the limit.

    Its environment has TESSERA_STORE, TESSERA_TASK_ID, TESSERA_FENCING_TOKEN, TESSERA_QUEUE, TESSERA_KIND,
    TESSERA_WORKER and TESSERA_ATTEMPT; the file that TESSERA_LEASE_FILE names holds the whole lease as JSON
    (children, dependencies, inputs). With these it may split, park, release or submit by itself.

    It runs in a process group of its own. The group ends with it, and with this process, even if that is
    killed. When the lease is lost, the group is
    terminated (killed after 5 seconds) and the work goes on with the next task.

    SIGTERM or Ctrl-C: no more claims; what runs is terminated the same way, its leases are released without
    a failure, and the exit code is 0. A second signal kills what runs at once; a third ends this process.

    \b
    Example:
      tessera work builds --worker w1 --parallel 4 -- ./compile.sh --fast
      tessera work notes --worker w2 --drain -- jq '{length: (.text | length)}'
    """
    from tessera.cli.program import FOLDERS
    from tessera.cli.run import GRACE_SECONDS, Carry, Lines
    from tessera.errors import TesseraError
    from tessera.scratch import sweep
    from tessera.worker import Unfit, Worker

    sweep(FOLDERS)
    given = click.get_current_context().params
    swarm = Worker(
        queue, store, name=worker, parallel=parallel, poll_seconds=poll_seconds,
        grace_seconds=GRACE_SECONDS + 1, listener=Lines(quiet),
    )  # fmt: skip
    swarm.handles(*kinds)(Carry(command, _env(str(given["url"]), given["key_file"])))
    try:
        swarm.run(**how)
    except Unfit as unfit:
        cause = unfit.__cause__  # which has the code
        raise cause if isinstance(cause, TesseraError) else TesseraError(str(unfit)) from unfit


def _env(url: str, key_file: str | None) -> dict[str, str]:
    """How a command finds the same store with the same rights, though it may change its directory."""
    env = {"TESSERA_STORE": url if "://" in url else str(Path(url).absolute())}
    return env if key_file is None else {**env, "TESSERA_KEY_FILE": str(Path(key_file).absolute())}
