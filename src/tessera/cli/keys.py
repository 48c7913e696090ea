"""`tessera keys` and `tessera approvals`: who may do what. A secret is shown once, and never an argument."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import click

from tessera.cli import options

if TYPE_CHECKING:
    from tessera.library import Tessera

# What `keys issue --json` shows of the grant a second time, beside the key, where scripts look for it.
FLAT: Final = ("key_id", "name", "queues", "kinds", "effect_classes", "scopes", "expires_at")


@click.group()
def keys() -> None:
    """Issue, list and revoke keys.

    \b
    Example:
      tessera keys issue --name build-swarm --queue builds --effect read --days 7
    """


@keys.command()
@click.option("--name", metavar="LABEL", help="What people call the key.")
@options.grant
@click.option("--approval", metavar="TOKEN", help="The single-use approval that `public` needs.")
@options.prints
@options.makes_store
def issue(store: Tessera, say: Any, **body: Any) -> None:
    """Make a key and show its secret, this once.

    \b
    Example:
      tessera keys issue --name build-swarm --queue builds --effect read --effect write-internal
    """
    issued = store.issue_key(**options.given(**body))
    grant = {name: getattr(issued.grant, name) for name in FLAT}
    say(issued, wire={"key": issued.key, "grant": issued.grant, **grant})
    _warn_of_absent(store, issued.grant.queues)
    click.echo("Keep the key now: only its hash is stored, and it is never shown again.", err=True)


def _warn_of_absent(store: Tessera, queues: list[str]) -> None:
    """A key may come before its queue, but a name that no queue has is more often a slip."""
    from tessera.names import ALL

    known = {ALL, *(queue.name for queue in store.queues())}
    for name in queues:
        if name not in known:
            click.echo(f"warning: there is no queue {name!r} yet; the key is issued all the same", err=True)


@keys.command("list")
@options.paged("key", "ID")
@options.prints
@options.takes_store
def list_(store: Tessera, say: Any, **page: Any) -> None:
    """List a page of the keys without their secrets, oldest first.

    \b
    Example:
      tessera keys list --json
    """
    say(store.keys_page(**page))


@keys.command()
@click.argument("key_id", metavar="ID")
@options.prints
@options.takes_store
def revoke(store: Tessera, say: Any, key_id: str) -> None:
    """Let a key count no more, at once.

    \b
    Example:
      tessera keys revoke k_0198c2
    """
    say(store.revoke_key(key_id))


@click.group()
def approvals() -> None:
    """Approve a key that may hold the `public` effect class.

    \b
    Example:
      tessera approvals issue --queue releases --effect public
    """


@approvals.command("issue")
@options.grant
@options.prints
@options.makes_store
def issue_approval(store: Tessera, say: Any, **grant: Any) -> None:
    """Approve one key of exactly this grant, within the hour.

    Prints a word that `keys issue --approval` takes once.

    \b
    Example:
      tessera approvals issue --queue releases --effect public
      tessera keys issue --queue releases --effect public --approval TOKEN
    """
    say(store.issue_approval(**options.given(**grant)))
