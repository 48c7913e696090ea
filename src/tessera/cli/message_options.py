"""What the commands of `tessera message` share: the catalog, who acts, whom they are about, and both ways to
print an answer.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from click.core import ParameterSource

from tessera.cli.text import visible

if TYPE_CHECKING:
    from tessera.messages import AgentId

Body = Callable[..., None]
U64: Final = click.IntRange(min=0, max=2**64 - 1)

acting = click.option(
    "--as", "as_", envvar="TESSERA_AGENT", show_envvar=True, metavar="ADDRESS",
    help="The acting agent. Left out: the one whose exact id is in ST_AGENT.",
)  # fmt: skip
about = click.option("--id", "id_", metavar="ID", help="The agent, by its exact id instead of an address.")
address = click.argument("address", metavar="[ADDRESS]", required=False)
names = click.argument("names", metavar="[ADDRESS] FILENAME", nargs=-1, required=True)
archive = click.option("--archive", is_flag=True, help="Look into the archive, not the inbox.")
body = click.option("-m", "--message", metavar="TEXT", help="The body. Left out: standard input to its end.")
idempotency_key = click.option(
    "--idempotency-key", metavar="KEY", help="The same key again, to the same agent, sends nothing twice."
)


def takes_catalog(command: Body) -> Body:
    """Add `--catalog`; the command gets the open `Mail` as its first argument and need not close it."""

    @click.option(
        "--catalog", default=_default_catalog, envvar="TESSERA_CATALOG", metavar="PATH", show_envvar=True,
        show_default="$XDG_STATE_HOME/tessera/catalog", help="The folder that holds the agents.",
    )  # fmt: skip
    @functools.wraps(command)
    def wrapped(*args: Any, catalog: str, **options: Any) -> None:
        from tessera import messages

        with messages.open(catalog, external=os.environ.get("TESSERA_EVAL_REQUESTER")) as mail:
            command(mail, *args, **options)

    return wrapped


def prints(command: Body) -> Body:
    """Add `--json`; the command gets `say(answer, text)`, which prints one of the two."""

    @click.option("--json", "as_json", is_flag=True, help="Print JSON.")
    @functools.wraps(command)
    def wrapped(*args: Any, as_json: bool, **options: Any) -> None:
        command(*args, say=_say_json if as_json else _say_text, **options)

    return wrapped


def _say_json(answer: object, _text: str) -> None:
    import msgspec

    click.echo(msgspec.json.encode(answer))


def _say_text(_answer: object, text: str) -> None:
    click.echo(visible(text))


def _default_catalog() -> str:
    state = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return str(Path(state) / "tessera" / "catalog")


def actor(as_: str | None) -> str:
    """The acting agent: the address of `--as` or TESSERA_AGENT, else the exact id in ST_AGENT."""
    if as_:
        return as_
    if exact := os.environ.get("ST_AGENT"):
        return agent_id(exact)
    ctx = click.get_current_context()
    raise click.UsageError("nobody acts: give --as ADDRESS, or set TESSERA_AGENT or ST_AGENT", ctx)


def subject(address: str | None, id_: str | None, as_: str | None) -> str:
    """The agent that a command is about: the positional address, the exact id, or whoever acts."""
    ctx = click.get_current_context()
    given = ctx.get_parameter_source("as_") is ParameterSource.COMMANDLINE
    if id_ is not None and (address is not None or given):
        raise click.UsageError("--id stands in the place of an address and of --as", ctx)
    if id_ is not None:
        return agent_id(id_)
    return address if address is not None else actor(as_)


def subject_and_file(names: tuple[str, ...], id_: str | None, as_: str | None) -> tuple[str, str]:
    """The agent and the message that `[ADDRESS] FILENAME` names."""
    if len(names) > 2:
        raise click.UsageError(f"unexpected argument {names[2]!r}", click.get_current_context())
    *addresses, filename = names
    return subject(addresses[0] if addresses else None, id_, as_), filename


def agent_id(text: str) -> AgentId:
    """A text as an exact id."""
    from tessera.messages import AgentId

    return AgentId(text)


def body_text(message: str | None) -> str:
    """The body given, or standard input to its end; what is not UTF-8 is wrong usage."""
    if message is not None:
        return message
    try:
        with click.open_file("-", "rb") as file:
            return bytes(file.read()).decode("utf-8")
    except UnicodeDecodeError as error:
        raise click.UsageError(f"the body is not UTF-8: {error.reason}") from error
