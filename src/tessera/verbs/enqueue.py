"""enqueue, enqueue_batch: put tasks on queues. Written once, for any number."""

from __future__ import annotations

from collections.abc import Sequence

from tessera.errors import Forbidden, IdempotencyConflict, NotFound, TesseraError
from tessera.limits import DETAIL_CHARS_MAX, SECOND_US
from tessera.models import Enqueued, EnqueuedBatch, EnqueuedBefore, TaskBatch, TaskSpec
from tessera.names import EFFECT_RANK
from tessera.rows import NamedTask
from tessera.rules import grants
from tessera.rules.grants import Caller
from tessera.rules.moves import NewTask
from tessera.runtime import Runtime
from tessera.states import ENDED
from tessera.steps import briefs, tasks
from tessera.storage.port import Transaction


def enqueue(tx: Transaction, runtime: Runtime, caller: Caller, ask: TaskSpec) -> Enqueued:
    """Add a task, ready or waiting for its dependencies. An id that exists in this queue changes nothing."""
    (task_id,), added = _enqueue(tx, runtime, caller, [ask], [""])
    return Enqueued(task_id=task_id) if added else EnqueuedBefore(task_id=task_id)


def enqueue_batch(tx: Transaction, runtime: Runtime, caller: Caller, ask: TaskBatch) -> EnqueuedBatch:
    """Add several tasks, all or none, of one age: with one priority they go by their ids, and ids that the
    store makes rise in the order given. A later one may depend on an earlier one by its id. A refusal names
    the one it is about by its place, counted from 0.
    """
    places = [f"tasks[{index}]: " for index in range(len(ask.tasks))]
    return EnqueuedBatch(task_ids=_enqueue(tx, runtime, caller, ask.tasks, places)[0])


def _enqueue(
    tx: Transaction, runtime: Runtime, caller: Caller, specs: Sequence[TaskSpec], places: Sequence[str]
) -> tuple[list[str], int]:
    """The tasks' ids, and how many of them are new."""
    known = tasks.named(tx, (id_ for spec in specs for id_ in (spec.task_id, *spec.depends_on)))
    new: list[NewTask] = []
    said: dict[str, dict[str, object]] = {}
    task_ids: list[str] = []
    for spec, place in zip(specs, places, strict=True):
        try:
            task = _planned(tx, runtime, caller, spec, known)
        except TesseraError as refusal:
            raise type(refusal)(f"{place}{refusal.detail}"[:DETAIL_CHARS_MAX]) from refusal
        if isinstance(task, NewTask):
            new.append(task)
            known[task.task_id] = NamedTask(0, task.task_id, task.queue, task.state, spec.queue, None)
            if spec.traceparent:
                said[task.task_id] = {"traceparent": spec.traceparent}
        task_ids.append(task.task_id)
    lanes = tasks.missing_lanes(tx, {(task.queue, task.kind, task.effect) for task in new})
    runtime.reach("enqueue.read")

    tasks.add_lanes(tx, lanes)
    tasks.add_all(tx, new, "enqueued", caller.key_id, said)
    runtime.reach("enqueue.written")
    return task_ids, len(new)


def _planned(
    tx: Transaction, runtime: Runtime, caller: Caller, spec: TaskSpec, known: dict[str, NamedTask]
) -> NewTask | NamedTask:
    """The task to add, or the one that is there already; or a refusal."""
    brief = briefs.accepted(spec.brief, "brief")
    effect = EFFECT_RANK[spec.effect_class]
    queue = tasks.queue_known(tx, caller, spec.queue)
    grants.covers_task(caller, spec.queue, spec.kind)
    if queue.workspace_id is not None:
        raise Forbidden("a workspace's queue takes the tasks that an admin key defines for an agent's role")
    grants.may_start(caller, effect)
    if spec.task_id in known:
        if known[spec.task_id].queue != queue.queue:
            raise IdempotencyConflict("the task id is in use: choose another")
        return known[spec.task_id]
    depends_on = tuple(dict.fromkeys(spec.depends_on))
    return NewTask(
        task_id=spec.task_id or runtime.new_id("t_"),
        queue=queue.queue,
        kind=spec.kind,
        effect=effect,
        priority=spec.priority,
        brief=brief,
        sha256=briefs.digest(brief),
        now=tx.now,
        depends_on=depends_on,
        pending_deps=_unresolved(caller, spec, known) if depends_on else 0,
        not_before=tx.now + int(spec.delay_seconds * SECOND_US) if spec.delay_seconds else None,
        traceparent=spec.traceparent,
    )


def _unresolved(caller: Caller, spec: TaskSpec, known: dict[str, NamedTask]) -> int:
    """How many dependencies have not ended. Every one must exist, in a queue the key covers. Those of a
    workspace do not, not even for an admin key: a lease would hand out their outputs.
    """
    named = spec.depends_on
    known = {id_: task for id_, task in known.items() if task.workspace_id is None}
    if not all(grants.sees_queue(caller, known[one].queue_name) for one in named if one in known):
        raise Forbidden("depends_on: the key does not cover the queue of every dependency")
    for place, one in enumerate(named):
        if one not in known:
            raise NotFound(f"depends_on[{place}]: no such task: enqueue it first")
    return sum(known[one].state not in ENDED for one in set(named))
