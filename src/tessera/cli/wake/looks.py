"""Looking: endpoints, wakes, one wake."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from tessera.cli.wake import common

if TYPE_CHECKING:
    from tessera.wake.client import Client

STATES = ["pending", "awaiting_ack", "injected", "acknowledged", "failed"]


@click.command()
@click.option("--repo", metavar="REPO", help="Only those that take wakes for it.")
@click.option("--all", "everything", is_flag=True, help="Those that have ended, too.")
@common.prints
@common.takes_socket
def endpoints(client: Client, say: Any, repo: str | None, everything: bool) -> None:
    """List the endpoints.

    \b
    Example:
      tessera wake endpoints --repo api
    """
    answer = client.call("endpoints", repo=repo)
    if not everything:
        answer["endpoints"] = [one for one in answer["endpoints"] if one["state"] in ("live", "stale")]
    rows = (
        (one["endpoint_id"], one["name"], one["kind"], one["state"], one["live_reason"], one["activity"],
         ", ".join(one["repos"]), one["pending"])
        for one in answer["endpoints"]
    )  # fmt: skip
    columns = "endpoint, name, kind, state, reason, agent, repositories, waiting"
    say(
        answer,
        lambda: common.table(columns, rows, "No endpoints. Make one: tessera wake run --repo REPO -- CMD"),
    )


@click.command()
@click.option("--repo", "target_repo", metavar="REPO", help="Only wakes for it.")
@click.option(
    "--state", "states", multiple=True, type=click.Choice(STATES), help="Only in this state; may be repeated."
)
@click.option("--after", type=int, metavar="SEQ", help="Only what was admitted after this number.")
@click.option("--limit", type=click.IntRange(1, 200), default=50, show_default=True, help="Lines of a page.")
@click.option("--oldest-first", is_flag=True, help="From the beginning on.")
@common.prints
@common.takes_socket
def history(
    client: Client, say: Any, target_repo: str | None, states: tuple[str, ...], after: int | None, limit: int,
    oldest_first: bool,
) -> None:  # fmt: skip
    """List wakes and how their delivery stands.

    \b
    Example:
      tessera wake history --repo api --state failed
    """
    answer = client.call(
        "history", target_repo=target_repo, state=list(states), after=after, limit=limit,
        order="asc" if oldest_first else "desc",
    )  # fmt: skip
    rows = (
        (one["seq"], one["message_id"], one["target_repo"], one["sender_repo"], one["state"],
         f"{one['attempt_count']}/{one['max_attempts']}",
         one["deferred_reason"] or one["last_failure_reason"],
         common.moment(one["created_at"]))
        for one in answer["messages"]
    )  # fmt: skip
    columns = "seq, wake, for, from, state, attempts, reason, admitted"
    say(answer, lambda: common.table(columns, rows, "No wakes yet.") + _legend(answer["messages"]))


def _legend(messages: list[dict[str, Any]]) -> str:
    """What each reason of a list means, once."""
    from tessera.wake.reasons import SENTENCES, word

    reasons = (one["deferred_reason"] or one["last_failure_reason"] for one in messages)
    words = dict.fromkeys(word(reason) for reason in reasons if reason is not None)
    lines = [f"{name}: {SENTENCES[name]}" for name in words if name in SENTENCES]
    return "\n\n" + "\n".join(lines) if lines else ""


@click.command()
@click.argument("message_id", metavar="ID")
@common.prints
@common.takes_socket
def show(client: Client, say: Any, message_id: str) -> None:
    """Show one wake with its text and its attempts.

    \b
    Example:
      tessera wake show m_0123456789abcdef
    """
    message = client.call("message", message_id=message_id)["message"]
    say(message, lambda: _shown(message))


def _shown(message: dict[str, Any]) -> str:
    from tessera.cli.text import visible
    from tessera.wake.reasons import explained

    why = ("deferred_reason", "last_failure_reason")
    told = message | {name: explained(message[name]) for name in why if message[name]}
    shown = ("state", "endpoint_id", "sender_repo", "target_repo", "correlation_id", "deferred_reason",
             "last_failure_reason", "ack_source", "ack_by", "ack_note")  # fmt: skip
    lines = [message["message_id"]]
    lines += [f"  {name:20} {visible(str(told[name]))}" for name in shown if told[name] is not None]
    lines += [f"  attempt {one['n']}: {_attempt(one)}" for one in message["attempts"]]
    return "\n".join([*lines, "", visible(message["body"])])


def _attempt(one: dict[str, Any]) -> str:
    from tessera.cli.text import visible
    from tessera.wake.reasons import explained

    reason = f" ({visible(explained(one['reason']))})" if one["reason"] else ""
    return f"{one['outcome'] or 'under way'}{reason} at {common.moment(one['started_at'])}"
