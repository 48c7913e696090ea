"""`tessera queues`: the named lists of tasks and their settings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import click

from tessera.cli import options

if TYPE_CHECKING:
    from tessera.library import Tessera

SETTINGS: Final = {
    "heartbeat_seconds": "Expected interval between heartbeats, 1 to 600. New queues: 60.",
    "miss_limit": "Missed heartbeats before the lease lapses, 1 to 10. New queues: 3.",
    "lease_seconds": "Hard cap on one lease, heartbeats or not, 1 to 3600. New queues: 600.",
    "max_attempts": "Failures before dead letter, 1 to 20. New queues: 3.",
    "backoff_base_seconds": "First retry delay ceiling. New queues: 30.",
    "backoff_cap_seconds": "Largest retry delay ceiling. New queues: 900.",
    "weight": "Share of a worker that serves several queues. New queues: 1.",
}


def settings(body: options.Body) -> options.Body:
    """Add an option for every setting."""
    add = [
        click.option(f"--{name.replace('_', '-')}", type=int, help=text) for name, text in SETTINGS.items()
    ]
    for option in reversed(add):
        body = option(body)
    return body


@click.group()
def queues() -> None:
    """Define, list, pause and resume queues.

    \b
    Example:
      tessera queues define builds --lease-seconds 900
    """


@queues.command()
@click.argument("name")
@settings
@click.option("--paused/--no-paused", default=None, help="Give no leases, or give them again.")
@options.prints
@options.makes_store
def define(store: Tessera, say: Any, name: str, **given: Any) -> None:
    """Make a queue, or change the settings that are given.

    \b
    Example:
      tessera queues define builds --heartbeat-seconds 30 --max-attempts 5
    """
    say(store.define_queue(name, **options.given(**given)))


@queues.command("list")
@options.paged("queue", "NAME")
@options.prints
@options.takes_store
def list_(store: Tessera, say: Any, **page: Any) -> None:
    """List a page of the queues with their settings, by name.

    \b
    Example:
      tessera queues list
    """
    say(store.queues_page(**page))


@queues.command()
@click.argument("name")
@options.prints
@options.takes_store
def pause(store: Tessera, say: Any, name: str) -> None:
    """Give no more leases from a queue; all else goes on.

    \b
    Example:
      tessera queues pause builds
    """
    say(store.pause_queue(name))


@queues.command()
@click.argument("name")
@options.prints
@options.takes_store
def resume(store: Tessera, say: Any, name: str) -> None:
    """Give leases from a paused queue again.

    \b
    Example:
      tessera queues resume builds
    """
    say(store.resume_queue(name))
