"""Where a store and the oracle play the same verbs, and what is compared after each."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, ClassVar

import msgspec
import raw_sql
from hypothesis.stateful import RuleBasedStateMachine, invariant

import tessera
from model import asks
from model.checks import Checks
from model.oracle import Oracle
from model.things import Clocks, Refused, Task, view, wire_time
from tessera.errors import TesseraError
from tessera.limits import SECOND_US
from tessera.testing import World

MEMORY = Path("/dev/shm")  # where there is one: this is about what is written, not about disks
ROUNDS_TO_FINISH = 100
LONGER_THAN_ANYTHING_SECONDS = 40


class Stage(RuleBasedStateMachine):
    """Two handles on one file, of which one is used at a time, as two processes would."""

    clock_step_us: ClassVar[int] = 0

    def open(self, u: float) -> None:
        """A new store and an oracle that knows as little."""
        self.cleaned_up = ExitStack()
        self.path = self.new_store()
        self.world = World(u=u)
        self.oracle = Oracle(u)
        self.clocks = Clocks(self.clock_step_us)
        self.handles: dict[int, tessera.Tessera] = {}
        for self.at in (1, 0):
            self.open_store()
        self.checks = Checks(raw_sql.connect(self.path))
        self.given: set[tuple[str, int]] = set()
        self.sound = False  # so that a failure is not followed by another one

    def teardown(self) -> None:
        if not hasattr(self, "cleaned_up"):
            return
        try:
            if self.sound:
                self.compare_what_is_shown()
                self.finish_everything()
        finally:
            self.checks.close()
            for handle in self.handles.values():
                handle.close()
            self.cleaned_up.close()

    def new_store(self) -> str:
        """Where there is no store yet, and after the play there is none again."""
        folder = tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None)
        return f"{self.cleaned_up.enter_context(folder)}/store.db"

    def open_store(self) -> None:
        """A process starts: the handle in use is a new one."""
        self.handles[self.at] = tessera.open(self.path, runtime=self.world.runtime())
        self.clocks.wall, self.clocks.elapsed = self.world.now_us, self.world.elapsed_us
        self.clocks.opened(self.at)

    @property
    def store(self) -> tessera.Tessera:
        """The handle in use."""
        return self.handles[self.at]

    def now(self) -> int:
        """The time that the handle in use must see, just as it looks at the clock."""
        self.clocks.wall, self.clocks.elapsed = self.world.now_us, self.world.elapsed_us
        return self.clocks.read(self.at)

    def pass_to(self, deadline: int, off_by: int) -> None:
        """To the last instant before a deadline, to it, or to the first one after."""
        self.clocks.wall, self.clocks.elapsed = self.world.now_us, self.world.elapsed_us
        left = max(0, deadline + off_by - self.clocks.would_be(self.at))
        self.world.now_us += left
        self.world.elapsed_us += left

    def play(self, ask: Callable[[tessera.Tessera], Any], expect: Callable[[Any], Any]) -> Any:
        """Ask the store, then the oracle, which is told the store's answer for the ids in it. They must give
        the same answer or the same refusal. Returns the answer, or None when it was refused.
        """
        self.sound = False
        answer, expected, refused, refusal = None, None, None, None
        self.oracle.now = self.now()
        self.oracle.changed = False
        try:
            answer = plain(ask(self.store))
        except TesseraError as error:
            refused = error.code
        try:
            expected = expect(answer)
        except Refused as error:
            refusal = error.code
        assert (refused, told(answer, expected)) == (refusal, expected)
        if self.oracle.changed:
            self.clocks.written = self.oracle.now
        self.sound = True
        return answer

    @invariant()
    def the_store_is_what_the_oracle_says(self) -> None:
        """Rows, log, counts and health."""
        self.sound = False
        self.checks.all(self.oracle)
        counts = self.store.counts(recount=True)
        assert counts.agree
        assert counts.as_of == wire_time(self.now())
        assert plain(counts.queues) == self.oracle.counts()
        self.sound = True

    def compare_what_is_shown(self) -> None:
        """Every view of every task, by pages; every result; every queue; health; what verify finds."""
        self.sound = False
        views: list[dict[str, Any]] = []
        after: str | None = None
        while True:
            page = self.store.tasks(limit=7, after=after)
            views += plain(page.tasks)
            after = page.next
            if after is None:
                break
        expected = [view(task) for task in self.oracle.tasks.values()]
        assert [told(shown, one) for shown, one in zip(views, expected, strict=True)] == expected
        for task in self.oracle.tasks.values():
            results = self.store.results(task.task_id)
            assert [(one.idempotency_key, one.sha256) for one in results] == [
                (one.key, one.sha256) for one in task.results
            ]
        assert plain(self.store.queues()) == [
            {"name": name, **config} for name, config in sorted(self.oracle.queues.items())
        ]
        self.compare_health()
        damaged = {f"task {task.task_id}" for task in self.oracle.tasks.values() if task.damaged}
        assert {one.thing for one in self.store.verify().findings} == damaged
        self.sound = True

    def compare_health(self) -> None:
        """The reaper's last run, and per queue the oldest claimable task and the leases nobody has reaped."""
        health, now = self.store.health(), self.now()
        reaped_at = self.oracle.reaped_at
        assert health.reaper_last_run == (None if reaped_at is None else wire_time(reaped_at))
        assert health.time == wire_time(now)
        for name, queue in health.queues.items():
            tasks = self.oracle.tasks_in(name)
            ages = [
                (now - task.claimable_at) / SECOND_US
                for task in tasks
                if task.state == "ready" and (task.start_at is None or task.start_at <= now)
            ]
            assert queue.oldest_ready_age_seconds == max(ages, default=None)
            assert queue.expired_leases == sum(task.lease.expires_at <= now for task in tasks if task.lease)

    def finish_everything(self) -> None:
        """Whatever has happened, a patient crew brings every task to its end: nothing is stuck or lost."""
        for name in asks.QUEUES:
            self.play(
                lambda store, name=name: store.resume_queue(name),
                lambda _, name=name: self.oracle.set_paused(name, False),
            )
        for _ in range(ROUNDS_TO_FINISH):
            for task in [task for task in self.oracle.tasks.values() if task.waits_for == "input"]:
                self.resume_task(task)
            for name in asks.QUEUES:
                while lease := self.claim_task(name):
                    self.submit_task(lease, f"finish {lease['task_id']}".replace(" ", "-"))
            self.the_store_is_what_the_oracle_says()
            if all(task.ended for task in self.oracle.tasks.values()):
                return
            self.world.pass_seconds(LONGER_THAN_ANYTHING_SECONDS)
        raise AssertionError("some tasks never end")

    def resume_task(self, task: Task) -> None:
        self.play(
            lambda store: store.resume(task.task_id, "go on"),
            lambda _: self.oracle.resume(task.task_id, "go on", None),
        )

    def claim_task(self, queue: str) -> dict[str, Any] | None:
        answer = self.play(
            lambda store: store.claim_or_wait(queue, "crew"),
            lambda _: self.oracle.claim(queue, "crew", None, None, None),
        )
        return answer if "task_id" in answer else None

    def submit_task(self, lease: dict[str, Any], key: str) -> None:
        held = lease["task_id"], lease["fencing_token"]
        self.play(
            lambda store: store.submit(*held, {}, key),
            lambda _: self.oracle.submit(*held, {}, key, True, None),
        )

    def damage(self, task: Task) -> None:
        """What a bad disk does to a brief."""
        connection = raw_sql.connect(self.path)
        connection.execute(
            "update briefs set brief = brief || ' ' "
            "where serial = (select serial from tasks where task_id = ?)",
            (task.task_id,),
        )
        connection.close()
        task.damaged = True


def plain(answer: Any) -> Any:
    """An answer as JSON values. Where an output is, is told by an id exactly when there is one."""
    value = msgspec.to_builtins(answer)
    if isinstance(value, dict):
        for outcome in [*value.get("children", []), *value.get("dependencies", [])]:
            if isinstance(outcome, dict):
                assert (outcome.pop("result_id") is None) == (outcome["output_sha256"] is None)
    return value


def told(answer: Any, expected: Any) -> Any:
    """As much of an answer as the specification speaks of."""
    if isinstance(answer, dict) and isinstance(expected, dict):
        return {name: answer.get(name) for name in expected}
    return answer
