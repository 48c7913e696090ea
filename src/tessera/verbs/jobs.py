"""register_job, update_job, jobs: work that a lease's holder has given to a model. (Specification §6.)

Tessera calls no model. Whoever runs the model lane registers a job under the lease, reports what becomes of
it, and is asked to stop when the lease has gone.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from msgspec import structs

from tessera.canonical import canonical, json_text
from tessera.errors import IdempotencyConflict, InvalidRequest, InvalidState, NotFound
from tessera.limits import USAGE_BYTES_MAX
from tessera.models import NULL, Job, Jobs, KnownJob, ListJobs, Raw, RegisterJob, UpdateJob
from tessera.rows import JobRow, QueueRow, TaskRow
from tessera.rules import grants
from tessera.rules.grants import Caller
from tessera.rules.paging import page_of
from tessera.runtime import Runtime, rfc3339
from tessera.states import CANCEL_REQUESTED, DEAD, JOB_ENDED, LEASED
from tessera.steps import failures, lapses, leases, resolve, tasks
from tessera.steps import jobs as steps
from tessera.storage.port import Overdue, Transaction

CANCELLED = "model job cancelled"


def register_job(tx: Transaction, runtime: Runtime, caller: Caller, ask: RegisterJob) -> Job:
    """Note a job under the live lease. The same job again is answered as it is; with other particulars it is
    a conflict.
    """
    task = tasks.known(tx, caller, ask.task_id)
    grants.covers_task(caller, tasks.queue_of(tx, task).name, task.kind)
    known: JobRow | None = tx.one("job_named", job_id=ask.job_id)
    if known is not None:
        return _same_job(caller, known, ask)
    leases.is_live(tx, caller, task, ask.fencing_token)
    job = JobRow(
        job=0,  # the database numbers it
        job_id=ask.job_id,
        serial=task.serial,
        fencing_token=ask.fencing_token,
        key_id=task.key_id,  # whoever claimed speaks of the job, also when the owner registered it
        model=ask.model,
        status="queued",
        usage="{}",
        cost_usd=None,
        created_at=tx.now,
        updated_at=tx.now,
        task_id=task.task_id,
        queue=task.queue,
    )
    runtime.reach("register_job.read")

    tx.save("insert_job", job)
    _note(tx, caller, "job_registered", job, task, job.status)
    runtime.reach("register_job.written")
    return _shown(job)


def update_job(tx: Transaction, runtime: Runtime, caller: Caller, ask: UpdateJob) -> Job:
    """Note what the model lane says of a job. An ended job stays ended. A job that was asked to stop shows
    that until it ends. One that is cancelled under its live lease returns its task as a failure.
    """
    usage = None if bytes(ask.usage) == bytes(NULL) else canonical(ask.usage, "usage", USAGE_BYTES_MAX)
    if usage is not None and not usage.startswith("{"):
        raise InvalidRequest("usage: must be an object")
    job = _known(tx, caller, ask.job_id)
    _owns(tx, caller, job)
    status = _next_status(job, ask.status)
    task: TaskRow = tx.one("task_numbered", serial=job.serial)
    failure = None
    others: dict[int, int] = {}
    if status == "cancelled" and job.status != status and _of_lease(job, task):
        _refuse_overdue(tx, task)
        failure = failures.foreseen(tx, runtime, task, CANCELLED)
        others = steps.running_beside(tx, job)
    waiters = resolve.awaiting(tx, [failure.after] if failure and failure.after.state == DEAD else [])
    runtime.reach("update_job.read")

    after = dict(
        status=status,
        usage=job.usage if usage is None else usage,
        cost_usd=job.cost_usd if ask.cost_usd is None else ask.cost_usd,
    )
    tx.write("update_job", job_id=job.job_id, read_status=job.status, now=tx.now, **after)
    _note(tx, caller, "job_updated", job, task, status)
    if failure is not None:
        failures.write(tx, failure, caller.key_id)
        steps.ask_to_stop(tx, others, {task.serial: task}, caller.key_id)
        resolve.release(tx, waiters)
    runtime.reach("update_job.written")
    return _shown(job, updated_at=tx.now, **after)


def jobs(tx: Transaction, runtime: Runtime, caller: Caller, ask: ListJobs) -> Jobs:
    """A page of jobs, oldest first, of one task or of every queue that the caller covers."""
    serial, queues = None, tasks.covered(tx, caller, None)
    if ask.task_id is not None:
        task = tasks.known(tx, caller, ask.task_id)
        grants.covers_queue(caller, tasks.queue_of(tx, task).name)
        serial = task.serial
    last = 0 if not ask.after else _known(tx, caller, ask.after).job
    rows = tx.all("jobs_page", serial=serial, queues=queues, after=last, limit=ask.limit + 1)
    page, after = page_of(rows, ask.limit, "job_id")
    return Jobs(jobs=[_shown(row) for row in page], next=after)


def _known(tx: Transaction, caller: Caller, job_id: str) -> JobRow:
    job: JobRow | None = tx.one("job_named", job_id=job_id)
    if job is None or not grants.sees_workspace(caller, _workspace_of(tx, job)):
        raise NotFound("no such job")
    return job


def _workspace_of(tx: Transaction, job: JobRow) -> str | None:
    queue: QueueRow = tx.one("queue_numbered", queue=job.queue)
    return queue.workspace_id


def _owns(tx: Transaction, caller: Caller, job: JobRow) -> None:
    """Only the key that claimed may speak of a job; the owner stands above."""
    grants.covers_queue(caller, tx.one("queue_numbered", queue=job.queue).name)
    grants.owns_lease(caller, job.key_id)


def _same_job(caller: Caller, known: JobRow, ask: RegisterJob) -> Job:
    asked = (ask.task_id, ask.fencing_token, ask.model)
    if asked != (known.task_id, known.fencing_token, known.model):
        raise IdempotencyConflict("the job id is in use with other particulars: choose another")
    grants.owns_lease(caller, known.key_id)
    return KnownJob(**structs.asdict(_shown(known)))


def _next_status(job: JobRow, asked: str | None) -> str:
    """What a job becomes: ended jobs stay as they are, a request to stop shows until the job ends."""
    if asked is None or asked == job.status:
        return job.status
    if job.status in JOB_ENDED:
        raise InvalidState(f"the job is {job.status} already")
    return asked if asked in JOB_ENDED or job.status != CANCEL_REQUESTED else CANCEL_REQUESTED


def _of_lease(job: JobRow, task: TaskRow) -> bool:
    """Whether the lease that the job was registered under is the one that the task is held by."""
    return task.state == LEASED and task.fencing_token == job.fencing_token


def _refuse_overdue(tx: Transaction, task: TaskRow) -> None:
    """A lease that has just lapsed is settled first."""
    assert task.expires_at is not None
    if tx.now >= task.expires_at:
        raise Overdue(partial(lapses.settle_task, task.serial))


def _note(tx: Transaction, caller: Caller, event: str, job: JobRow, task: TaskRow, status: str) -> None:
    """One line about a job, under its lease's token; the worker is named while that lease is out."""
    worker = task.worker if _of_lease(job, task) else None
    data = json_text({"job_id": job.job_id, "status": status})
    tx.event(event, job.queue, job.task_id, worker, job.fencing_token, caller.key_id, data)


def _shown(job: JobRow, **after: Any) -> Job:
    cost = after.get("cost_usd", job.cost_usd)
    return Job(
        job_id=job.job_id,
        task_id=job.task_id,
        fencing_token=job.fencing_token,
        model=job.model,
        status=after.get("status", job.status),
        usage=Raw(after.get("usage", job.usage).encode()),
        cost_usd=cost,
        created_at=rfc3339(job.created_at),
        updated_at=rfc3339(after.get("updated_at", job.updated_at)),
    )
