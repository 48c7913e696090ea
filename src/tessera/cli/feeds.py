"""`tessera feeds`: documents published to a feed, and followed by its cursor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from tessera.cli import options
from tessera.limits import FEED_PAGE_MAX, WAIT_SECONDS_MAX

if TYPE_CHECKING:
    from tessera.library import Tessera

feed = click.argument("feed")


@click.group()
def feeds() -> None:
    """Publish documents to feeds, and follow them.

    \b
    Example:
      tessera feeds publish findings '{"file": "a.py", "line": 3}'
      tessera feeds poll findings --follow
    """


@feeds.command("list")
@options.paged("feed", "NAME")
@options.prints
@options.takes_store
def list_feeds(store: Tessera, say: Any, **page: Any) -> None:
    """List a page of the feeds by name, with their last cursors.

    \b
    Example:
      tessera feeds list
    """
    say(store.feeds_page(**page))


@feeds.command()
@feed
@click.argument("payload", type=options.Document())
@options.prints
@options.makes_store
def publish(store: Tessera, say: Any, feed: str, payload: Any) -> None:
    """Append a document to a feed; the first one makes the feed. PAYLOAD is JSON, @FILE or - for standard
    input.

    \b
    Example:
      tessera feeds publish findings '{"file": "a.py", "line": 3}'
    """
    say(store.publish_feed(feed, payload))


@feeds.command()
@feed
@options.paged("cursor", "N", FEED_PAGE_MAX)
@click.option(
    "--wait", type=float, default=0.0, metavar="S", help="Wait so many seconds for the first, at most 30."
)
@click.option("--follow", is_flag=True, help="Go on with what is published, until Ctrl-C.")
@options.prints
@options.takes_store
def poll(
    store: Tessera, say: Any, feed: str, after: int, limit: int, wait: float, follow: bool
) -> None:  # fmt: skip
    """Read the items of a feed after a cursor, or follow it.

    Prints a page of them, or with --follow one line an item without end.

    \b
    Example:
      tessera feeds poll findings --after 17 --wait 10
      tessera feeds poll findings --follow --json
    """
    if not follow:
        say(store.poll_feed(feed, after, limit=limit, wait_seconds=wait))
        return
    try:
        while True:
            page = store.poll_feed(feed, after, limit=limit, wait_seconds=WAIT_SECONDS_MAX)
            for item in page.items:
                say(item)
            after = page.next
    except KeyboardInterrupt:
        return
