"""Looking at the store as a whole: counts, health, the log, and the reaper."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import click

from tessera.cli import options
from tessera.limits import EVENTS_PAGE_MAX

if TYPE_CHECKING:
    from tessera import models
    from tessera.library import Tessera

LOOK_SECONDS: Final = 0.2  # between two looks of `events --follow`


@click.command()
@click.option("--recount", is_flag=True, help="Count the tasks themselves too; exit 1 when the two disagree.")
@options.prints
@options.takes_store
def counts(store: Tessera, say: Any, recount: bool) -> None:
    """Show how many tasks are in each state.

    \b
    Example:
      tessera counts --recount
    """
    answer = store.counts(recount)
    say(answer)
    if recount and answer.agree is not True:
        raise click.exceptions.Exit(1)


@click.command()
@options.prints
@options.takes_store
def health(store: Tessera, say: Any) -> None:
    """Show whether the store answers, and what is late in it. Exits 1 when the database is not well.

    \b
    Example:
      tessera health --json
    """
    answer = store.health()
    say(answer)
    if not answer.db_ok:
        raise click.exceptions.Exit(1)


@click.command()
@options.paged("seq", "N", EVENTS_PAGE_MAX)
@click.option("--follow", is_flag=True, help="Go on with what happens, until Ctrl-C.")
@options.prints
@options.takes_store
def events(store: Tessera, say: Any, after: int, limit: int, follow: bool) -> None:
    """Read the log, or follow it: a page of it, or one line an event without end.

    \b
    Example:
      tessera events --after 1200 --follow --json
    """
    from tessera import models

    if not follow:
        say(models.Events(store.events(after, limit)))
        return
    try:
        _follow(store, say, after, limit)
    except KeyboardInterrupt:
        return


def _follow(store: Tessera, say: Any, after: int, limit: int) -> None:
    from tessera.cli.waiting import ask_until

    last = after

    def page() -> list[models.Event]:
        nonlocal last
        lines = store.events(last, limit)
        for line in lines:
            say(line)
            last = line.seq
        return lines

    ask_until(page, lambda lines: 0 if lines else LOOK_SECONDS, within=None)


@click.command()
@options.prints
@options.takes_store
def reap(store: Tessera, say: Any) -> None:
    """Settle everything that has fallen due: lapsed leases, retries, parks whose time is up.

    \b
    Example:
      tessera reap
    """
    from tessera import models

    say(models.Reaped(store.reap()))
