"""What the oracle keeps, and what becomes of tasks whoever asks: leases lapse, waits end, failures add up.

Nothing here is kept twice: whether a task may start is searched for each time something has ended.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from model.things import Lease, Line, Refused, Result, Task
from tessera.limits import RETRY_AFTER_SECONDS_MAX, SECOND_US


class Ledger:
    """Queues, tasks, results and the log, and the moves that several verbs share."""

    def __init__(self, u: float) -> None:
        self.now = 0
        self.u = u  # where in [0.5, 1.0] chance falls: 0 low, 1 high
        self.queues: dict[str, dict[str, Any]] = {}
        self.tasks: dict[str, Task] = {}
        self.results: dict[str, Result] = {}
        self.log: dict[str, list[Line]] = defaultdict(list)  # by task
        self.queue_log: list[tuple[str, str]] = []
        self.reaped_at: int | None = None
        self.changed = False  # whether anything was written since this was last set to False

    def task(self, task_id: str) -> Task:
        """The task, if there is one."""
        if task_id not in self.tasks:
            raise Refused("not_found")
        return self.tasks[task_id]

    def queue(self, name: str) -> dict[str, Any]:
        """The queue's settings, if there is one."""
        if name not in self.queues:
            raise Refused("not_found")
        return self.queues[name]

    def tasks_in(self, queue: str) -> list[Task]:
        """A queue's tasks, oldest first."""
        return [task for task in self.tasks.values() if task.queue == queue]

    def leased(self) -> list[Task]:
        """The tasks that somebody holds, lapsed or not, as long as nobody has noticed."""
        return [task for task in self.tasks.values() if task.lease]

    def deadline(self, queue: str, hard: int) -> int:
        """Until when a sign of life now keeps a lease."""
        config = self.queues[queue]
        return min(self.now + config["heartbeat_seconds"] * config["miss_limit"] * SECOND_US, hard)

    def held(self, task_id: str, token: int) -> tuple[Task, Lease]:
        """The task whose live lease this token is; a lapse that nobody had noticed is noticed now."""
        task = self.task(task_id)
        if task.lease is None or task.token != token:
            raise Refused("stale_lease")
        if self.settle([task]):
            raise Refused("stale_lease")
        return task, task.lease

    def settle(self, tasks: Iterable[Task]) -> int:
        """What time does to these: lapses, retries whose delay is over, parks that end. How many."""
        due = [task for task in tasks if task.due is not None and task.due <= self.now]
        for task in due:
            if task.lease:
                self.note("lease_lapsed", task)
                self.fail(task, "lease lapsed")
            elif task.waits_for == "input":
                self.wake(task, {"timed_out": True}, "park_expired")
            else:
                task.start_at = None
        self.start_what_waited()
        self.changed |= bool(due)
        return len(due)

    def seconds_to_next(self, queue: str) -> int:
        """Whole seconds until something in the queue falls due, 1 to 30."""
        due = [task.due - self.now for task in self.tasks_in(queue) if task.due is not None]
        seconds = [-(-one // SECOND_US) for one in due]
        return max(1, min([RETRY_AFTER_SECONDS_MAX, *seconds]))

    def fail(self, task: Task, error: str | None) -> None:
        """One failure more: dead at the last attempt, else ready after a delay that doubles."""
        config = self.queues[task.queue]
        task.failures += 1
        task.last_error = error
        if task.failures >= config["max_attempts"]:
            self.bury(task)
            return
        self.note("retry_scheduled", task)
        ceiling = min(
            config["backoff_cap_seconds"], config["backoff_base_seconds"] * 2 ** (task.failures - 1)
        )
        self.make_ready(task, self.now + int(ceiling * (0.5 + self.u / 2) * SECOND_US))

    def bury(self, task: Task) -> None:
        """Dead, with a tombstone that tells when."""
        self.note("dead_lettered", task)
        task.died_at = self.now
        self.end(task, "dead")

    def wake(self, task: Task, answer: Any, event: str) -> None:
        """A parked task gets its input."""
        task.inputs.append((task.parks, answer, self.now))
        self.make_ready(task, self.now)
        self.note(event, task)

    def make_ready(self, task: Task, start_at: int) -> None:
        """Ready, at once or later."""
        task.state, task.waits_for, task.lease, task.wake_at = "ready", None, None, None
        task.start_at = start_at if start_at > self.now else None
        task.claimable_at = max(start_at, self.now)

    def wait(self, task: Task, reason: str) -> None:
        """Waiting; a lease, if there was one, is over."""
        task.state, task.waits_for, task.lease = "waiting", reason, None

    def end(self, task: Task, state: str) -> None:
        """Done, dead or cancelled."""
        task.state, task.waits_for, task.lease, task.start_at, task.wake_at = state, None, None, None, None

    def start_what_waited(self) -> None:
        """Whatever waits for nothing any more is ready, unless its own delay holds it."""
        for task in self.tasks.values():
            if task.waits_for == "children" and not task.pending_children:
                self.make_ready(task, self.now)
                self.note("parent_ready", task)
            elif task.waits_for == "dependencies" and not task.pending_deps:
                self.make_ready(task, task.start_at or self.now)
                self.note("dependencies_met", task)

    def add(
        self, event: str, new_id: str, queue: str, kind: str, effect: str, priority: int,
        brief: dict[str, Any], *, depends_on: Iterable[str] = (), parent: Task | None = None,
        delay: float = 0,
    ) -> Task:  # fmt: skip
        """A new task: ready, unless something it depends on has not ended."""
        assert new_id not in self.tasks, f"{new_id} is taken"
        named = set(depends_on)
        dependencies = [task for task in self.tasks.values() if task.task_id in named]
        task = Task(new_id, queue, kind, effect, priority, brief, self.now, dependencies, parent)
        self.tasks[new_id] = task
        self.note(event, task)
        self.make_ready(task, self.now + int(delay * SECOND_US))
        if task.pending_deps:
            self.wait(task, "dependencies")
        if parent is not None:
            parent.children.append(task)
        return task

    def note(self, event: str, task: Task) -> None:
        """A line of the log."""
        holder = (task.lease.worker, task.token) if task.lease else (None, None)
        self.log[task.task_id].append(Line(event, *holder))
        self.changed = True

    def note_queue(self, event: str, queue: str) -> None:
        """A line about a queue."""
        self.queue_log.append((event, queue))
        self.changed = True

    def note_pause(self, queue: str, before: dict[str, Any]) -> None:
        """A line if the queue was paused or goes on again."""
        paused = self.queues[queue]["paused"]
        if paused != before["paused"]:
            self.note_queue("queue_paused" if paused else "queue_resumed", queue)


def unfinished_under(task: Task) -> Iterator[Task]:
    """Every descendant that has not ended."""
    for child in task.children:
        if not child.ended:
            yield child
            yield from unfinished_under(child)
