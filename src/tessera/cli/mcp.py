"""`tessera mcp`: the tools of a worker for an agent that speaks MCP."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import click

from tessera.cli import options
from tessera.cli.wake import common
from tessera.names import HOW_TO_GET_MCP

MISSING: Final = f"install the extra first: {HOW_TO_GET_MCP}"
SETS: Final = click.Choice(["core", "all"])

key_file = click.option(
    "--key-file", envvar="TESSERA_KEY_FILE", metavar="FILE", type=click.Path(exists=True, dir_okay=False),
    help="Act under the key that this file holds.  [default: the key in TESSERA_KEY]",
)  # fmt: skip


@click.group()
def mcp() -> None:
    """Give an agent the tools of a worker, over MCP.

    \b
    Example:
      tessera mcp install claude --store http://127.0.0.1:8787
    """


@mcp.command()
@click.argument("client", type=click.Choice(["claude", "codex"]))
@click.option("--name", default="tessera", metavar="NAME", show_default=True,
              help="What the client calls the server.")  # fmt: skip
@click.option("--settings", "path", type=click.Path(path_type=Path), metavar="FILE",
              help="The client's file. Left out: ./.mcp.json, or ~/.codex/config.toml.")  # fmt: skip
@click.option("--remove", is_flag=True, help="Take the entry out again.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@common.prints
@key_file
@options.takes_url
def install(
    url: str, key_file: str | None, say: Any, client: str, name: str, path: Path | None, **how: bool
) -> None:
    """Put the tools into a client's configuration, or take them out. Shows what it would change and asks
    first. No key is written: the client takes it from TESSERA_KEY, or from the file of --key-file.

    \b
    Example:
      tessera mcp install claude --store http://127.0.0.1:8787
      tessera mcp install codex --remove
    """
    import os
    from importlib.util import find_spec

    from tessera.cli import mcp_files
    from tessera.cli.agent_files import change

    path = path or mcp_files.default_path(client, Path.home(), os.environ)
    entry = None if how["remove"] else mcp_files.entry(client, url, key_file)
    if entry is not None and "command" in entry and find_spec("mcp") is None:
        click.echo(f"warning: what is entered, `tessera mcp stdio`, does not start: {MISSING}", err=True)
    change(path, mcp_files.text_with(client, path, name, entry), yes=how["yes"], say=say)


@mcp.command()
@click.option("--tools", type=SETS, default="core", envvar="TESSERA_MCP_TOOLS", show_envvar=True,
              show_default=True, help="A worker's seven, or more for whoever hands out work.")  # fmt: skip
@key_file
@options.takes_url
def stdio(url: str, key_file: str | None, tools: str) -> None:
    """Serve the tools over stdin and stdout, as a client starts it.

    Works on a store's file, and as a bridge to a service. Needs the extra `mcp`.

    \b
    Example:
      claude mcp add tessera -- tessera mcp stdio --store http://127.0.0.1:8787
    """
    try:
        from tessera.cli import mcp_stdio
    except ImportError as error:
        raise click.ClickException(MISSING) from error
    mcp_stdio.serve(url, key_file and Path(key_file).read_text(encoding="utf-8").strip(), tools == "all")
