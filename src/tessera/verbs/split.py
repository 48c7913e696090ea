"""split: turn one task into children, and wait for them."""

from __future__ import annotations

from msgspec import structs

from tessera.errors import InvalidRequest, ScopeDenied
from tessera.limits import DESCENDANTS_UNFINISHED_MAX, NESTING_LEVELS_MAX
from tessera.models import Child, Children, Split
from tessera.names import EFFECT_RANK, LITE
from tessera.rows import QueueRow, TaskRow
from tessera.rules import grants, moves
from tessera.rules.grants import Caller
from tessera.rules.moves import NewTask
from tessera.runtime import Runtime
from tessera.steps import briefs, details, leases, requirements, tasks
from tessera.storage.port import Transaction


def split(tx: Transaction, runtime: Runtime, caller: Caller, ask: Split) -> Children:
    """Create the children, end the lease, and let the parent wait until every child has ended."""
    documents = _briefs(ask)
    parent, queue = leases.held(tx, caller, ask.task_id, ask.fencing_token)
    if parent.depth >= NESTING_LEVELS_MAX:
        raise InvalidRequest(f"children: nesting stops at {NESTING_LEVELS_MAX} levels")
    task_ids = tuple(child.task_id or runtime.new_id("t_") for child in ask.children)
    if tasks.named(tx, task_ids):
        raise InvalidRequest("children: a task id is in use already")
    trace = briefs.trace_of(tx, runtime, parent.task_id)
    children = [
        structs.replace(
            _child(tx, caller, parent, queue, task_ids, index, child, documents[index]),
            traceparent=trace,
        )
        for index, child in enumerate(ask.children)
    ]
    _refuse_too_many(tx, parent, len(children))
    lanes = tasks.missing_lanes(tx, {(child.queue, child.kind, child.effect) for child in children})
    children, asked = requirements.inherited(tx, parent, children)
    runtime.reach("split.read")

    tasks.add_lanes(tx, lanes)
    requirements.add(tx, asked)
    born = {child.task_id: {"parent": parent.task_id} for child in children}
    tasks.add_all(tx, children, "enqueued", caller.key_id, born)
    after = moves.split(parent, tx.now, len(children))
    tasks.move(tx, parent, after, "split", caller.key_id, children=len(children))
    runtime.reach("split.written")
    return Children(children=list(task_ids))


def _briefs(ask: Split) -> list[str]:
    """The children's briefs, if all that can be said of the request without the store is in order."""
    named = [child.task_id for child in ask.children if child.task_id is not None]
    if len(set(named)) < len(named):
        raise InvalidRequest("children: a task id is given twice")
    for index, child in enumerate(ask.children):
        if any(not 0 <= earlier < index for earlier in child.after):
            raise InvalidRequest(f"children[{index}].after: not the index of an earlier child")
    return [briefs.accepted(child.brief, f"children[{i}].brief") for i, child in enumerate(ask.children)]


def _refuse_too_many(tx: Transaction, parent: TaskRow, children: int) -> None:
    unfinished = tx.one("unfinished_under_root", serial=parent.serial).value
    if unfinished + children > DESCENDANTS_UNFINISHED_MAX:
        raise InvalidRequest(
            f"children: more than {DESCENDANTS_UNFINISHED_MAX:,} unfinished descendants under one root"
        )


def _child(
    tx: Transaction, caller: Caller, parent: TaskRow, queue: QueueRow, task_ids: tuple[str, ...], index: int,
    child: Child, brief: str,
) -> NewTask:  # fmt: skip
    """Fill in what the parent supplies, and refuse what it may not hand on."""
    effect = parent.effect if child.effect_class is None else EFFECT_RANK[child.effect_class]
    home, queue = queue, queue if child.queue is None else tasks.queue_known(tx, caller, child.queue)
    kind = child.kind or parent.kind
    grants.covers_task(caller, queue.name, kind)
    grants.holds_effect(caller, effect)
    if effect > parent.effect:
        raise ScopeDenied(f"children[{index}].effect_class: broader than the parent's")
    _refuse_leaving(home, queue, kind, brief, f"children[{index}]")
    depends_on = tuple(task_ids[earlier] for earlier in dict.fromkeys(child.after))
    return NewTask(
        task_id=task_ids[index],
        queue=queue.queue,
        kind=kind,
        effect=effect,
        priority=parent.priority if child.priority is None else child.priority,
        brief=brief,
        sha256=briefs.digest(brief),
        now=tx.now,
        depends_on=depends_on,
        pending_deps=len(depends_on),
        parent=parent.serial,
        depth=parent.depth + 1,
    )


def _refuse_leaving(home: QueueRow, queue: QueueRow, kind: str, brief: str, place: str) -> None:
    """A workspace's tasks have children of its own: in its queues, of its kind, with a brief that its agents
    can be told; and no other task has.
    """
    if queue.workspace_id != home.workspace_id:
        raise InvalidRequest(f"{place}.queue: belongs to another workspace than its parent's")
    if home.workspace_id is None:
        return
    if kind != LITE:
        raise InvalidRequest(f"{place}.kind: in a workspace every task is {LITE}")
    details.of_brief(brief, place)
