"""`tessera wake`: prompts delivered into live agent terminals. Each command's module is imported when it
runs.
"""

from __future__ import annotations

from typing import Final

import click

from tessera.cli.table import Headings, Table

COMMANDS: Final[Headings] = {
    "Commands": {
        "serve": ("wake.serving", "Run the service: take wakes in, write them, follow them up."),
        "attach": ("wake.places", "Register a tmux pane, a file or a command as an endpoint."),
        "run": ("wake.places", "Run an agent in a terminal that takes wakes."),
        "endpoints": ("wake.looks", "List the endpoints."),
        "detach": ("wake.places", "End an endpoint; its wakes stay."),
        "send": ("wake.sending", "Send a wake to whoever works on a repository."),
        "ack": ("wake.sending", "Acknowledge wakes."),
        "retry": ("wake.sending", "Start the attempts of a failed wake anew."),
        "history": ("wake.looks", "List wakes and how their delivery stands."),
        "show": ("wake.looks", "Show one wake with its text and its attempts."),
        "replay": ("wake.sending", "Send the wakes of a capture file again."),
        "hook": ("wake.agents", "Take in what an agent's hook tells, on stdin."),
        "install-hooks": ("wake.agents", "Put the hooks into an agent's settings, or take them out."),
        "mcp": ("wake.agents", "Serve the acknowledging tool to an agent over stdio."),
        "bridge": ("wake.following", "Wake agents for what happens in a store, by rules."),
        "doctor": ("wake.serving", "Look for what would keep wakes from arriving."),
    },
}


@click.group(cls=Table, headings=COMMANDS)
def wake() -> None:
    """Wake agents in their terminals, and learn whether they have it.

    \b
    Example:
      tessera wake serve &
      tessera wake run --repo api --harness claude -- claude
      tessera wake send api -m "Task t_1 is ready: tessera claim review"
    """
