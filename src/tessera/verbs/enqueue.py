"""enqueue: put a task on a queue."""

from __future__ import annotations

from tessera.canonical import json_text
from tessera.errors import Forbidden, IdempotencyConflict, NotFound
from tessera.limits import SECOND_US
from tessera.models import Enqueued, TaskSpec
from tessera.names import EFFECT_RANK
from tessera.rows import NamedTask, QueueRow, TaskRow
from tessera.rules import grants
from tessera.rules.grants import Caller
from tessera.rules.moves import NewTask
from tessera.runtime import Runtime
from tessera.states import ENDED
from tessera.steps import briefs, tasks
from tessera.storage.port import Transaction


def enqueue(tx: Transaction, runtime: Runtime, caller: Caller, ask: TaskSpec) -> Enqueued:
    """Add a task, ready or waiting for its dependencies. An id that exists in this queue changes nothing."""
    brief = briefs.accepted(ask.brief, "brief")
    effect = EFFECT_RANK[ask.effect_class]
    queue = tasks.queue_known(tx, ask.queue)
    grants.covers_task(caller, ask.queue, ask.kind)
    grants.may_start(caller, effect)
    if ask.task_id is not None and _exists(tx, queue, ask.task_id):
        return Enqueued(task_id=ask.task_id)
    depends_on = tuple(dict.fromkeys(ask.depends_on))
    task = NewTask(
        task_id=ask.task_id or runtime.new_id("t_"),
        queue=queue.queue,
        kind=ask.kind,
        effect=effect,
        priority=ask.priority,
        brief=brief,
        now=tx.now,
        depends_on=depends_on,
        pending_deps=_unresolved(tx, caller, depends_on) if depends_on else 0,
        not_before=tx.now + int(ask.delay_seconds * SECOND_US) if ask.delay_seconds else None,
    )
    lanes = tasks.missing_lanes(tx, {(queue.queue, ask.kind, effect)})
    runtime.reach("enqueue.read")

    tasks.add_lanes(tx, lanes)
    data = {} if ask.traceparent is None else {"traceparent": ask.traceparent}
    tasks.add(tx, task, "enqueued", caller.key_id, **data)
    runtime.reach("enqueue.written")
    return Enqueued(task_id=task.task_id)


def _exists(tx: Transaction, queue: QueueRow, task_id: str) -> bool:
    """Whether this queue has the task already; another queue's is a conflict."""
    task: TaskRow | None = tx.one("task_named", task_id=task_id)
    if task is not None and task.queue != queue.queue:
        raise IdempotencyConflict("the task id is in use: choose another")
    return task is not None


def _unresolved(tx: Transaction, caller: Caller, depends_on: tuple[str, ...]) -> int:
    """How many dependencies have not ended. Every one must exist, in a queue the key covers."""
    found: list[NamedTask] = tx.all("tasks_named", task_ids=json_text(list(depends_on)))
    if not all(grants.sees_queue(caller, task.queue_name) for task in found):
        raise Forbidden("depends_on: the key does not cover the queue of every dependency")
    if len(found) < len(depends_on):
        known = {task.task_id for task in found}
        missing = next(index for index, task_id in enumerate(depends_on) if task_id not in known)
        raise NotFound(f"depends_on: no such task, the {missing + 1}. of those named: enqueue it first")
    return sum(task.state not in ENDED for task in found)
