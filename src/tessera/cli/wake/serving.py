"""The service itself, and a look at what it needs."""

from __future__ import annotations

import sys
from typing import Any

import click

from tessera.cli.wake import common


@click.command()
def serve() -> None:
    """Run the service: take wakes in, write them, follow them up. Ends on SIGTERM; exit code 3 says that
    its socket was removed or replaced, so that a supervisor starts it again.

    \b
    Example:
      tessera wake serve
    """
    import logging

    from tessera.runtime import real_runtime
    from tessera.wake import folders, gita
    from tessera.wake.daemon import serve as serve_until_stopped

    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s", stream=sys.stderr)
    code = serve_until_stopped(
        folders.run_folder(), folders.state_folder(), gita.registry_path(), real_runtime(),
        lambda path: click.echo(f"listening on {path}"),
    )  # fmt: skip
    raise click.exceptions.Exit(code)


@click.command()
@common.prints
@common.takes_socket
def doctor(client: Any, say: Any) -> None:
    """Look for what would keep wakes from arriving: the service, gita's registry, tmux, agents,
    endpoints. Exits 1 when something needs a hand.

    \b
    Example:
      tessera wake doctor
    """
    from tessera.wake.doctor import examine

    findings = examine(client)
    say(
        {"findings": [{"topic": one.topic, "ok": one.ok, "says": one.says} for one in findings]},
        lambda: "\n".join(f"{'ok ' if one.ok else 'LOOK'} {one.topic}: {one.says}" for one in findings),
    )
    if not all(one.ok for one in findings):
        raise click.exceptions.Exit(1)
