"""Random verbs, clock steps, damage and restarts, played on a store and on the oracle of the specification:
every answer, every refusal and, after every step, every row and line must be what the oracle says.
"""

from __future__ import annotations

import os
from itertools import count
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from model import asks
from model.stage import Stage
from model.things import Task
from tessera.limits import SECOND_US

LONG = os.environ.get("TESSERA_LONG") == "1"


def drawn(choices: str) -> st.SearchStrategy[Any]:
    """One of what the machine's method of this name offers now."""
    return st.runner().flatmap(lambda machine: getattr(machine, choices)())


class Machine(Stage):
    """One rule per verb, and one per thing that happens to a store."""

    def __init__(self) -> None:
        super().__init__()
        self.numbers = count(1)

    # What there is to ask about

    def some_task(self) -> st.SearchStrategy[str]:
        return st.sampled_from([*self.oracle.tasks, asks.UNKNOWN])

    def some_parked(self) -> st.SearchStrategy[str]:
        parked = [task.task_id for task in self.oracle.tasks.values() if task.waits_for == "input"]
        return st.sampled_from(parked * 5 + [asks.UNKNOWN, *self.oracle.tasks])

    def some_dead(self) -> st.SearchStrategy[str]:
        dead = [task.task_id for task in self.oracle.tasks.values() if task.state == "dead"]
        return st.sampled_from(dead * 5 + [asks.UNKNOWN, *self.oracle.tasks])

    def some_lease(self) -> st.SearchStrategy[tuple[str, int]]:
        """Mostly one that lives, or has lapsed unnoticed; else any that was ever given, or never."""
        held = [(task.task_id, task.token) for task in self.oracle.leased()]
        return st.sampled_from(held * 4 + sorted(self.given) + [(asks.UNKNOWN, 1)])

    def some_key(self) -> st.SearchStrategy[str]:
        """Mostly a fresh one."""
        return st.just(f"s{next(self.numbers)}") | st.sampled_from(["s1", *self.oracle.results])

    def some_deadline(self) -> st.SearchStrategy[int]:
        return st.sampled_from([task.due for task in self.oracle.tasks.values() if task.due is not None])

    def some_spec(self) -> st.SearchStrategy[dict[str, Any]]:
        return asks.specs(list(self.oracle.tasks))

    # Queues

    @rule(name=st.sampled_from(asks.QUEUES), settings=asks.settings)
    def define_queue(self, name: str, settings: dict[str, Any]) -> None:
        self.play(
            lambda store: store.define_queue(name, **settings),
            lambda _: self.oracle.define_queue(name, **settings),
        )

    @rule(name=asks.queues, paused=st.sampled_from([True, False, False]))
    def pause_or_resume_queue(self, name: str, paused: bool) -> None:
        self.play(
            lambda store: store.pause_queue(name) if paused else store.resume_queue(name),
            lambda _: self.oracle.set_paused(name, paused),
        )

    # Tasks

    @rule(spec=drawn("some_spec"))
    def enqueue(self, spec: dict[str, Any]) -> None:
        self.play(lambda store: store.enqueue(spec), lambda answer: self.oracle.enqueue(answer, spec))

    @rule(spec=drawn("some_spec"))
    def enqueue_another(self, spec: dict[str, Any]) -> None:
        self.enqueue(spec)

    @rule(task_id=drawn("some_task"), reason=asks.texts)
    def cancel(self, task_id: str, reason: str) -> None:
        self.play(lambda store: store.cancel(task_id, reason), lambda _: self.oracle.cancel(task_id, reason))

    @rule(task_id=drawn("some_dead"))
    def requeue(self, task_id: str) -> None:
        self.play(lambda store: store.requeue(task_id), lambda answer: self.oracle.requeue(task_id, answer))

    # Leases

    @rule(
        queue=asks.queues,
        worker=asks.workers,
        kinds=asks.filters,
        effects=asks.effect_filters,
        key=st.none() | st.sampled_from(asks.CLAIM_KEYS),
    )
    def claim(
        self, queue: str, worker: str, kinds: list[str] | None, effects: list[str] | None, key: str | None
    ) -> None:
        held = {(task.task_id, task.token) for task in self.oracle.leased()}
        answer = self.play(
            lambda store: store.claim_or_wait(queue, worker, kinds, effects, idempotency_key=key),
            lambda _: self.oracle.claim(queue, worker, kinds, effects, key),
        )
        if answer and "task_id" in answer:
            lease = answer["task_id"], answer["fencing_token"]
            assert lease not in self.given or (key is not None and lease in held)
            self.given.add(lease)

    @rule(queue=st.sampled_from(asks.QUEUES), worker=asks.workers)
    def claim_anything(self, queue: str, worker: str) -> None:
        self.claim(queue, worker, None, None, None)

    @rule(lease=drawn("some_lease"))
    def heartbeat(self, lease: tuple[str, int]) -> None:
        self.play(lambda store: store.heartbeat(*lease), lambda _: self.oracle.heartbeat(*lease))

    @rule(
        lease=drawn("some_lease"),
        key=drawn("some_key"),
        ok=st.booleans(),
        output=asks.documents,
        error=asks.errors,
    )
    def submit(self, lease: tuple[str, int], key: str, ok: bool, output: Any, error: str | None) -> None:
        self.play(
            lambda store: store.submit(*lease, output, key, ok, error),
            lambda _: self.oracle.submit(*lease, output, key, ok, error),
        )

    @rule(lease=drawn("some_lease"), children=asks.families())
    def split(self, lease: tuple[str, int], children: list[dict[str, Any]]) -> None:
        ids = [child.get("task_id") for child in children]
        self.play(
            lambda store: store.split(*lease, children),
            lambda answer: self.oracle.split(*lease, children, answer or ids),
        )

    @rule(lease=drawn("some_lease"), reason=asks.texts, within=st.sampled_from([None, 0.5, 4, 20]))
    def park(self, lease: tuple[str, int], reason: str, within: float | None) -> None:
        self.play(
            lambda store: store.park(*lease, reason, within),
            lambda _: self.oracle.park(*lease, reason, within),
        )

    @rule(task_id=drawn("some_parked"), answer=asks.documents, park=st.sampled_from([None, None, None, 1, 2]))
    def resume(self, task_id: str, answer: Any, park: int | None) -> None:
        self.play(
            lambda store: store.resume(task_id, answer, park),
            lambda _: self.oracle.resume(task_id, answer, park),
        )

    @rule(lease=drawn("some_lease"), delay=asks.delays)
    def release(self, lease: tuple[str, int], delay: float) -> None:
        self.play(lambda store: store.release(*lease, delay), lambda _: self.oracle.release(*lease, delay))

    @rule()
    def reap(self) -> None:
        self.play(lambda store: store.reap(), lambda _: self.oracle.reap())

    # What happens to a store

    @rule(seconds=st.sampled_from([0.000001, 0.5, 1, 3, 10]))
    def time_passes(self, seconds: float) -> None:
        self.world.pass_seconds(seconds)

    @precondition(lambda self: any(task.due for task in self.oracle.tasks.values()))
    @rule(deadline=drawn("some_deadline"), off_by=st.sampled_from([-1, 0, 1]))
    def time_passes_to_a_deadline(self, deadline: int, off_by: int) -> None:
        """To the last instant before it, to it, or to the first one after."""
        self.world.now_us += max(0, deadline + off_by - self.now())

    @rule(seconds=st.sampled_from([-3_600, -5, -1, 0, 2, 30]))
    def somebody_sets_the_clock(self, seconds: int) -> None:
        """Backwards or forwards, while time goes on as ever."""
        self.world.wrong_by_us = seconds * SECOND_US

    @rule()
    def another_process_goes_on(self) -> None:
        self.at = 1 - self.at

    @rule()
    def the_process_starts_again(self) -> None:
        self.store.close()
        self.handles[self.at] = self.opened()
        self.clocks.reopened(self.at)

    @precondition(lambda self: any(_may_rot(task) for task in self.oracle.tasks.values()))
    @rule(data=st.data())
    def a_brief_rots(self, data: st.DataObject) -> None:
        rotting = [task.task_id for task in self.oracle.tasks.values() if _may_rot(task)]
        self.damage(self.oracle.tasks[data.draw(st.sampled_from(rotting))])

    @rule()
    def somebody_looks(self) -> None:
        self.compare_what_is_shown()


def _may_rot(task: Task) -> bool:
    """Any brief may; one that nobody holds is enough here."""
    return not task.lease and not task.ended and not task.damaged


Machine.TestCase.settings = settings(
    max_examples=4_000 if LONG else 80,
    stateful_step_count=60 if LONG else 45,
    deadline=None,
    database=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
)
TestModel = Machine.TestCase
TestModel.__doc__ = "A store played by random verbs never says or holds anything but what the oracle does."
