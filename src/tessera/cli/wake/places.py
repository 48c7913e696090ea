"""Endpoints: a pane, a file, a command, a terminal of our own."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tessera.cli.wake import common

if TYPE_CHECKING:
    from tessera.wake.client import Client
    from tessera.wake.gita import Registry

HARNESSES = ["claude", "codex", "other"]


def policy(body: common.Body) -> common.Body:
    """Add the options that every endpoint has."""
    options = [
        click.option("--repo", "repos", multiple=True, metavar="REPO",
                     help="A repository it serves; may be repeated. Left out: the one of this folder."),
        click.option("--name", metavar="NAME", help="What to call it. Left out: made from where it is."),
        click.option("--harness", type=click.Choice(HARNESSES), default="other", show_default=True,
                     help="Which agent runs there."),
        click.option("--ack-mode", type=click.Choice(["acknowledged", "injected"]), default="acknowledged",
                     show_default=True, help="When a wake counts as delivered."),
        click.option("--attempts", type=click.IntRange(1, 9), default=3, show_default=True,
                     help="How often a wake is tried."),
        click.option("--ack-seconds", type=click.IntRange(1, 3600), default=30, show_default=True,
                     help="How long an acknowledgement may take; 600 suits agents with hooks."),
        click.option("--replace", is_flag=True, help="Take the name from a live endpoint."),
    ]  # fmt: skip
    for option in reversed(options):
        body = option(body)
    return body


def asked(options: dict[str, Any], name: str) -> dict[str, Any]:
    """The fields of a registration that the options say."""
    return {
        "name": options["name"] or name, "repos": list(options["repos"]) or [_own_repo()],
        "harness": options["harness"], "delivery_ack_mode": options["ack_mode"],
        "delivery_max_attempts": options["attempts"], "ack_timeout_s": options["ack_seconds"],
        "replace": options["replace"],
    }  # fmt: skip


def _warn_of_unknown(repos: list[str]) -> None:
    """Say which repositories gita does not know: the service refuses them, and the wrapper keeps trying."""
    registry = _registry()
    for name in repos:
        if not registry.paths(name):
            click.echo(f"warning: {registry.hint(name)}; until then no wake arrives here", err=True)


def _registry() -> Registry:
    from tessera.runtime import real_runtime
    from tessera.wake import gita

    return gita.Registry(gita.registry_path(), real_runtime())


def _own_repo() -> str:
    """The repository of the folder we are in, as gita calls it."""
    name = _registry().name_of(Path.cwd())
    if name is None:
        raise click.UsageError("this folder is in no repository that gita knows: name one with --repo")
    return name


@click.command()
@policy
@click.option("--pane", metavar="%N", help="A tmux pane. Left out: the one this runs in.")
@click.option("--tmux-socket", metavar="PATH", help="Its server's socket. Left out: the one of $TMUX.")
@click.option(
    "--bracketed", is_flag=True, help="Its application takes bracketed pastes (claude and codex do)."
)
@click.option("--promptless", is_flag=True, help="Its application shows no prompt mark.")
@click.option("--allow-shell", is_flag=True, help="Write even where a shell would run what is written.")
@click.option(
    "--file", "file", type=click.Path(path_type=Path), help="A file to append to, instead of a pane."
)
@click.option(
    "--command",
    "words",
    multiple=True,
    metavar="WORD",
    help="One word of a command to run instead; {text} and {id} are replaced. Repeat it for each word.",
)
@click.option("--owner", type=int, metavar="PID", help="The process that the endpoint lives with.")
@common.prints
@common.takes_socket
def attach(client: Client, say: Any, **options: Any) -> None:
    """Register a tmux pane, a file or a command as an endpoint.

    \b
    Example:
      tessera wake attach --repo api --harness claude
      tessera wake attach --repo api --command codex --command queue --command --thread=ID
    """
    from tessera.wake.processes import started

    kind, target, name = _target(options)
    owner = None
    if options["owner"] is not None:
        start = started(options["owner"])
        if start is None:
            raise click.UsageError(f"there is no process {options['owner']}")
        owner = {"pid": options["owner"], "start": start}
    answer = client.call("register", **asked(options, name), kind=kind, target=target, owner=owner)
    say(answer, answer["endpoint_id"])


def _target(options: dict[str, Any]) -> tuple[str, dict[str, Any], str]:
    if options["file"] is not None:
        path = Path(options["file"]).absolute()
        return "file", {"path": str(path)}, str(path)
    if options["words"]:
        return "hook", {"command": list(options["words"])}, f"command {options['words'][0]} {os.getpid()}"
    return _pane(options)


def _pane(options: dict[str, Any]) -> tuple[str, dict[str, Any], str]:
    import subprocess

    import msgspec

    from tessera.wake.endpoints import tmux

    socket = options["tmux_socket"] or os.environ.get("TMUX", "").split(",")[0]
    pane = options["pane"] or os.environ.get("TMUX_PANE")
    if not socket or not pane:
        raise click.UsageError("this is no tmux pane: name one with --pane and --tmux-socket")
    flags = {name: options[name] for name in ("bracketed", "promptless", "allow_shell")}
    try:
        target = tmux.target_of(socket, pane, **flags)
    except (tmux.Gone, OSError, subprocess.TimeoutExpired) as error:
        raise click.ClickException(f"pane {pane} does not answer: {error}") from error
    return "tmux", msgspec.structs.asdict(target), f"tmux {target.server_pid} {target.pane}"


@click.command()
@click.argument("endpoint_id", metavar="ENDPOINT")
@click.option("--reason", metavar="TEXT", help="Why, for the log.")
@common.prints
@common.takes_socket
def detach(client: Client, say: Any, endpoint_id: str, reason: str | None) -> None:
    """End an endpoint; its wakes stay, and go to the endpoint that a repeated send names.

    \b
    Example:
      tessera wake detach e_0123456789abcdef
    """
    answer = client.call("detach", endpoint_id=endpoint_id, reason=reason)
    say(answer, f"{answer['state']}, {answer['pending']} waiting")


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@policy
@click.option("--plain", is_flag=True, help="Type into programs that read plain lines, as one line.")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
@common.takes_socket
def run(client: Client, command: tuple[str, ...], plain: bool, **options: Any) -> None:
    """Run an agent in a terminal that takes wakes. The exit code is the command's own.

    \b
    Example:
      tessera wake run --repo api --harness claude -- claude
    """
    from tessera.runtime import real_runtime
    from tessera.wake.wrapper import run as run_command

    fields = asked(options, f"run {os.getpid()}")
    _warn_of_unknown(fields["repos"])
    raise click.exceptions.Exit(run_command(command, client, fields, real_runtime(), plain=plain))
