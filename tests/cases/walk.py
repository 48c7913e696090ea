"""A walk through the verbs by chance, deaths included, and what must hold after every step of it."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
from cases.mortal import Mortal
from cases.races import attempt
from verbs.bench import Bench

# Each row is a question that must have no answer.
MUST_BE_EMPTY = {
    "a lease without a leased task": """
        select h.serial from leases h left join tasks t on t.serial = h.serial
        where t.state is not 1 or t.fencing_token <> h.fencing_token or t.queue <> h.queue""",
    "a leased task without its lease": """
        select serial from tasks where state = 1 and serial not in (select serial from leases)""",
    "a wait without a reason, or a reason without a wait": """
        select serial from tasks where (state = 2) <> (wait_reason is not null)""",
    "a parent that waits for another number of children": """
        select p.serial from tasks p where p.state = 2 and p.wait_reason = 0 and p.pending_children <>
          (select count(*) from tasks c where c.parent = p.serial and c.state < 3)""",
    "a dependent that waits for another number of dependencies": """
        select t.serial from tasks t where t.state = 2 and t.wait_reason = 1 and t.pending_deps <>
          (select count(*) from task_deps d join tasks o on o.serial = d.dependency
           where d.dependent = t.serial and o.state < 3)""",
    "a wait for nothing": """
        select serial from tasks
        where state = 2 and wait_reason < 2 and pending_children + pending_deps = 0""",
    "something due that time does not move": """
        select serial from tasks where due is not null and state not in (0, 2)""",
    "claims that differ from the token": """
        select t.serial from tasks t where t.fencing_token <> t.attempts or t.attempts <>
          (select count(*) from events e where e.task_id = t.task_id and e.type = 2)""",
    "a dead task without its tombstone, or one without its death": """
        select task_id from tasks where (state = 4) <> (task_id in (select key from records))""",
    "counts that differ from the tasks": """
        select queue from counts c where c.ready <>
          (select count(*) from tasks t where t.queue = c.queue and t.state = 0) or c.leased <>
          (select count(*) from tasks t where t.queue = c.queue and t.state = 1) or c.waiting <>
          (select count(*) from tasks t where t.queue = c.queue and t.state = 2) or c.done <>
          (select count(*) from tasks t where t.queue = c.queue and t.state = 3) or c.dead <>
          (select count(*) from tasks t where t.queue = c.queue and t.state = 4) or c.cancelled <>
          (select count(*) from tasks t where t.queue = c.queue and t.state = 5)""",
}


def must_hold(path: Path) -> None:
    """Nothing in the store contradicts anything else in it."""
    with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)) as file:
        for what, question in MUST_BE_EMPTY.items():
            assert file.execute(question).fetchall() == [], what


class Walk:
    """Steps by chance, each of which may be refused or be the process's last."""

    def __init__(self, bench: Bench, seed: int) -> None:
        self.bench = bench
        self.mortal = Mortal(bench)
        self.chance = random.Random(seed)
        self.ids: list[str] = []
        self.held: list[tuple[str, int]] = []

    def step(self) -> None:
        """One verb; one step in ten is cut short by death."""
        act = self.chance.choice(self._acts())
        if self.chance.random() < 0.1:
            self.mortal.dies_in(act, self.chance.randint(1, 5))
        else:
            attempt(act)

    def _acts(self) -> list[Callable[[], Any]]:
        store, chance = self.bench.store, self.chance
        task_id, token = chance.choice(self.held or [("none", 1)])
        any_id = chance.choice(self.ids or ["none"])
        name = self.bench.name
        return [
            self._enqueue,
            self._enqueue,
            self._claim,
            self._claim,
            self._claim,
            lambda: store.heartbeat(task_id, token),
            lambda: store.submit(task_id, token, 1, name("i")),
            lambda: store.submit(task_id, token, 1, name("i"), ok=False, error="e"),
            lambda: self.ids.extend(store.split(task_id, token, self._children())),
            lambda: store.park(task_id, token, "r", chance.choice([None, 3])),
            lambda: store.release(task_id, token, chance.choice([0, 2])),
            lambda: store.resume(any_id, 1),
            lambda: store.cancel(any_id, "r"),
            lambda: self.ids.append(store.requeue(any_id)),
            store.reap,
            lambda: self.bench.world.pass_seconds(chance.choice([0.5, 2, 6, 11])),
            lambda: store.define_queue("q", max_attempts=chance.randint(1, 3), paused=chance.random() < 0.1),
        ]

    def _enqueue(self) -> None:
        depends_on = self.chance.sample(self.ids, min(len(self.ids), self.chance.randint(0, 2)))
        delay = self.chance.choice([0, 0, 0, 2])
        task_id = self.bench.name("t")
        self.ids.append(task_id)
        self.bench.enqueue(task_id=task_id, depends_on=depends_on, delay_seconds=delay)

    def _claim(self) -> None:
        lease = self.bench.store.claim("q", "w")
        if lease is not None:
            self.held = [*self.held[-5:], (lease.task_id, lease.fencing_token)]

    def _children(self) -> list[dict[str, Any]]:
        return [{"brief": {}, "after": [0] if n and self.chance.random() < 0.3 else []} for n in range(3)]
