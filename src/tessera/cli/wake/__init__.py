"""`tessera wake`: prompts delivered into live agent terminals. Each command's module is imported when it
runs.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

import click

# command -> (module of this package that holds it under the same name, what it does)
COMMANDS: Final[dict[str, tuple[str, str]]] = {
    "serve": ("serving", "Run the service: take wakes in, write them, follow them up."),
    "attach": ("places", "Register a tmux pane, a file or a command as an endpoint."),
    "run": ("places", "Run an agent in a terminal that takes wakes."),
    "endpoints": ("looks", "List the endpoints."),
    "detach": ("places", "End an endpoint; its wakes stay."),
    "send": ("sending", "Send a wake to whoever works on a repository."),
    "ack": ("sending", "Acknowledge wakes."),
    "retry": ("sending", "Start the attempts of a failed wake anew."),
    "history": ("looks", "List wakes and how their delivery stands."),
    "show": ("looks", "Show one wake with its text and its attempts."),
    "replay": ("sending", "Send the wakes of a capture file again."),
    "hook": ("agents", "Take in what an agent's hook tells, on stdin."),
    "install-hooks": ("agents", "Put the hooks into an agent's settings, or take them out."),
    "mcp": ("agents", "Serve the acknowledging tool to an agent over stdio."),
    "bridge": ("following", "Wake agents for what happens in a store, by rules."),
    "doctor": ("serving", "Look for what would keep wakes from arriving."),
}


class WakeCommands(click.Group):
    """The table as a click group that loads what is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names in the table's order."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command itself, out of its module."""
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"tessera.cli.wake.{COMMANDS[cmd_name][0]}")
        command: Any = getattr(module, cmd_name.replace("-", "_"))
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The table, without loading anything."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


@click.group(cls=WakeCommands)
def wake() -> None:
    """Wake agents in their terminals, and learn whether they have it.

    \b
    Example:
      tessera wake serve &
      tessera wake run --repo api --harness claude -- claude
      tessera wake send api -m "Task t_1 is ready: tessera claim review"
    """
