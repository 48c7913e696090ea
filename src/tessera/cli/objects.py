"""`tessera buckets` and `tessera objects`: bytes under a key, every version kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, BinaryIO

import click

from tessera.cli import files, options

if TYPE_CHECKING:
    from tessera.library import Tessera

bucket = click.argument("bucket")
key = click.argument("key")
version = click.option("--version", type=int, metavar="N", help="An earlier version. Left out: the latest.")


@click.group()
def buckets() -> None:
    """Make, describe and list buckets.

    \b
    Example:
      tessera buckets list
    """


@buckets.command()
@click.argument("name")
@click.option("--description", metavar="TEXT", help="What is in it. Left out: it stays.")
@options.prints
@options.makes_store
def define(store: Tessera, say: Any, name: str, description: str | None) -> None:
    """Make a bucket, or give one that exists another description.

    \b
    Example:
      tessera buckets define drafts --description "Texts before review"
    """
    say(store.define_bucket(name, description))


@buckets.command("list")
@options.paged("bucket", "NAME")
@options.prints
@options.takes_store
def list_buckets(store: Tessera, say: Any, **page: Any) -> None:
    """List a page of the buckets by name, with what they hold.

    Bytes are those of the objects' latest versions.

    \b
    Example:
      tessera buckets list
    """
    say(store.buckets_page(**page))


@click.group()
def objects() -> None:
    """Keep files under a key of a bucket, every version of them.

    \b
    Example:
      tessera buckets define drafts
      tessera objects put drafts plan.md plan.md
    """


@objects.command()
@bucket
@key
@files.source
@click.option("--expected-version", type=int, metavar="N",
              help="The version that this one follows. Left out: the key must not exist.")  # fmt: skip
@click.option(
    "--content-type", metavar="TYPE", help="What the bytes are. Left out: application/octet-stream."
)
@options.prints
@options.makes_store
def put(store: Tessera, say: Any, bucket: str, key: str, file: BinaryIO, **about: Any) -> None:
    """Store a file as the next version of an object. FILE may be - for standard input.

    The bucket must exist. KEY begins with a letter or digit and has up to 256 of those and . _ : - (no /).

    \b
    Example:
      tessera buckets define drafts
      tessera objects put drafts plan.md plan.md
      tessera objects put drafts plan.md plan.md --expected-version 1 --content-type text/markdown
    """
    with files.counted(file, "storing") as source:
        stored = store.put_object(bucket, key, source, **options.given(**about))
    say(stored)


@objects.command()
@bucket
@key
@version
@files.part
@files.target
@options.prints
@options.takes_store
def get(
    store: Tessera, say: Any, bucket: str, key: str, version: int | None, part: Any, target: str
) -> None:  # fmt: skip
    """Write an object's bytes to a file or standard output, verified.

    All of them are verified first, also when some of them are asked for.

    \b
    Example:
      tessera objects get drafts plan.md --output plan.md
      tessera objects get drafts plan.md --version 1 --range -200
    """
    files.refuse_mixing(target)
    start, stop = part or (None, None)
    files.write(store.object_content(bucket, key, version, start=start, stop=stop), target, say)


@objects.command()
@bucket
@key
@version
@options.prints
@options.takes_store
def show(store: Tessera, say: Any, bucket: str, key: str, version: int | None) -> None:
    """Show what a version of an object is: hash, size, type, time.

    \b
    Example:
      tessera objects show drafts plan.md
    """
    say(store.object_meta(bucket, key, version))


@objects.command("list")
@bucket
@click.option("--prefix", default="", help="Only keys that begin so, taken literally.")
@options.paged("key", "KEY")
@options.prints
@options.takes_store
def list_objects(
    store: Tessera, say: Any, bucket: str, prefix: str, limit: int, after: str | None
) -> None:  # fmt: skip
    """List a page of a bucket's objects by key, latest versions.

    \b
    Example:
      tessera objects list drafts --prefix plan
    """
    say(store.list_objects(bucket, prefix, limit=limit, after=after))


@objects.command()
@bucket
@key
@options.paged("version", "N")
@options.prints
@options.takes_store
def history(store: Tessera, say: Any, bucket: str, key: str, limit: int, after: int) -> None:
    """List a page of an object's versions, oldest first.

    \b
    Example:
      tessera objects history drafts plan.md
    """
    say(store.object_history(bucket, key, limit=limit, after=after))
