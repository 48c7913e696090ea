"""Looking after a store's file: verify, backup, restore, doctor."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from tessera.cli import options

if TYPE_CHECKING:
    from tessera.library import Tessera

Tell = Callable[[str, int, int], None]


@contextmanager
def progress() -> Iterator[Tell]:
    """A bar on standard error while something runs, if that is a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

    columns = TextColumn("{task.description}"), BarColumn(), TaskProgressColumn()
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        bar = progress.add_task("", total=None)
        yield lambda what, done, of: progress.update(bar, description=what, completed=done, total=of)


@contextmanager
def _existing(url: str) -> Iterator[Tessera]:
    """The store, opened only if it is there."""
    import tessera
    from tessera.app import existing

    existing(url)
    with tessera.open(url) as store:
        yield store


@click.command()
@options.prints
@options.takes_url
def verify(url: str, say: Any) -> None:
    """Compute again what the store claims about itself.

    Receipts, hashes, record chains, counts, leases, waits, the log and the file itself, all of one instant,
    while others work. Exits 1 when something is wrong, and names the first of it.

    \b
    Example:
      tessera verify --json
    """
    with _existing(url) as store, progress() as tell:
        verified = store.verify(tell=tell)
    say(verified)
    if not verified.ok:
        raise click.exceptions.Exit(1)


@click.command()
@click.argument("file")
@click.option("--force", is_flag=True, help="Replace the file if it exists.")
@click.option("--unsound", is_flag=True, help="Keep the copy even if something in it is wrong.")
@options.prints
@options.takes_url
def backup(url: str, say: Any, file: str, force: bool, unsound: bool) -> None:
    """Copy the store to a file, as of one instant, while others work.

    The copy is verified before it gets its name: FILE is whole, or is what it was before.

    \b
    Example:
      tessera backup nightly.db
    """
    with _existing(url) as store, progress() as tell:
        made = store.backup(file, force=force, unsound=unsound, tell=tell)
    say(made)


@click.command()
@click.argument("file")
@click.option("--force", is_flag=True, help="Replace the store if it exists. One in use is never replaced.")
@click.option("--unsound", is_flag=True, help="Take the backup even if something in it is wrong.")
@options.prints
@options.takes_url
def restore(url: str, say: Any, file: str, force: bool, unsound: bool) -> None:
    """Make the store of a backup.

    Its leases end, and every fencing token and event number jumps above all that were handed out since the
    backup, so that whoever still works with those is refused.

    \b
    Example:
      tessera restore nightly.db --store ./tessera.db
    """
    import tessera

    with progress() as tell:
        restored = tessera.restore(file, url, force=force, unsound=unsound, tell=tell)
    say(restored)


@click.command("new-epoch")
@click.option("--yes", is_flag=True, help="Do not ask, as nobody does where there is no terminal.")
@options.prints
@options.takes_url
def new_epoch(url: str, say: Any, yes: bool) -> None:
    """Let nothing count that was handed out before.

    For a store that something else than `tessera restore` has brought back: pg_restore, a server taken back
    to an earlier instant, a disk's snapshot. Its leases end, and every fencing token and number jumps above
    all that were handed out since. Stop whatever works with the store first.

    \b
    Example:
      tessera new-epoch --store postgresql://tessera@db.example.com/tessera
    """
    import tessera
    from tessera.app import existing

    existing(url)
    if not yes and sys.stdin.isatty():
        click.confirm("End the store's leases, and refuse every token so far?", abort=True, err=True)
    say(tessera.new_epoch(url))


@click.command()
@options.prints
@options.takes_url
def doctor(url: str, say: Any) -> None:
    """Say what is wrong with the store, in plain words.

    Looks at its file, disk, locks, pages and clock, and at what is late in it, and changes nothing. Exits 1
    when something needs you to act.

    \b
    Example:
      tessera doctor
    """
    import tessera

    diagnosis = tessera.doctor(url)
    say(diagnosis)
    if not diagnosis.ok:
        raise click.exceptions.Exit(1)
