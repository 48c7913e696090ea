"""Random verbs, clock steps, damage and restarts, played on a store and on the oracle of the specification:
every answer, every refusal and, after every step, every row and line must be what the oracle says.
"""

from __future__ import annotations

import os
from itertools import count
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, rule

from model import asks
from model.moves import Move, moves
from model.stage import Stage
from tessera.limits import SECOND_US

LONG = os.environ.get("TESSERA_LONG") == "1"


class Machine(Stage):
    """One method per verb, and one per thing that happens to a store. The one rule draws which."""

    @initialize(
        u=st.sampled_from([0.0, 0.5, 1.0]),
        settings=st.tuples(asks.first_settings, asks.first_settings),
        specs=st.lists(asks.specs([]), min_size=2, max_size=6),
    )
    def begin(
        self, u: float, settings: tuple[dict[str, Any], dict[str, Any]], specs: list[dict[str, Any]]
    ) -> None:
        self.open(u)
        self.numbers = count(1)
        for name, config in zip(asks.QUEUES, settings, strict=True):
            self.administer(name, config, None)
        self.enqueue(specs)

    @rule(length=st.integers(1, 4), data=st.data())
    def step(self, length: int, data: st.DataObject) -> None:
        """A few moves, each drawn by what the last one has left."""
        for _ in range(length):
            name, *how = data.draw(moves(self.oracle, self.given))
            getattr(self, name)(*how)

    # Queues and tasks

    def administer(self, name: str, settings: dict[str, Any], paused: bool | None) -> None:
        """Change settings, or pause or resume; a queue that is unknown stays so."""
        if paused is not None:
            self.play(
                lambda store: store.pause_queue(name) if paused else store.resume_queue(name),
                lambda _: self.oracle.set_paused(name, paused),
            )
        elif name in asks.QUEUES:
            self.play(
                lambda store: store.define_queue(name, **settings),
                lambda _: self.oracle.define_queue(name, **settings),
            )

    def enqueue(self, specs: list[dict[str, Any]]) -> None:
        for spec in specs:
            self.play(
                lambda store, spec=spec: store.enqueue(spec),
                lambda answer, spec=spec: self.oracle.enqueue(answer, spec),
            )

    def cancel(self, task_id: str) -> None:
        reason = f"{asks.HUSHED} no more"
        self.play(lambda store: store.cancel(task_id, reason), lambda _: self.oracle.cancel(task_id, reason))

    def requeue(self, task_id: str) -> None:
        self.play(lambda store: store.requeue(task_id), lambda answer: self.oracle.requeue(task_id, answer))

    def resume(self, task_id: str, answer: Any = "go on", park: int | None = None) -> None:
        self.play(
            lambda store: store.resume(task_id, answer, park),
            lambda _: self.oracle.resume(task_id, answer, park),
        )

    # Leases

    def claimed(
        self,
        queue: str,
        worker: str,
        kinds: list[str] | None = None,
        effects: list[str] | None = None,
        key: str | None = None,
    ) -> tuple[str, int] | None:
        """Claim; a lease that was given before may only come again for its key, while it is held."""
        held = {(task.task_id, task.token) for task in self.oracle.leased()}
        answer = self.play(
            lambda store: store.claim_or_wait(queue, worker, kinds, effects, idempotency_key=key),
            lambda _: self.oracle.claim(queue, worker, kinds, effects, key),
        )
        if answer is None or "task_id" not in answer:
            return None
        lease = answer["task_id"], answer["fencing_token"]
        assert lease not in self.given or (key is not None and lease in held)
        self.given.add(lease)
        return lease

    def work(self, queue: str, acts: list[Move | None]) -> None:
        """Claim a few tasks, then do something with each, or hold it."""
        leases = [self.claimed(queue, "ann") for _ in acts]
        for lease, act in zip(leases, acts, strict=True):
            if lease is not None and act is not None:
                self.act(lease, act)

    def act(self, lease: tuple[str, int], act: Move) -> None:
        """What a holder does, or somebody who is no longer one."""
        verb, *how = act
        ids = None
        if verb == "submit":
            how[1] = self.key(how[1])
        elif verb == "split":
            ids = [child.get("task_id") for child in how[0]]
        self.play(
            lambda store: getattr(store, verb)(*lease, *how),
            lambda answer: getattr(self.oracle, verb)(*lease, *how, *([answer or ids] if ids else [])),
        )

    def hurry(self, lease: tuple[str, int]) -> None:
        """The queue's patience shrinks, and with the next heartbeat the lease's; then it is over."""
        queue = self.oracle.tasks[lease[0]].queue
        self.administer(queue, {"heartbeat_seconds": 1, "miss_limit": 1}, None)
        self.act(lease, ("heartbeat",))
        self.pass_seconds(1)
        self.claimed(queue, "bob")

    def deepen(self, lease: tuple[str, int]) -> None:
        """A child of a child of a child, until nesting stops."""
        for _ in range(6):
            queue = self.oracle.tasks[lease[0]].queue
            self.act(lease, ("split", [{"brief": {}, "priority": 1_000, "after": []}]))
            child = self.claimed(queue, "ann")
            if child is None:
                return
            lease = child

    def key(self, number: int | None) -> str:
        """A fresh key, or one that was used before."""
        used = list(self.oracle.results)
        return used[number] if number is not None and number < len(used) else f"s{next(self.numbers)}"

    def reap(self) -> None:
        self.play(lambda store: store.reap(), lambda _: self.oracle.reap())

    # What else happens to a store and its file

    def pass_seconds(self, seconds: float) -> None:
        self.world.pass_seconds(seconds)

    def set_clock(self, seconds: int) -> None:
        """Somebody sets the wall clock, backwards or forwards, while time goes on as ever."""
        self.world.now_us += seconds * SECOND_US

    def change_process(self) -> None:
        self.at = 1 - self.at

    def restart(self) -> None:
        self.store.close()
        self.open_store()

    def rot(self, task_id: str) -> None:
        self.damage(self.oracle.tasks[task_id])


Machine.TestCase.settings = settings(
    max_examples=2_000 if LONG else 30,
    stateful_step_count=60 if LONG else 45,
    deadline=None,
    database=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
)
TestModel = Machine.TestCase
TestModel.__doc__ = "A store played by random verbs never says or holds anything but what the oracle does."
