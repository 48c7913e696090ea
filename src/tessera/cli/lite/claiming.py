"""Claims: contending, looking at what became of them, finishing what was left."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from tessera.cli import options

if TYPE_CHECKING:
    from tessera import models
    from tessera.library import Tessera

_ATTEMPT = [
    click.option("--agent", "agent_id", required=True, metavar="AGENT", help="Who would work."),
    click.option("--idempotency-key", required=True, metavar="KEY",
                 help="Names this attempt: asking again under it gives the first answer."),
    click.option("--role", "role_ids", multiple=True, metavar="ROLE",
                 help="In this of its roles; may be repeated. Left out: in all."),
    click.option("--lease-seconds", type=int, help="For how long, 1 to 3600. Left out: as the role says."),
]  # fmt: skip


def _attempt(body: options.Body) -> options.Body:
    for option in reversed(_ATTEMPT):
        body = option(body)
    return body


@click.command()
@options.queue
@_attempt
@options.prints
@options.takes_store
def claim_next(store: Tessera, say: Any, queue: str, **attempt: Any) -> None:
    """Contend for the next task of a workspace's queue, and show what was won with its proof.

    Exits 1 when policy rejects the claim; that there are no tasks is an answer like another.

    \b
    Example:
      tessera lite claim-next drafts --agent agt_ann --idempotency-key first
    """
    _answer(say, store.claim_next(queue, **options.given(**attempt)))


@click.command()
@options.task
@_attempt
@options.prints
@options.takes_store
def claim(store: Tessera, say: Any, task_id: str, **attempt: Any) -> None:
    """Contend for one task by its id, which another may win. Exits 1 when policy rejects the claim.

    \b
    Example:
      tessera lite claim task_0198c2 --agent agt_ann --idempotency-key first
    """
    _answer(say, store.claim_task(task_id, **options.given(**attempt)))


def _answer(say: Any, answer: models.ClaimAnswer) -> None:
    say(answer)
    if answer.status == "rejected":
        raise click.exceptions.Exit(1)


@click.command()
@click.option("--workspace", "workspace_id", metavar="WS", help="Only this workspace's.")
@click.option("--topic", "topic_id", metavar="TOPIC", help="Only those of this topic.")
@click.option(
    "--state", type=click.Choice(("reserved", "claimed", "missed", "void")), help="Only this state."
)
@options.paged("claim", "ID")
@options.prints
@options.takes_store
def claims(store: Tessera, say: Any, **which: Any) -> None:
    """List a page of claims, oldest first.

    \b
    Example:
      tessera lite claims --workspace ws_acme --state claimed
    """
    say(store.claims(**which))


@click.command()
@options.prints
@options.takes_store
def recover(store: Tessera, say: Any) -> None:
    """Finish the claims that somebody left between two steps, as a running service does by itself.

    \b
    Example:
      tessera lite recover
    """
    say(store.recover_claims())
