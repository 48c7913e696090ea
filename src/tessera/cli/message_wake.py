"""`tessera message send --wake`: ring the terminal of whoever has just been written to.

The message is sent whatever becomes of the wake: mail waits, and an agent reads it when it next looks.
"""

from __future__ import annotations

from typing import Any

import click

from tessera.cli.text import visible


def ring(recipient: str, sender: str, filename: str, subject: str | None) -> None:
    """Wake the live endpoint that has the recipient's name. Says on stderr why it could not, and goes on."""
    from tessera.wake.client import Client
    from tessera.wake.errors import WakeError

    try:
        client = Client()
        client.call("send", **_wake(_endpoint(client, recipient), sender, filename, subject))
    except (WakeError, LookupError, OSError) as error:
        click.echo(visible(f"sent, but nobody was woken: {error}"), err=True)


def _endpoint(client: Any, recipient: str) -> dict[str, Any]:
    named: list[dict[str, Any]] = [
        one for one in client.call("endpoints", live=True)["endpoints"] if one["name"] == recipient
    ]
    if len(named) != 1:
        number = "no live endpoint is" if not named else f"{len(named)} live endpoints are"
        raise LookupError(f"{number} named {recipient} (tessera wake attach --name {recipient} …)")
    return named[0]


def _wake(endpoint: dict[str, Any], sender: str, filename: str, subject: str | None) -> dict[str, Any]:
    about = f": {subject}" if subject else ""
    return {
        "client_id": "message", "idempotency_key": filename, "sender_repo": "cli", "provenance": "message",
        "target_repo": endpoint["repos"][0], "endpoint_id": endpoint["endpoint_id"],
        "body": f"Mail from {sender}{about}. Read it with: tessera message read {filename}",
    }  # fmt: skip
