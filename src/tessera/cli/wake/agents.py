"""What stands between the service and the agents' own ways: hooks, and a tool over MCP."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tessera.cli.mcp import MISSING
from tessera.cli.wake import common

if TYPE_CHECKING:
    from tessera.wake.client import Client

HOOK_SECONDS = 2.0
STDIN_BYTES_MAX = 4 << 20
for_harness = click.argument("harness", type=click.Choice(["claude", "codex"]))


@click.command()
@for_harness
@common.takes_socket
def hook(client: Client, harness: str) -> None:
    """Take in what an agent's hook tells, on stdin. Never fails and never prints: an agent's turn does
    not depend on it.

    \b
    Example:
      echo '{"hook_event_name": "Stop", "session_id": "s"}' | tessera wake hook claude
    """
    import contextlib
    import json

    from tessera.runtime import real_runtime
    from tessera.wake.client import Client as QuickClient
    from tessera.wake.errors import WakeError
    from tessera.wake.hooks import tell

    with contextlib.suppress(ValueError, OSError, WakeError, RecursionError):
        payload = json.loads(sys.stdin.buffer.read(STDIN_BYTES_MAX))
        if isinstance(payload, dict):
            quick = QuickClient(client.path, seconds=HOOK_SECONDS)
            tell(harness, payload, quick, os.environ, real_runtime())


@click.command(name="install-hooks")
@for_harness
@click.option("--remove", is_flag=True, help="Take our hooks out again.")
@click.option(
    "--settings",
    "path",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The agent's settings. Left out: the user's own.",
)
@click.option("--yes", is_flag=True, help="Do not ask.")
@common.prints
@common.takes_socket
def install_hooks(client: Client, say: Any, harness: str, remove: bool, path: Path | None, yes: bool) -> None:
    """Put the hooks into an agent's settings, or take them out. Shows what it would change and asks first.

    \b
    Example:
      tessera wake install-hooks claude
      tessera wake install-hooks claude --remove
    """
    from tessera import agent_files
    from tessera.cli.agent_files import change
    from tessera.wake import install

    path = path or install.settings_path(harness, Path.home())
    before = agent_files.json_object(path)
    after = install.removed(before) if remove else install.installed(before, harness)
    trust = "\nCodex asks once whether to trust them." if harness == "codex" and not remove else ""
    change(path, agent_files.with_json(path, after), yes=yes, say=say, note=trust)


@click.command()
@common.takes_socket
def mcp(client: Client) -> None:
    """Serve the acknowledging tool to an agent over stdio. Needs the extra `mcp`.

    \b
    Example:
      claude mcp add tessera-wake -- tessera wake mcp
    """
    try:
        from tessera.wake.tool import server
    except ImportError as error:
        raise click.ClickException(MISSING) from error
    server(client).run("stdio")
