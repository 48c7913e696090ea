"""Leases: who holds one, what it carries."""

from __future__ import annotations

from functools import partial

from msgspec import Struct

from tessera.errors import StaleLease
from tessera.limits import LEASE_OUTPUTS_BYTES_MAX
from tessera.models import NULL, Input, Lease, Outcome, Raw
from tessera.names import EFFECT_CLASSES
from tessera.rows import OutcomeRow, QueueRow, TaskRow
from tessera.rules import grants
from tessera.rules.grants import Caller
from tessera.runtime import rfc3339
from tessera.states import LEASED, STATES
from tessera.steps import briefs, lapses, tasks
from tessera.steps.briefs import Brief
from tessera.storage.port import Overdue, Transaction


class Contents(Struct, frozen=True):
    """What a lease carries besides its own row: the brief, and what the task waited for."""

    brief: Brief
    parent_id: str | None
    children: list[Outcome] = []
    dependencies: list[Outcome] = []
    inputs: list[Input] = []


def held(tx: Transaction, caller: Caller, task_id: str, fencing_token: int) -> tuple[TaskRow, QueueRow]:
    """The task that the caller holds the live lease of, and its queue; everybody else is refused. The order
    is contract §2's: existence, queue and kind, then the lease.
    """
    task = tasks.known(tx, caller, task_id)
    queue = tasks.queue_of(tx, task)
    grants.covers_task(caller, queue.name, task.kind)
    is_live(tx, caller, task, fencing_token)
    return task, queue


def is_live(tx: Transaction, caller: Caller, task: TaskRow, fencing_token: int) -> None:
    """Refuse unless the caller holds the live lease. One that has just lapsed is settled, then refused."""
    if task.state != LEASED or task.fencing_token != fencing_token:
        raise StaleLease
    grants.owns_lease(caller, task.key_id)
    assert task.expires_at is not None
    if tx.now >= task.expires_at:
        raise Overdue(partial(lapses.settle_task, task.serial))


def shown(queue: QueueRow, task: TaskRow, contents: Contents) -> Lease:
    """A lease as its holder sees it."""
    assert task.worker is not None
    assert task.claimed_at is not None
    assert task.expires_at is not None
    assert task.hard_expires_at is not None
    return Lease(
        task_id=task.task_id,
        queue=queue.name,
        kind=task.kind,
        effect_class=EFFECT_CLASSES[task.effect],
        priority=task.priority,
        brief=Raw(contents.brief.text.encode()),
        worker=task.worker,
        fencing_token=task.fencing_token,
        attempts=task.attempts,
        failures=task.failures,
        parks=task.parks,
        claimed_at=rfc3339(task.claimed_at),
        expires_at=rfc3339(task.expires_at),
        hard_expires_at=rfc3339(task.hard_expires_at),
        heartbeat_seconds=queue.heartbeat_seconds,
        parent_id=contents.parent_id,
        depth=task.depth,
        traceparent=contents.brief.traceparent,
        children=contents.children,
        dependencies=contents.dependencies,
        inputs=contents.inputs,
    )


def brief_alone(tx: Transaction, task: TaskRow) -> Contents:
    """What a heartbeat's answer carries: the brief alone."""
    return Contents(briefs.for_holder(tx, task), tasks.id_of(tx, task.parent))


def contents(tx: Transaction, task: TaskRow, brief: Brief) -> Contents:
    """What a new lease carries. A plain task's carries nothing but the brief."""
    room = LEASE_OUTPUTS_BYTES_MAX
    children: list[Outcome] = []
    dependencies: list[Outcome] = []
    inputs: list[Input] = []
    if task.children:
        children, room = _outcomes(tx.all("children_of", serial=task.serial), room)
    if task.dependencies:
        dependencies, room = _outcomes(tx.all("dependencies_of", serial=task.serial), room)
    if task.parks:
        inputs = [
            Input(park=one.park, input=Raw(one.input.encode()), resumed_at=rfc3339(one.resumed_at))
            for one in tx.all("inputs_of", serial=task.serial)
        ]
    return Contents(brief, tasks.id_of(tx, task.parent), children, dependencies, inputs)


def result_id(result: int) -> str:
    """A stored submit's public name."""
    return f"r_{result:012x}"


def _outcomes(rows: list[OutcomeRow], room: int) -> tuple[list[Outcome], int]:
    """Outputs in order while there is room on the lease; beyond it only hashes and where to read them."""
    outcomes = []
    for row in rows:
        output = NULL
        if row.output is not None:
            document = row.output.encode()
            if len(document) <= room:
                output, room = Raw(document), room - len(document)
        outcomes.append(
            Outcome(
                task_id=row.task_id,
                kind=row.kind,
                state=STATES[row.state],
                output=output,
                output_sha256=row.sha256,
                result_id=None if row.result is None else result_id(row.result),
            )
        )
    return outcomes, room
