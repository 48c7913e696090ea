"""`tessera lite`: workspaces, and claims that an ordered log decides. Each command's module is imported when
it runs.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

import click

# command -> (module of this package that holds it under the same name, what it does)
COMMANDS: Final[dict[str, tuple[str, str]]] = {
    "workspace": ("defining", "Define, list and show workspaces."),
    "role": ("defining", "Define the roles of a workspace."),
    "queue": ("defining", "Give a queue to a workspace."),
    "agent": ("defining", "Define the agents of a workspace."),
    "task": ("defining", "Put a task on a workspace's queue."),
    "claim-next": ("claiming", "Contend for the next task of a workspace's queue."),
    "claim": ("claiming", "Contend for one task of a workspace."),
    "claims": ("claiming", "List claims, what became of them and where the log has them."),
    "verify": ("proving", "Follow the topics from their first rows, and compare every claim."),
    "export": ("proving", "Print the rows of a role's topic."),
    "verifier": ("proving", "Print a program that checks exported rows."),
    "secret": ("proving", "Print the secret that a workspace's ids are hidden under."),
    "topic": ("proving", "Make a topic on a Hedera network."),
    "recover": ("claiming", "Finish the claims that somebody left between two steps."),
}


class LiteCommands(click.Group):
    """The table as a click group that loads what is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names in the table's order."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command itself, out of its module."""
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"tessera.cli.lite.{COMMANDS[cmd_name][0]}")
        command: Any = getattr(module, cmd_name.replace("-", "_"))
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The table, without loading anything."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


@click.group(cls=LiteCommands)
def lite() -> None:
    """Give work to a workspace's agents, and prove who won it.

    \b
    Example:
      tessera lite workspace define ws_acme --name Acme
      tessera lite claim-next drafts --agent agt_ann --idempotency-key first
    """
