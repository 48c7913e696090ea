"""The one place where a task's state, its lease, its queue's counts and its event change together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tessera import states
from tessera.canonical import json_text
from tessera.errors import NotFound
from tessera.models import NULL, Raw, TaskView
from tessera.names import EFFECT_CLASSES
from tessera.rows import NamedTask, QueueRow, TaskRow
from tessera.rules import grants
from tessera.rules.grants import Caller
from tessera.rules.moves import NewTask
from tessera.runtime import rfc3339, rfc3339_or_none
from tessera.states import INPUT, LEASED, NEW, WAITING
from tessera.steps import briefs, journal
from tessera.storage.port import Transaction


def known(tx: Transaction, caller: Caller, task_id: str) -> TaskRow:
    """The task's row, or `not_found`: also for one of a workspace that the caller knows nothing of."""
    task: TaskRow | None = tx.one("task_named", task_id=task_id)
    if task is None or not in_sight(tx, caller, task):
        raise NotFound("no such task")
    return task


def in_sight(tx: Transaction, caller: Caller, task: TaskRow) -> bool:
    """Whether a task exists for a caller."""
    return grants.sees_workspace(caller, queue_of(tx, task).workspace_id)


def each_known(tx: Transaction, task_ids: Sequence[str]) -> dict[str, TaskRow]:
    """The rows of those tasks that exist, by id."""
    if len(task_ids) == 1:
        only = tx.one("task_named", task_id=task_ids[0])
        return {} if only is None else {task_ids[0]: only}
    return {row.task_id: row for row in tx.all("each_task_named", task_ids=json_text(list(task_ids)))}


def named(tx: Transaction, task_ids: Iterable[str | None]) -> dict[str, NamedTask]:
    """Whatever exists of some ids, by id, whoever asks; None names nothing."""
    wanted = sorted({task_id for task_id in task_ids if task_id is not None})
    if not wanted:
        return {}
    return {task.task_id: task for task in tx.all("tasks_named", task_ids=json_text(wanted))}


def queue_known(tx: Transaction, caller: Caller, name: str) -> QueueRow:
    """The queue's settings, or `not_found`: also for one of a workspace that the caller knows nothing of."""
    queue: QueueRow | None = tx.one("queue_named", name=name)
    if queue is None or not grants.sees_workspace(caller, queue.workspace_id):
        raise NotFound(f"no queue {name}: define it first")
    return queue


def queues_in_sight(tx: Transaction, caller: Caller) -> list[QueueRow]:
    """Every queue that exists for a caller, by name, whether or not the grant covers it."""
    queues: list[QueueRow] = tx.all("all_queues")
    return [queue for queue in queues if grants.sees_workspace(caller, queue.workspace_id)]


def queue_of(tx: Transaction, task: TaskRow) -> QueueRow:
    """The settings of a task's queue."""
    return tx.one("queue_numbered", queue=task.queue)


def covered(tx: Transaction, caller: Caller, queue: str | None) -> str | None:
    """The numbers of the queues that a list looks in, as a JSON array; None means every queue."""
    if queue is not None:
        known = queue_known(tx, caller, queue)
        grants.covers_queue(caller, queue)
        return json_text([known.queue])
    if caller.queues is None and caller.admin:
        return None
    in_sight = queues_in_sight(tx, caller)
    return json_text([row.queue for row in in_sight if grants.sees_queue(caller, row.name)])


def move(
    tx: Transaction, before: TaskRow, after: TaskRow, event: str, key_id: str | None, **data: object
) -> None:
    """Move a task from the row as read to the row it becomes."""
    move_all(tx, [before], [after], event, [key_id], **data)


def move_all(
    tx: Transaction, before: Sequence[TaskRow], after: Sequence[TaskRow], event: str,
    key_ids: Sequence[str | None], **data: object,
) -> None:  # fmt: skip
    """Move tasks, all from one state to one other, from the rows as read to the rows they become: state,
    lease, count, timer and event together. Each event names the lease that began or ended, and whose key
    acted.
    """
    came_from, goes_to = before[0].state, after[0].state
    assert event in states.TASK[came_from, goes_to], event
    begins, ends = goes_to == LEASED, came_from == LEASED
    tx.save_all("save_task", after)
    if begins:
        tx.save_all("insert_lease", after)
    elif ends:
        tx.save_all("end_lease", before)
    said = json_text(data) if data else None
    moved: dict[int, int] = {}
    for old, new, key_id in zip(before, after, key_ids, strict=True):
        assert (old.state, new.state) == (came_from, goes_to), event
        moved[new.queue] = moved.get(new.queue, 0) + 1
        due = new.expires_at if begins else new.due
        if due is not None:
            tx.alarm(new.queue, due)
        journal.note(tx, event, old if ends else new, key_id, said)
    for queue, number in moved.items():
        tx.count(queue, came_from, goes_to, number)


