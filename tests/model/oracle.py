"""The queue of the specification in plain dictionaries: what every verb must answer, refuse and change.

It is written from specification §4 and §5 and contract §3 and §4, not from the store: pending counts are
counted anew each time, waiting ends where a search finds nothing left to wait for, and a claim sorts all that
is ready. It sets `now` apart from the verbs: whoever plays sets it before each one.
"""

from __future__ import annotations

from typing import Any

from model.ledger import Ledger, unfinished_under
from model.things import Lease, Refused, Result, Task, lease_shown, view
from tessera.limits import NESTING_LEVELS_MAX, SECOND_US
from tessera.names import EFFECT_CLASSES
from tessera.states import STATES

DEFAULTS = {
    "heartbeat_seconds": 60, "miss_limit": 3, "lease_seconds": 600, "max_attempts": 3,
    "backoff_base_seconds": 30, "backoff_cap_seconds": 900, "weight": 1, "paused": False,
}  # fmt: skip


class Oracle(Ledger):
    """Every verb: the answer it must give, or the refusal it must raise."""

    # Queues

    def define_queue(self, name: str, **settings: Any) -> dict[str, Any]:
        """Settings that are left out stay as they are."""
        before = self.queues.get(name, DEFAULTS)
        self.queues[name] = {**before, **settings}
        self.note_queue("queue_defined", name)
        self.note_pause(name, before)
        return {"name": name, **self.queues[name]}

    def set_paused(self, name: str, paused: bool) -> dict[str, Any]:
        """A queue that is paused gives no leases; pausing twice changes nothing."""
        before = self.queue(name)
        self.queues[name] = {**before, "paused": paused}
        self.note_pause(name, before)
        return {"name": name, **self.queues[name]}

    # Tasks

    def enqueue(self, new_id: str, spec: dict[str, Any]) -> str:
        """`new_id` is the id that a new task gets: the one asked for, or one that the store has made up."""
        self.queue(spec["queue"])
        asked_for = spec.get("task_id")
        if asked_for in self.tasks:
            if self.tasks[asked_for].queue != spec["queue"]:
                raise Refused("idempotency_conflict")
            return str(asked_for)
        if any(one not in self.tasks for one in spec["depends_on"]):
            raise Refused("not_found")
        self.add(
            "enqueued",
            new_id,
            spec["queue"],
            spec["kind"],
            spec["effect_class"],
            spec["priority"],
            spec["brief"],
            depends_on=spec["depends_on"],
            delay=spec["delay_seconds"],
        )
        return new_id

    def cancel(self, task_id: str, reason: str) -> dict[str, Any]:
        """The task and every unfinished descendant end; what waited for any of them may start."""
        task = self.task(task_id)
        if task.ended:
            raise Refused("invalid_state")
        for one in [task, *unfinished_under(task)]:
            self.note("cancelled", one)
            one.cancel_reason = reason
            self.end(one, "cancelled")
        self.start_what_waited()
        return view(task)

    def requeue(self, task_id: str, new_id: str) -> str:
        """A dead task's work as a new task; the same one while that has not ended."""
        dead = self.task(task_id)
        if dead.state != "dead":
            raise Refused("invalid_state")
        for one in self.tasks.values():
            if one.requeued_from == task_id and not one.ended:
                return one.task_id
        if dead.damaged:
            raise Refused("invalid_state")
        task = self.add("requeued", new_id, dead.queue, dead.kind, dead.effect, dead.priority, dead.brief)
        task.requeued_from = task_id
        return new_id

    # Leases

    def claim(
        self, queue: str, worker: str, kinds: list[str] | None, effects: list[str] | None, key: str | None
    ) -> dict[str, Any]:
        """The lease, or in how many seconds to ask again."""
        config = self.queue(queue)
        self.settle(self.tasks_in(queue))
        for task in self.tasks_in(queue):
            if key is not None and task.lease and task.lease.key == key:
                return lease_shown(task, config["heartbeat_seconds"], in_full=True)
        task = None if config["paused"] else self._first_whole(queue, kinds, effects)
        if task is None:
            return {"retry_after_seconds": self.seconds_to_next(queue)}
        task.state = "leased"
        task.attempts += 1
        task.token += 1
        hard = self.now + config["lease_seconds"] * SECOND_US
        task.lease = Lease(worker, key, self.now, self.deadline(queue, hard), hard)
        self.note("claimed", task)
        return lease_shown(task, config["heartbeat_seconds"], in_full=True)

    def _first_whole(self, queue: str, kinds: list[str] | None, effects: list[str] | None) -> Task | None:
        """Whose turn it is. A task with a damaged brief that stands first ends, and may let others start."""
        while True:
            ready = [
                task
                for task in self.tasks_in(queue)
                if task.state == "ready"
                and task.start_at is None
                and (kinds is None or task.kind in kinds)
                and (effects is None or task.effect in effects)
            ]
            first = min(ready, key=lambda one: (-one.priority, one.created_at, one.task_id), default=None)
            if first is None or not first.damaged:
                return first
            first.last_error = "the stored brief does not match its hash"
            self.bury(first)
            self.start_what_waited()

    def heartbeat(self, task_id: str, token: int) -> dict[str, Any]:
        """The lease with its new deadline, by the queue's settings of now."""
        task, lease = self.held(task_id, token)
        lease.expires_at = self.deadline(task.queue, lease.hard_expires_at)
        self.note("heartbeat", task)
        return lease_shown(task, self.queues[task.queue]["heartbeat_seconds"], in_full=False)

    def submit(
        self, task_id: str, token: int, output: Any, key: str, ok: bool, error: str | None
    ) -> dict[str, Any]:
        """The receipt; of a key that was used before, the first one."""
        self.task(task_id)
        first = self.results.get(key)
        if first is not None:
            if first.task_id != task_id:
                raise Refused("idempotency_conflict")
            return first.receipt(replayed=True)
        task, lease = self.held(task_id, token)
        worker = lease.worker
        self.note("submitted", task)
        if ok:
            self.end(task, "done")
        else:
            self.fail(task, error)
        result = Result(key, task_id, token, worker, ok, output, error, self.now, task.state)
        self.results[key] = result
        task.results.append(result)
        self.start_what_waited()
        return result.receipt(replayed=False)

    def split(
        self, task_id: str, token: int, children: list[dict[str, Any]], new_ids: list[str]
    ) -> list[str]:
        """`new_ids` are the ids the children get, asked for or made up."""
        asked_for = [child["task_id"] for child in children if "task_id" in child]
        for index, child in enumerate(children):
            if any(not 0 <= earlier < index for earlier in child["after"]):
                raise Refused("invalid_request")
        if len(set(asked_for)) < len(asked_for):
            raise Refused("invalid_request")
        parent, _ = self.held(task_id, token)
        if parent.depth >= NESTING_LEVELS_MAX or any(one in self.tasks for one in asked_for):
            raise Refused("invalid_request")
        for child in children:
            self.queue(child.get("queue", parent.queue))
            if EFFECT_CLASSES.index(child.get("effect_class", parent.effect)) > EFFECT_CLASSES.index(
                parent.effect
            ):
                raise Refused("scope_denied")
        for new_id, child in zip(new_ids, children, strict=True):
            self.add(
                "enqueued",
                new_id,
                child.get("queue", parent.queue),
                child.get("kind", parent.kind),
                child.get("effect_class", parent.effect),
                child.get("priority", parent.priority),
                child["brief"],
                depends_on=[new_ids[earlier] for earlier in child["after"]],
                parent=parent,
            )
        self.note("split", parent)
        self.wait(parent, "children")
        return new_ids

    def park(self, task_id: str, token: int, reason: str, resume_within: float | None) -> dict[str, Any]:
        """Waits for input, for ever or for so many seconds."""
        task, _ = self.held(task_id, token)
        self.note("parked", task)
        self.wait(task, "input")
        task.parks += 1
        task.park_reason = reason
        task.wake_at = None if resume_within is None else self.now + int(resume_within * SECOND_US)
        return view(task)

    def resume(self, task_id: str, answer: Any, park: int | None) -> dict[str, Any]:
        """The input of the park that is named, or of the current one."""
        task = self.task(task_id)
        if task.waits_for != "input" or park not in (None, task.parks):
            raise Refused("invalid_state")
        if task.wake_at is not None and task.wake_at <= self.now:
            self.settle([task])
            raise Refused("invalid_state")
        self.wake(task, answer, "resumed")
        return view(task)

    def release(self, task_id: str, token: int, delay: float) -> dict[str, Any]:
        """Ready again without a failure."""
        task, _ = self.held(task_id, token)
        self.note("released", task)
        self.make_ready(task, self.now + int(delay * SECOND_US))
        return view(task)

    def reap(self) -> int:
        """How many lapses, retries and parks had fallen due."""
        settled = self.settle(list(self.tasks.values()))
        self.reaped_at = self.now
        self.changed = True
        return settled

    # Looks

    def counts(self) -> dict[str, dict[str, int]]:
        """A tally, taken anew."""
        tally = {queue: dict.fromkeys(STATES, 0) for queue in self.queues}
        for task in self.tasks.values():
            tally[task.queue][task.state] += 1
        return tally
