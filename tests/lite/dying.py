"""A day of lite claims, told to a process that may die at any point of it.

python dying.py STORE ANSWERS
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import msgspec

import tessera
from lite.workshop import Steps, furnish, next_of, one_of, put
from tessera.library import Tessera
from tessera.runtime import real_runtime
from tessera.testing import World
from tessera.values import with_values

LEASE = 3_600
LATER = 61
Say = Callable[[str, Any], None]


def day(store: Tessera, world: World, say: Say) -> None:
    """Everything that the room's verbs do, each step such that it may be taken again: a win, a lost contest,
    a claim that is left before its message and one that is left before its settle, and their recovery.
    """
    furnish(store)
    first, second, third = (put(store, task_id=f"task_{n}", priority=-n) for n in range(3))
    slow = Steps(store, next_of("agt_ann", key="slow", lease_seconds=LEASE))
    if not slow.over:
        slow.take()
    say("direct", Steps(store, one_of(first, key="direct", lease_seconds=LEASE)).finish())
    say("slow", slow.finish())
    left = Steps(store, next_of("agt_bob", key="left", lease_seconds=LEASE))
    left.take()
    if not left.over:
        left.die()
    world.pass_seconds(LATER)
    store.recover_claims()
    late = Steps(store, next_of("agt_bob", key="late", lease_seconds=LEASE))
    for _ in range(2):
        if not late.over:
            late.take()
    if not late.over:
        late.die()
    world.pass_seconds(LATER)
    store.recover_claims()
    say("late", store.claim_next("drafts", "agt_bob", "late", lease_seconds=LEASE))
    say("none", store.claim_next("drafts", "agt_bob", "none", lease_seconds=LEASE))
    assert second != third


def main(path: str, answers: str) -> None:
    """Tell the day; each answer is on disk before the next step."""
    world = World()
    runtime = replace(world.runtime(), reach=real_runtime().reach, new_id=real_runtime().new_id)
    with open(answers, "a", encoding="utf-8") as file, tessera.open(path, runtime=runtime) as store:

        def say(name: str, answer: Any) -> None:
            file.write(json.dumps([name, msgspec.to_builtins(with_values(answer))]) + "\n")
            file.flush()

        day(store, world, say)


if __name__ == "__main__":
    main(*sys.argv[1:3])
