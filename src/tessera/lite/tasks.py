"""define_lite_task: a task for the agents of a workspace."""

from __future__ import annotations

import msgspec

from tessera.canonical import canonical
from tessera.errors import IdempotencyConflict, NotFound
from tessera.limits import BRIEF_BYTES_MAX
from tessera.models import Details, Enqueued, EnqueuedBefore, LiteTaskSpec
from tessera.names import EFFECT_RANK, LITE
from tessera.rows import NamedTask, QueueRow
from tessera.rules import grants
from tessera.rules.grants import Caller
from tessera.rules.moves import NewTask
from tessera.runtime import Runtime
from tessera.states import ENDED
from tessera.steps import briefs, requirements, tasks, workspaces
from tessera.storage.port import Transaction

READ = EFFECT_RANK["read"]


def define_lite_task(tx: Transaction, runtime: Runtime, caller: Caller, ask: LiteTaskSpec) -> Enqueued:
    """Put a task on a workspace's queue, for an agent that has the role and all of the capabilities. An id
    that exists in this queue changes nothing.
    """
    details = msgspec.json.encode(Details(title=ask.title, brief=ask.brief, input=ask.input))
    brief = canonical(details, "", BRIEF_BYTES_MAX)
    grants.is_admin(caller)
    queue = _queue(tx, caller, ask)
    known = tasks.named(tx, (ask.task_id, *ask.depends_on))
    if ask.task_id in known:
        if known[ask.task_id].queue != queue.queue:
            raise IdempotencyConflict("the task id is in use: choose another")
        return EnqueuedBefore(task_id=known[ask.task_id].task_id)
    depends_on = tuple(dict.fromkeys(ask.depends_on))
    asked = (queue.queue, ask.required_role_id, requirements.capabilities_text(ask.required_capabilities))
    numbers, missing = requirements.numbered(tx, [asked])
    task = NewTask(
        task_id=ask.task_id or runtime.new_id("task_"),
        queue=queue.queue,
        kind=LITE,
        effect=READ,
        priority=ask.priority,
        brief=brief,
        sha256=briefs.digest(brief),
        now=tx.now,
        depends_on=depends_on,
        pending_deps=_unresolved(ask, known),
        requirement=numbers[asked],
    )
    lanes = tasks.missing_lanes(tx, {(queue.queue, LITE, READ)})
    runtime.reach("define_lite_task.read")

    tasks.add_lanes(tx, lanes)
    requirements.add(tx, missing)
    tasks.add_all(tx, [task], "enqueued", caller.key_id, {})
    runtime.reach("define_lite_task.written")
    return Enqueued(task_id=task.task_id)


def _queue(tx: Transaction, caller: Caller, ask: LiteTaskSpec) -> QueueRow:
    """The workspace's queue, if that and the role are there."""
    workspaces.known(tx, caller, ask.workspace_id)
    queue = tasks.queue_known(tx, caller, ask.queue_id)
    grants.covers_task(caller, queue.name, LITE)
    if queue.workspace_id != ask.workspace_id:
        raise NotFound(f"no queue {ask.queue_id} in the workspace: assign it first")
    if tx.one("role_named", workspace_id=ask.workspace_id, role_id=ask.required_role_id) is None:
        raise NotFound("required_role_id: no such role in the workspace: define it first")
    return queue


def _unresolved(ask: LiteTaskSpec, known: dict[str, NamedTask]) -> int:
    """How many dependencies have not ended. Those of another workspace, or of none, do not exist here."""
    for place, one in enumerate(ask.depends_on):
        if one not in known or known[one].workspace_id != ask.workspace_id:
            raise NotFound(f"depends_on[{place}]: no such task: enqueue it first")
    return sum(known[one].state not in ENDED for one in set(ask.depends_on))
