"""`tessera nouns`: records and objects found by their words, looked at, and read in parts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from tessera.cli import options

if TYPE_CHECKING:
    from tessera.library import Tessera

ref = click.argument("ref")
home = click.option(
    "--home", type=click.Choice(["store", "bucket"]),
    help="Which is meant, where a store and a bucket have the same name. Left out: the bucket first.",
)  # fmt: skip


@click.group()
def nouns() -> None:
    """Find records and objects by their words, look at them, read parts of them.

    \b
    Example:
      tessera nouns search "rotate signing keys"
      tessera nouns show nouns/runbook.md
      tessera nouns read nouns/runbook.md --first 2000 --length 1000
    """


@nouns.command()
@click.argument("query")
@click.option("--among", metavar="STORE", help="Only records of this store.")
@click.option("--bucket", metavar="BUCKET", help="Only objects of this bucket; with --among also these.")
@click.option("--limit", type=int, default=10, show_default=True, help="How many, at most 100.")
@options.prints
@options.takes_store
def search(
    store: Tessera, say: Any, query: str, among: str | None, bucket: str | None, limit: int
) -> None:  # fmt: skip
    """List what has the words of a query, the best first.

    Each is told in at most 150 tokens. Every text is a query, in every language; nothing in it is an
    operator. One that begins with a dash comes after `--`.

    \b
    Example:
      tessera nouns search "rotate signing keys" --bucket nouns
      tessera nouns search -- --lease-seconds
    """
    from tessera import models

    say(models.Nouns(store.search_nouns(query, among, bucket, limit=limit)))


@nouns.command()
@ref
@home
@options.prints
@options.takes_store
def show(store: Tessera, say: Any, ref: str, home: str | None) -> None:
    """Show what is known of a noun, and its last versions. REF is STORE/KEY or BUCKET/KEY, as search tells.

    \b
    Example:
      tessera nouns show nouns/runbook.md
    """
    say(store.noun(ref, home=home))


@nouns.command()
@ref
@click.option("--first", type=int, default=0, metavar="N", help="The first byte, counted from 0.")
@click.option("--length", type=int, default=4096, show_default=True, help="How many bytes, at most 65536.")
@click.option("--version", type=int, metavar="N", help="An earlier version. Left out: the latest.")
@home
@options.prints
@options.takes_store
def read(store: Tessera, say: Any, ref: str, first: int, length: int, **which: Any) -> None:
    """Print some of a noun's text. REF is STORE/KEY or BUCKET/KEY, as search tells.

    \b
    Example:
      tessera nouns read nouns/runbook.md --first 2000 --length 1000
    """
    say(store.read_noun(ref, first, length, **which))
