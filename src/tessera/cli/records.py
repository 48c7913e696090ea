"""`tessera records`: documents under a key, changed by compare-and-set, every version kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from tessera.cli import options

if TYPE_CHECKING:
    from tessera.library import Tessera

store_name = click.argument("name", metavar="STORE")
key = click.argument("key")


@click.group()
def records() -> None:
    """Keep JSON documents under a key of a store, every version of them.

    \b
    Example:
      tessera records put facts capital '{"of": "France", "is": "Paris"}'
      tessera records get facts capital
    """


@records.command()
@store_name
@key
@click.argument("value", type=options.Document())
@click.option("--expected-version", type=int, metavar="N",
              help="The version that this one follows. Left out: the key must not exist.")  # fmt: skip
@options.prints
@options.makes_store
def put(store: Tessera, say: Any, name: str, key: str, value: Any, expected_version: int | None) -> None:
    """Write a record's next version. VALUE is JSON, @FILE or - for standard input.

    \b
    Example:
      tessera records put facts capital '{"is": "Paris"}'
      tessera records put facts capital @capital.json --expected-version 1
    """
    from tessera import models

    written = store.put_record(name, key, value, expected_version)
    say(models.Written([written]), wire=written)


@records.command("put-batch")
@click.argument("writes", type=options.Documents(), metavar="FILE")
@options.prints
@options.makes_store
def put_batch(store: Tessera, say: Any, writes: list[Any]) -> None:
    """Write up to 100 records, all or none, across stores. FILE (or -) holds {"store", "key", "value",
    "expected_version"}, one a line or in one array.

    \b
    Example:
      tessera records put-batch writes.jsonl
    """
    from tessera import models

    say(models.Written(store.put_records(writes)))


@records.command()
@store_name
@key
@click.option("--version", type=int, metavar="N", help="An earlier version. Left out: the latest.")
@options.prints
@options.takes_store
def get(store: Tessera, say: Any, name: str, key: str, version: int | None) -> None:
    """Print a record's value; with --json the whole version.

    \b
    Example:
      tessera records get facts capital
      tessera records get facts capital --version 1 --json
    """
    say(store.get_record(name, key, version))


@records.command()
@store_name
@key
@options.paged("version", "N")
@options.prints
@options.takes_store
def history(store: Tessera, say: Any, name: str, key: str, limit: int, after: int) -> None:
    """List a page of a record's versions, oldest first.

    \b
    Example:
      tessera records history facts capital
    """
    say(store.record_history(name, key, limit=limit, after=after))


@records.command("list")
@store_name
@click.option("--prefix", default="", help="Only keys that begin so, taken literally.")
@options.paged("key", "KEY")
@options.prints
@options.takes_store
def list_records(store: Tessera, say: Any, name: str, prefix: str, limit: int, after: str | None) -> None:
    """List a page of a store's records by key, latest versions.

    \b
    Example:
      tessera records list facts --prefix cap
    """
    say(store.list_records(name, prefix, limit, after=after))


@records.command()
@options.paged("store", "NAME")
@options.prints
@options.takes_store
def stores(store: Tessera, say: Any, **page: Any) -> None:
    """List a page of the stores that hold a record, by name.

    \b
    Example:
      tessera records stores
    """
    say(store.stores_page(**page))
