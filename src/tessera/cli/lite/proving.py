"""What proves claims: topics verified, their rows exported, and what a third party checks them with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from tessera.cli import options
from tessera.cli.upkeep import progress
from tessera.limits import PAGE_MAX

if TYPE_CHECKING:
    from tessera.library import Tessera


@click.command()
@click.option("--topic", "topic_id", metavar="TOPIC", help="Only this topic. Left out: every role's.")
@click.option(
    "--mirror", metavar="URL", help="Read a network's rows from this mirror node. Left out: the log's own."
)
@options.prints
@options.takes_store
def verify(store: Tessera, say: Any, topic_id: str | None, mirror: str | None) -> None:
    """Follow the topics of lite claims from their first rows, and compare every claim.

    Running hashes and winners are computed anew from the rows alone. Topics of the store's own log are read
    there, the others on the network that TESSERA_LITE_LOG names. Exits 1 when something is wrong, and names
    the first of it, or when a topic could not be read.

    \b
    Example:
      tessera lite verify --topic 0.0.4711
    """
    with progress() as tell:
        verified = store.verify_topics(topic_id, mirror=mirror, tell=tell)
    say(verified)
    if not verified.ok:
        raise click.exceptions.Exit(1)


@click.command()
@click.argument("role_id", metavar="ROLE")
@click.option("--workspace", "workspace_id", metavar="WS", help="Whose role, if several have one of that id.")
@click.option("--after", type=int, default=0, show_default=True, help="Only rows after this number.")
@click.option("--claims", is_flag=True, help="The store's claims on the topic instead, all of them.")
@options.takes_store
def export(store: Tessera, role_id: str, workspace_id: str | None, after: int, claims: bool) -> None:
    """Print the rows of a role's topic, one JSON object a line, as a mirror node shows them.

    `tessera lite verifier` prints the program that checks them, and compares them with --claims.

    \b
    Example:
      tessera lite export role_writer > rows.jsonl
      tessera lite export role_writer --claims > claims.jsonl
    """
    import msgspec

    if claims:
        _export_claims(store, store.topic_messages(role_id, workspace_id, limit=1).topic_id)
        return
    while (page := store.topic_messages(role_id, workspace_id, after=after, limit=PAGE_MAX)).messages:
        click.echo(b"\n".join(msgspec.json.encode(row) for row in page.messages))
        after = page.next


def _export_claims(store: Tessera, topic_id: str) -> None:
    """Every claim whose messages go to a topic, as the wire has them."""
    import msgspec

    after: str | None = None
    while True:
        page = store.claims(topic_id=topic_id, limit=PAGE_MAX, after=after)
        for claim in page.claims:
            click.echo(msgspec.json.encode(claim))
        after = page.next
        if after is None:
            return


@click.command()
@click.argument("workspace_id", metavar="WS")
@options.prints
@options.takes_store
def secret(store: Tessera, say: Any, workspace_id: str) -> None:
    """Print the secret that a workspace's ids are hidden under in the log, in hex.

    With it the log's commitments can be tied to ids: give it to an auditor, and to nobody else.

    \b
    Example:
      tessera lite secret ws_acme > ws_acme.secret
    """
    from tessera.models import WorkspaceSecret

    say(WorkspaceSecret(workspace_id, store.workspace_secret(workspace_id)))


@click.command()
@click.argument("language", type=click.Choice(("python", "javascript")))
def verifier(language: str) -> None:
    """Print a program of one file that checks exported rows, needing nothing of Tessera.

    \b
    Example:
      tessera lite verifier python > verify_topic.py
    """
    from importlib.resources import files

    name = {"python": "verify_topic.py", "javascript": "verify_topic.mjs"}[language]
    click.echo((files("tessera") / "lite" / "verifiers" / name).read_bytes(), nl=False)


@click.command()
@options.prints
@options.takes_store
def topic(store: Tessera, say: Any) -> None:
    """Make a topic on the Hedera network that the settings name, for a role to use.

    Only the holder of the submit key can write to it.

    \b
    Example:
      tessera lite topic
    """
    from tessera.models import MadeTopic

    say(MadeTopic(store.make_topic()))
