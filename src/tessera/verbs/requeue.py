"""requeue: give a dead task's work another chance."""

from __future__ import annotations

from tessera.errors import InvalidState
from tessera.models import Enqueued, TaskRef
from tessera.rules import grants
from tessera.rules.grants import Caller
from tessera.rules.moves import NewTask
from tessera.runtime import Runtime
from tessera.states import DEAD
from tessera.steps import briefs, tasks
from tessera.storage.port import Transaction


def requeue(tx: Transaction, runtime: Runtime, caller: Caller, ask: TaskRef) -> Enqueued:
    """Make a new ready task of a dead one's brief; the dead one stays dead. While the new one has not ended,
    requeuing again gives its id and changes nothing.
    """
    grants.is_admin(caller)
    dead = tasks.known(tx, caller, ask.task_id)
    queue = tasks.queue_of(tx, dead)
    grants.covers_task(caller, queue.name, dead.kind)
    grants.may_start(caller, dead.effect)
    if dead.state != DEAD:
        raise InvalidState("only a dead task can be requeued")
    if going_on := tx.one("requeued_as", serial=dead.serial):
        return Enqueued(task_id=going_on.value)
    brief = briefs.intact(tx, dead)
    if brief is None:
        raise InvalidState("the stored brief is damaged: enqueue the work anew")
    task = NewTask(
        task_id=runtime.new_id("t_"),
        queue=dead.queue,
        kind=dead.kind,
        effect=dead.effect,
        priority=dead.priority,
        brief=brief.text,
        sha256=briefs.digest(brief.text),
        now=tx.now,
        requeued_from=dead.serial,
        requirement=dead.requirement,
        traceparent=brief.traceparent,
    )
    runtime.reach("requeue.read")

    said = {task.task_id: {"requeued_from": dead.task_id}}
    tasks.add_all(tx, [task], "requeued", caller.key_id, said)
    runtime.reach("requeue.written")
    return Enqueued(task_id=task.task_id)
