"""The bridge from a store's log to wakes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from tessera.cli import options
from tessera.cli.wake import common

if TYPE_CHECKING:
    from tessera.library import Tessera
    from tessera.wake.client import Client

LOOK_SECONDS: Final = 1.0


@click.command()
@click.option(
    "--rules",
    "rules_path",
    type=click.Path(path_type=Path),
    required=True,
    metavar="FILE",
    help="The rules, a TOML file.",
)
@click.option("--from-start", is_flag=True, help="A store that was never followed: from its first event.")
@click.option("--once", is_flag=True, help="Send what is new and end.")
@common.takes_socket
@options.takes_store
def bridge(store: Tessera, client: Client, rules_path: Path, from_start: bool, once: bool) -> None:
    """Wake agents for what happens in a store, by rules. Each event wakes once for each rule that fits
    it, however often this is started. The store has to be there already.

    \b
    Example:
      tessera wake bridge --store work.db --rules wakes.toml
    """
    from tessera.cli.waiting import ask_until
    from tessera.errors import NotFound
    from tessera.wake import folders
    from tessera.wake.bridge import Bridge, load_rules

    def kind_of(task_id: str) -> str | None:
        try:
            return store.task(task_id).kind
        except NotFound:
            return None

    def read(after: int, limit: int) -> list[Any]:
        return store.events(after, limit)

    folder = folders.state_folder()
    folders.make_private(folder)
    made = Bridge(client, load_rules(rules_path), read, kind_of, folder)
    made.begin(at_start=from_start)
    if once:
        while made.step():
            pass
        return
    try:
        ask_until(made.step, lambda read: 0.0 if read else LOOK_SECONDS, within=None)
    except KeyboardInterrupt:
        return
