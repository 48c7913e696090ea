"""`tessera`: the table of commands, and the one place where a refusal becomes a line and an exit code.

A command's module is imported when that command runs, so `tessera --help` costs no more than click itself.
"""

from __future__ import annotations

import errno
from typing import Any, Final

import click

from tessera.cli.table import Table
from tessera.errors import TesseraError

# heading -> command -> (module of this package that holds it under the same name, what it does)
COMMANDS: Final[dict[str, dict[str, tuple[str, str]]]] = {
    "Queues and tasks": {
        "queues": ("queues", "Define, list, pause and resume queues."),
        "enqueue": ("tasks", "Put a task on a queue."),
        "enqueue-batch": ("batches", "Put many tasks on queues, all or none."),
        "tasks": ("tasks", "List tasks, show one, read its results, wait for it."),
        "cancel": ("tasks", "End a task and its unfinished descendants."),
        "requeue": ("tasks", "Put a dead task's work on its queue again."),
    },
    "Working": {
        "work": ("work", "Run a command for each task of a queue."),
        "claim": ("leases", "Take the next task of one or more queues."),
        "heartbeat": ("leases", "Keep a lease alive."),
        "submit": ("leases", "Hand in what came of a lease."),
        "submit-batch": ("batches", "Hand in what came of many leases, each standing alone."),
        "split": ("leases", "Turn a task into children and let it wait for them."),
        "park": ("leases", "Give a lease back until somebody supplies what is missing."),
        "resume": ("leases", "Supply what a parked task waits for."),
        "release": ("leases", "Give a lease back unharmed."),
        "jobs": ("jobs", "Note the model jobs of a lease, update and list them."),
    },
    "Documents and files": {
        "records": ("records", "Keep JSON documents under a key of a store, every version of them."),
        "feeds": ("feeds", "Publish documents to feeds, and follow them."),
        "blobs": ("blobs", "Store bytes under their hash, and read them back verified."),
        "buckets": ("objects", "Make, describe and list buckets."),
        "objects": ("objects", "Keep files under a key of a bucket, every version of them."),
        "nouns": ("nouns", "Find records and objects by their words, look at them, read parts."),
        "reflex": ("reflex", "Learn a step for something, and recall it later."),
    },
    "Watching": {
        "counts": ("looks", "Show how many tasks are in each state."),
        "health": ("looks", "Show whether the store answers, and what is late in it."),
        "events": ("looks", "Read the log, or follow it."),
        "reap": ("looks", "Settle everything that has fallen due."),
    },
    "Serving": {
        "serve": ("serve", "Serve the store over HTTP."),
        "openapi": ("openapi", "Print the description of the HTTP interface."),
        "mcp": ("mcp", "Give an agent the tools of a worker, over MCP."),
    },
    "Upkeep": {
        "verify": ("upkeep", "Compute again what the store claims about itself."),
        "backup": ("upkeep", "Copy the store to a file, as of one instant, while others work."),
        "restore": ("upkeep", "Make the store of a backup."),
        "new-epoch": ("upkeep", "Let nothing count that was handed out before."),
        "migrate-store": ("moving", "Move the whole store between SQLite and PostgreSQL."),
        "doctor": ("upkeep", "Say what is wrong with the store, in plain words."),
    },
    "Workspaces": {
        "lite": ("lite", "Give work to a workspace's agents, and prove who won it."),
    },
    "Messages": {
        "message": ("message", "Send, read and verify mail between agents."),
    },
    "Terminals": {
        "wake": ("wake", "Wake agents in their terminals, and learn whether they have it."),
    },
    "Keys": {
        "keys": ("keys", "Issue, list and revoke keys."),
        "approvals": ("keys", "Approve a key that may hold the `public` effect class."),
    },
}


class Refused(click.ClickException):
    """The store's refusal on its way out: exit code 1, the code and the detail on stderr."""

    def __init__(self, refusal: TesseraError) -> None:
        super().__init__(f"{refusal.code}: {refusal}")

    def show(self, file: Any = None) -> None:
        click.echo(f"error: {self.message}", file=file, err=True)


class Commands(Table):
    """The table as a click group."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(COMMANDS, **attributes)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; whatever the store or this machine refuses is rendered here and nowhere else."""
        try:
            return super().invoke(ctx)
        except TesseraError as refusal:
            raise Refused(refusal) from refusal
        except OSError as error:
            if error.errno == errno.EPIPE:
                raise  # whoever reads has enough: click ends without a word
            where = "" if error.filename is None else f" ({error.filename})"
            raise Refused(TesseraError(f"this machine refused: {error.strerror or error}{where}")) from error


@click.group(cls=Commands, context_settings={"max_content_width": 100})
@click.version_option(package_name="tessera-swarm", prog_name="tessera")
def main() -> None:
    """Coordinate a swarm of agents: queues, leases, receipts.

    \b
    Example:
      tessera queues define builds
      tessera enqueue builds compile '{"target": "docs"}'
      tessera work builds --worker w1 -- ./compile.sh

    The store is a file (./tessera.db) or what --store or TESSERA_STORE names. Exit codes: 0 done, 1 refused
    or failed with "error: CODE: DETAIL" on stderr (a lite claim's rejection is an answer on stdout), 2 wrong
    usage.
    """


if __name__ == "__main__":
    main(prog_name="tessera")
