"""What can happen to the processes of a store: each a function that does it and lets the town go on."""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Callable

from chaos.town import PATIENCE_SECONDS, Town

AFTER = 10  # submits answered between two blows, and while somebody is away
# How long a node stands still at most: in the short form not until all who asked it have given up.
FREEZE_SECONDS = PATIENCE_SECONDS if os.environ.get("TESSERA_LONG") == "1" else 6
# Nobody's connection but the one that asks.
BACKENDS = """select count(pg_terminate_backend(pid)) from pg_stat_activity
              where backend_type = 'client backend' and pid <> pg_backend_pid()"""

Blow = Callable[[Town, random.Random], None]


def kill_worker(town: Town, chance: random.Random) -> None:
    """A worker dies in whatever it was at; another one is hired."""
    town.fire(chance.choice(town.workers))
    town.hire()


def freeze_worker(town: Town, chance: random.Random) -> None:
    """A worker stands still while others may be given what it holds, then writes with its old token."""
    worker = chance.choice(town.workers)
    worker.signal(signal.SIGSTOP)
    town.progress(3 * AFTER)
    worker.signal(signal.SIGCONT)


def kill_node(town: Town, chance: random.Random) -> None:
    """A node dies; the others do its part until it is back."""
    node = chance.choice(town.nodes)
    node.kill()
    if len(town.nodes) > 1:
        town.progress(AFTER)
    node.start()


def freeze_node(town: Town, chance: random.Random) -> None:
    """A node stands still with whatever it has locked; the others go on without it."""
    node = chance.choice(town.nodes)
    node.signal(signal.SIGSTOP)
    if len(town.nodes) > 1:
        town.progress(AFTER, FREEZE_SECONDS)
    node.signal(signal.SIGCONT)


def end_backends(town: Town, chance: random.Random) -> None:
    """Every connection to the database is ended under its node."""
    assert town.cluster is not None
    ((ended,),) = town.cluster.ask(BACKENDS)
    assert ended > 0


def restart_database(town: Town, chance: random.Random) -> None:
    """The database ends: in order, at once, or as if the machine had died. It starts again."""
    assert town.cluster is not None
    how = chance.choice((signal.SIGINT, signal.SIGQUIT, None))
    if how is None:
        town.cluster.kill()
    else:
        town.cluster.end(how)
    town.cluster.start()


ON_ONE_FILE: tuple[Blow, ...] = (kill_worker, kill_node, freeze_worker, freeze_node)
ON_A_DATABASE: tuple[Blow, ...] = (*ON_ONE_FILE, end_backends, restart_database)


def blow(town: Town, blows: tuple[Blow, ...], rounds: int, seed: int) -> None:
    """Every kind of blow once a round, in an order that the seed gives, with work done in between."""
    chance = random.Random(seed)
    town.progress(AFTER)
    for _ in range(rounds):
        for act in chance.sample(blows, len(blows)):
            act(town, chance)
            town.progress(AFTER)
