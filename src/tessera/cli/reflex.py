"""`tessera reflex`: steps that were learned, and what is known of something like it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from tessera.cli import options
from tessera.names import REFLEXES

if TYPE_CHECKING:
    from tessera.library import Tessera


@click.group()
def reflex() -> None:
    """Learn a step for something, and recall it later.

    \b
    Example:
      tessera reflex learn rotate-keys "rotate the signing keys" '{"run": "make rotate"}'
      tessera reflex match "how do I rotate keys"
    """


@reflex.command()
@click.argument("key")
@click.argument("trigger")
@click.argument("step", type=options.Document())
@click.option("--expected-version", type=int, metavar="N",
              help="The version that this one follows. Left out: the key must not exist.")  # fmt: skip
@options.prints
@options.makes_store
def learn(
    store: Tessera, say: Any, key: str, trigger: str, step: Any, expected_version: int | None
) -> None:  # fmt: skip
    """Keep what to do when something comes up again. STEP is JSON, @FILE or - for standard input.

    \b
    Example:
      tessera reflex learn rotate-keys "rotate the signing keys" '{"run": "make rotate"}'
    """
    from tessera.errors import InvalidRequest
    from tessera.rules.words import phrases

    if not phrases(trigger):
        raise InvalidRequest("TRIGGER: no word is in it, so nothing could recall it")
    say(store.put_record(REFLEXES, key, {"trigger": trigger, "step": step}, expected_version))


@reflex.command()
@click.argument("query")
@click.option("--limit", type=int, default=10, show_default=True, help="How many of each, at most 100.")
@options.prints
@options.takes_store
def match(store: Tessera, say: Any, query: str, limit: int) -> None:
    """Recall steps learned for something like it, and dead ends.

    A dead end is a task like it that was given up.

    \b
    Example:
      tessera reflex match "rotate keys"
    """
    say(store.match_reflex(query, limit=limit))
