"""`tessera message`: the table of its commands."""

from __future__ import annotations

from typing import Final

import click

from tessera.cli.table import Headings, Table

COMMANDS: Final[Headings] = {
    "Mail": {
        "send": ("message_mail", "Send a message."),
        "reply": ("message_mail", "Answer a message of the acting agent's inbox or archive."),
        "ls": ("message_mail", "List an agent's inbox, or its archive, oldest first."),
        "read": ("message_mail", "Show one message of the inbox, or else of the archive."),
        "archive": ("message_mail", "Put a message of the inbox away."),
        "thread": ("message_mail", "Show the conversation that a message belongs to."),
    },
    "Ledgers": {
        "sent": ("message_mail", "List what an agent has sent, and say how far that list goes."),
        "verify": ("message_upkeep", "Verify the sent ledger of one agent, or of every agent."),
        "abandon": ("message_upkeep", "Give up the message in flight, whose recipient is gone."),
    },
    "Agents": {
        "agents": ("message_upkeep", "Add, list, show, move and retire the agents of a catalog."),
        "migrate-ids": ("message_upkeep", "Give every agent that has none its immutable id."),
    },
}


@click.group(cls=Table, headings=COMMANDS)
def message() -> None:
    """Send, read and verify mail between agents.

    Mail is files in a catalog; every sender keeps a ledger that proves what it sent.

    \b
    Example:
      tessera message agents add dev3.builder
      tessera message agents add dev4.reviewer
      tessera message send dev4.reviewer --as dev3.builder --subject 'pull 7' -m 'please look'
      tessera message ls dev4.reviewer
    """
