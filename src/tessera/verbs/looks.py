"""Looks: verbs that only read."""

from __future__ import annotations

from tessera.limits import PAGE_BRIEFS_BYTES_MAX, SECOND_US
from tessera.models import (
    NULL,
    AskCounts,
    AskTask,
    Counts,
    Event,
    Events,
    Health,
    ListEvents,
    ListNames,
    ListTasks,
    Nothing,
    QueueCounts,
    QueueHealth,
    Queues,
    Raw,
    Result,
    Results,
    TaskRef,
    Tasks,
    TaskView,
)  # fmt: skip
from tessera.names import EVENT_TYPES, VERSION
from tessera.rows import CountsRow, EventRow, HealthRow, QueueRow, ResultRow, TaskRow
from tessera.rules import grants
from tessera.rules.grants import Caller
from tessera.rules.paging import page_of
from tessera.runtime import Runtime, rfc3339
from tessera.states import STATE_NUMBER, STATES
from tessera.steps import leases
from tessera.steps import tasks as steps
from tessera.storage.port import Transaction
from tessera.verbs.define_queue import shown


def queues(tx: Transaction, runtime: Runtime, caller: Caller, ask: ListNames) -> Queues:
    """A page of the queues with their settings, by name; of the workspaces' those that exist for the
    caller.
    """
    sight = grants.workspace_in_sight(caller)
    rows: list[QueueRow] = tx.all(
        "queues_page", after=ask.after or "", workspace_id=sight, limit=ask.limit + 1
    )
    page, after = page_of(rows, ask.limit, "name")
    return Queues(queues=[shown(row) for row in page], next=after)


def task(tx: Transaction, runtime: Runtime, caller: Caller, ask: AskTask) -> TaskView:
    """One task."""
    row = steps.known(tx, caller, ask.task_id)
    grants.covers_queue(caller, steps.queue_of(tx, row).name)
    return steps.view(tx, caller, row)


def tasks(tx: Transaction, runtime: Runtime, caller: Caller, ask: ListTasks) -> Tasks:
    """A page of the tasks in the queues that the caller covers, oldest first. A page ends early when its
    briefs grow large; `next` says whether there is more.
    """
    after = 0 if not ask.after else steps.known(tx, caller, ask.after).serial
    rows: list[TaskRow] = tx.all(
        "tasks_page",
        after=after,
        state=None if ask.state is None else STATE_NUMBER[ask.state],
        kind=ask.kind,
        queues=steps.covered(tx, caller, ask.queue),
        limit=ask.limit + 1,
    )
    page: list[TaskView] = []
    size = 0
    for row in rows[: ask.limit]:
        page.append(steps.view(tx, caller, row))
        size += len(bytes(page[-1].brief))
        if size > PAGE_BRIEFS_BYTES_MAX:
            break
    return Tasks(tasks=page, next=page[-1].task_id if len(page) < len(rows) else None)


def results(tx: Transaction, runtime: Runtime, caller: Caller, ask: TaskRef) -> Results:
    """Every submit of a task, oldest first."""
    row = steps.known(tx, caller, ask.task_id)
    grants.covers_queue(caller, steps.queue_of(tx, row).name)
    return Results(results=[_result(row, one) for one in tx.all("results_of", serial=row.serial)])


def counts(tx: Transaction, runtime: Runtime, caller: Caller, ask: AskCounts) -> Counts:
    """Every queue's counts; on request also counted from the tasks themselves, in the same instant."""
    in_sight = _names(tx, caller)
    kept, as_of = _by_queue(tx.all("counts"), in_sight), rfc3339(tx.now)
    if not ask.recount:
        return Counts(as_of=as_of, queues=kept)
    counted = _by_queue(tx.all("recount"), in_sight)
    return Counts(as_of=as_of, queues=kept, recount=counted, agree=kept == counted)


def health(tx: Transaction, runtime: Runtime, caller: Caller, ask: Nothing) -> Health:
    """Whether the store answers, and what waits in it. Needs no key."""
    reaped, in_sight = tx.one("reaper_last_run"), _names(tx, caller)
    return Health(
        db_ok=True,
        version=VERSION,
        time=rfc3339(tx.now),
        reaper_last_run=None if reaped is None else rfc3339(reaped.value),
        queues={
            row.name: _health(row, tx.now) for row in tx.all("health", now=tx.now) if row.name in in_sight
        },
    )


def events(tx: Transaction, runtime: Runtime, caller: Caller, ask: ListEvents) -> Events:
    """A page of the log after a given `seq`."""
    grants.is_admin(caller)
    return Events(events=[event(row) for row in tx.all("events_after", after=ask.after, limit=ask.limit)])


def _names(tx: Transaction, caller: Caller) -> set[str]:
    return {queue.name for queue in steps.queues_in_sight(tx, caller)}


def _by_queue(rows: list[CountsRow], in_sight: set[str]) -> dict[str, QueueCounts]:
    return {
        row.name: QueueCounts(**{state: getattr(row, state) for state in STATES})
        for row in rows
        if row.name in in_sight
    }


def _health(row: HealthRow, now: int) -> QueueHealth:
    oldest = row.oldest_ready_at
    return QueueHealth(
        **{state: getattr(row, state) for state in STATES},
        oldest_ready_age_seconds=None if oldest is None else (now - oldest) / SECOND_US,
        expired_leases=row.expired_leases,
    )


def _result(task: TaskRow, row: ResultRow) -> Result:
    return Result(
        result_id=leases.result_id(row.result),
        task_id=task.task_id,
        fencing_token=row.fencing_token,
        worker=row.worker,
        ok=bool(row.ok),
        output=Raw(row.output.encode()),
        error=row.error,
        sha256=row.sha256,
        idempotency_key=row.idempotency_key,
        submitted_at=rfc3339(row.submitted_at),
    )


def event(row: EventRow) -> Event:
    """A line of the log as it is shown."""
    return Event(
        seq=row.seq,
        at=rfc3339(row.at),
        type=EVENT_TYPES[row.type],
        queue=row.queue,
        task_id=row.task_id,
        worker=row.worker,
        fencing_token=row.fencing_token,
        key_id=row.key_id,
        data=NULL if row.data is None else Raw(row.data.encode()),
    )
