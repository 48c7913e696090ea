"""Wakes on their way: send, acknowledge, try again, replay."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from tessera.cli.wake import common

if TYPE_CHECKING:
    from tessera.wake.client import Client

REACHED: Final = {
    "written": ("awaiting_ack", "injected", "acknowledged", "failed"), "acked": ("acknowledged", "failed"),
}  # fmt: skip
LOOK_SECONDS: Final = 0.2


@click.command()
@click.argument("repo")
@click.option("-m", "--message", "text", metavar="TEXT", help="What to say.")
@click.option("-f", "--file", type=click.File("rb"), help="A file that holds what to say; - is stdin.")
@click.option("--endpoint", "endpoint_id", metavar="ID", help="Which of several live endpoints.")
@click.option("--key", metavar="KEY", help="The idempotency key: the same key and text is the same wake.")
@click.option("--sender", default="cli", metavar="REPO", help="Who says it: a repository, cli or operator.")
@click.option(
    "--wait", "wanted", type=click.Choice(list(REACHED)), help="Until it is written, or acknowledged."
)
@click.option("--within", type=click.FloatRange(min=0), default=60.0, show_default=True, metavar="SECONDS",
              help="How long --wait waits.")  # fmt: skip
@common.prints
@common.takes_socket
def send(
    client: Client, say: Any, repo: str, text: str | None, file: Any, endpoint_id: str | None,
    key: str | None, sender: str, wanted: str | None, within: float,
) -> None:  # fmt: skip
    """Send a wake to whoever works on a repository. With --wait, exits 1 when the wake failed or the time
    was up, and says why it has not arrived.

    \b
    Example:
      tessera wake send api -m "The review of pr-7 is in." --key pr-7 --wait acked
    """
    from tessera.runtime import real_runtime

    if (text is None) == (file is None):
        raise click.UsageError("say what to send: -m TEXT or -f FILE")
    try:
        body = file.read().decode() if text is None else text
    except UnicodeDecodeError as error:
        raise click.UsageError("the file is not UTF-8 text") from error
    answer = client.call(
        "send", client_id="cli", idempotency_key=key or real_runtime().new_id("cli_"), sender_repo=sender,
        target_repo=repo, body=body, endpoint_id=endpoint_id, provenance="cli",
    )  # fmt: skip
    if wanted is None:
        say(answer, f"{answer['message_id']} {answer['state']}")
        return
    message = _wait(client, answer["message_id"], wanted, within)
    say(message, lambda: _outcome(client, message))
    if message["state"] == "failed" or message["state"] not in REACHED[wanted]:
        raise click.exceptions.Exit(1)


def _outcome(client: Client, message: dict[str, Any]) -> str:
    """How a wake stands, with the reason if it has not arrived, which may be that of the one before it."""
    from tessera.cli.text import visible
    from tessera.wake import reasons

    reason, behind = reasons.why(message), ""
    if reason is None and message["state"] == "pending":
        first = client.call("history", endpoint_id=message["endpoint_id"], state=["pending"], limit=1)[
            "messages"
        ]
        for one in first:
            if one["message_id"] != message["message_id"]:
                reason, behind = reasons.why(one), f": behind {one['message_id']}"
    because = behind + (f": {visible(reasons.explained(reason))}" if reason is not None else "")
    return f"{message['message_id']} {message['state']}{because}"


def _wait(client: Client, message_id: str, wanted: str, within: float) -> dict[str, Any]:
    from tessera.cli.waiting import ask_until

    def ask() -> dict[str, Any]:
        found: dict[str, Any] = client.call("message", message_id=message_id, include_body=False)["message"]
        return found

    return ask_until(ask, lambda m: None if m["state"] in REACHED[wanted] else LOOK_SECONDS, within)


@click.command()
@click.argument("message_ids", metavar="ID...", nargs=-1, required=True)
@click.option("--note", metavar="TEXT", help="A word for the sender, up to 512 bytes.")
@click.option("--by", metavar="NAME", help="Who acknowledges.")
@common.prints
@common.takes_socket
def ack(client: Client, say: Any, message_ids: tuple[str, ...], note: str | None, by: str | None) -> None:
    """Acknowledge wakes. In a sandbox that may open no socket, a file in ./.tessera/acks/ does the same:
    the service collects it.

    \b
    Example:
      tessera wake ack m_0123456789abcdef
    """
    from tessera.wake import drops
    from tessera.wake.errors import NoService

    for message_id in message_ids:
        try:
            answer = client.call("ack", message_id=message_id, source="agent", by=by, note=note)
        except NoService as refusal:
            if refusal.extra.get("errno") not in drops.SANDBOXED:
                raise
            path = drops.leave(Path.cwd(), message_id)
            answer = {"message_id": message_id, "state": "left", "file": str(path)}
        say(answer, f"{message_id} {answer['state']}")


@click.command()
@click.argument("message_id", metavar="ID")
@click.option("--reason", metavar="TEXT", help="Why, for the log.")
@common.prints
@common.takes_socket
def retry(client: Client, say: Any, message_id: str, reason: str | None) -> None:
    """Start the attempts of a failed wake anew.

    \b
    Example:
      tessera wake retry m_0123456789abcdef
    """
    answer = client.call("retry", message_id=message_id, reason=reason)
    say(answer, f"{message_id} {answer['state']}")


@click.command()
@click.argument("file", type=click.File("rb"))
@click.option("--dry-run", is_flag=True, help="Say what would be sent, and send nothing.")
@common.prints
@common.takes_socket
def replay(client: Client, say: Any, file: Any, dry_run: bool) -> None:
    """Send the wakes of a capture file again, each at most once however often this runs. Exits 1 when a
    line could not be sent.

    \b
    Example:
      tessera wake replay ~/.local/state/tessera/wake/capture.jsonl --dry-run
    """
    from collections import Counter

    from tessera.wake.replay import replay as replay_lines

    totals: Counter[str] = Counter()
    for result in replay_lines(client, file, dry_run=dry_run):
        totals[result.outcome] += 1
        if result.outcome == "refused":
            click.echo(f"line {result.line}: {result.says}", err=True)
    say(dict(totals), ", ".join(f"{number} {name}" for name, number in sorted(totals.items())) or "no lines")
    if totals["refused"]:
        raise click.exceptions.Exit(1)