def save(tx: Transaction, after: TaskRow) -> None:
    """Write a task's row. It must be as it was read, else the race is lost."""
    tx.save("save_task", after)
    if after.due is not None:
        tx.alarm(after.queue, after.due)


def missing_lanes(tx: Transaction, wanted: set[tuple[int, str, int]]) -> list[tuple[int, str, int]]:
    """Which of some (queue, kind, effect) have no lane yet."""
    return [
        (queue, kind, effect)
        for queue, kind, effect in sorted(wanted)
        if tx.one("lane_of", queue=queue, kind=kind, effect=effect) is None
    ]


def add_lanes(tx: Transaction, missing: list[tuple[int, str, int]]) -> None:
    """Open the lanes that new tasks will stand in."""
    for queue, kind, effect in missing:
        tx.write("add_lane", queue=queue, kind=kind, effect=effect)


def add_all(
    tx: Transaction,
    new: Sequence[NewTask],
    event: str,
    key_id: str | None,
    data: Mapping[str, Mapping[str, object]],
) -> None:
    """Insert tasks, ready or waiting for their dependencies, with their briefs, counts and events (and what
    an event says of a task, by its id). Their lanes exist; what they depend on exists or comes before them.
    """
    if not new:
        return
    tx.save_all("insert_task", new)
    tx.save_all("insert_brief", new)
    for task in new:
        if task.depends_on:
            dependencies = json_text(list(task.depends_on))
            tx.write("mark_dependencies", dependencies=dependencies)
            tx.write("insert_dependencies", task_id=task.task_id, dependencies=dependencies)
        tx.count(task.queue, NEW, task.state)
        if task.due is not None:
            tx.alarm(task.queue, task.due)
        said = data.get(task.task_id)
        tx.event(event, task.queue, task.task_id, key_id=key_id, data=json_text(said) if said else None)


def view(tx: Transaction, caller: Caller, task: TaskRow) -> TaskView:
    """A task as its followers see it. A workspace's keys are shown a brief only under the lease that they
    have won.
    """
    leased, parked = task.state == LEASED, task.state == WAITING and task.wait_reason == INPUT
    shows_brief = caller.workspace_id is None or (leased and task.key_id == caller.key_id)
    brief = briefs.intact(tx, task) if shows_brief else None
    return TaskView(
        task_id=task.task_id,
        queue=queue_of(tx, task).name,
        kind=task.kind,
        effect_class=EFFECT_CLASSES[task.effect],
        priority=task.priority,
        state=states.STATES[task.state],
        wait_reason=None if task.wait_reason is None else states.WAIT_REASONS[task.wait_reason],
        brief=NULL if brief is None else Raw(brief.text.encode()),
        parent_id=id_of(tx, task.parent),
        depth=task.depth,
        attempts=task.attempts,
        failures=task.failures,
        parks=task.parks,
        fencing_token=task.fencing_token,
        pending_children=task.pending_children,
        pending_deps=task.pending_deps,
        depends_on=[one.value for one in tx.all("dependency_ids", serial=task.serial)],
        children=[one.value for one in tx.all("child_ids", serial=task.serial)],
        worker=task.worker if leased else None,
        claimed_at=rfc3339_or_none(task.claimed_at),
        expires_at=rfc3339_or_none(task.expires_at),
        created_at=rfc3339(task.created_at),
        updated_at=rfc3339(task.updated_at),
        not_before=rfc3339_or_none(task.not_before),
        park_reason=task.park_reason,
        parked_by=task.parked_by,
        resume_at=rfc3339_or_none(task.due) if parked else None,
        last_error=task.last_error,
        cancel_reason=task.cancel_reason,
        requeued_from=id_of(tx, task.requeued_from),
    )


def id_of(tx: Transaction, serial: int | None) -> str | None:
    """The public name of a task that another one's row refers to."""
    return None if serial is None else tx.one("id_of", serial=serial).value
