"""`tessera lite`: workspaces, and claims that an ordered log decides. Each command's module is imported when
it runs.
"""

from __future__ import annotations

from typing import Final

import click

from tessera.cli.table import Headings, Table

COMMANDS: Final[Headings] = {
    "Commands": {
        "workspace": ("lite.defining", "Define, list and show workspaces."),
        "role": ("lite.defining", "Define the roles of a workspace."),
        "queue": ("lite.defining", "Give a queue to a workspace."),
        "agent": ("lite.defining", "Define the agents of a workspace."),
        "task": ("lite.defining", "Put a task on a workspace's queue."),
        "claim-next": ("lite.claiming", "Contend for the next task of a workspace's queue."),
        "claim": ("lite.claiming", "Contend for one task by its id, which another may win."),
        "claims": ("lite.claiming", "List a page of claims, oldest first."),
        "verify": (
            "lite.proving",
            "Follow the topics of lite claims from their first rows, and compare every claim.",
        ),
        "export": ("lite.proving", "Print the rows of a role's topic."),
        "verifier": (
            "lite.proving",
            "Print a program of one file that checks exported rows, needing nothing of Tessera.",
        ),
        "secret": ("lite.proving", "Print the secret that a workspace's ids are hidden under."),
        "topic": (
            "lite.proving",
            "Make a topic on the Hedera network that the settings name, for a role to use.",
        ),
        "recover": ("lite.claiming", "Finish the claims that somebody left between two steps."),
    },
}


@click.group(cls=Table, headings=COMMANDS)
def lite() -> None:
    """Give work to a workspace's agents, and prove who won it.

    \b
    Example:
      tessera lite workspace define ws_acme --name Acme
      tessera lite claim-next drafts --agent agt_ann --idempotency-key first
    """
