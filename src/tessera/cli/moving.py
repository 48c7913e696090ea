"""Moving a store from one engine to another."""

from __future__ import annotations

import logging
from typing import Any

import click

from tessera.cli import options
from tessera.cli.upkeep import progress


@click.command("migrate-store")
@click.argument("source", metavar="FROM")
@click.argument("target", metavar="TO")
@click.option("--unsound", is_flag=True, help="Move the store even if something in it is wrong.")
@options.prints
def migrate_store(say: Any, source: str, target: str, unsound: bool) -> None:
    """Move the whole store between SQLite and PostgreSQL.

    FROM and TO are paths or postgresql:// URLs. Stop every node and every program that has FROM open first:
    it is refused while it is in use, and so is a TO that holds a store. Every task, result, key, document
    and line of the log goes over, with its numbers. When it is cut off, run it again: it goes on where it
    stopped. At the end both are compared row by row and TO is verified; FROM is left as it is. A database's
    password belongs in PGPASSWORD or ~/.pgpass.

    \b
    Example:
      tessera migrate-store ./tessera.db postgresql://tessera@db.example.com/tessera
    """
    import tessera

    # What psycopg has to say of a connection that was cut off is no more than the refusal says.
    logging.getLogger("psycopg").addHandler(logging.NullHandler())
    try:
        with progress() as tell:
            moved = tessera.migrate_store(source, target, unsound=unsound, tell=tell)
    except KeyboardInterrupt:
        click.echo("cut off: run the same command again, and it goes on where it stopped", err=True)
        raise click.exceptions.Exit(1) from None
    say(moved)
