"""Model jobs of tasks whose lease has ended: they are asked to stop. (Specification §6.)

Two halves, because a verb reads before it writes: `running` first, `ask_to_stop` after.
"""

from __future__ import annotations

from collections.abc import Mapping

from tessera.canonical import json_text
from tessera.rows import Descendant, JobRow, TaskRow
from tessera.states import JOB_RUNNING
from tessera.storage.port import Transaction


def running(tx: Transaction, serials: list[int]) -> dict[int, int]:
    """How many jobs each of some tasks has running; tasks without any are left out."""
    if not serials:
        return {}
    return {row.serial: row.jobs for row in tx.all("jobs_running", serials=json_text(serials))}


def running_beside(tx: Transaction, job: JobRow) -> dict[int, int]:
    """The same for the task of a job that is about to end: that job is left out."""
    jobs = running(tx, [job.serial]).get(job.serial, 0) - (job.status in JOB_RUNNING)
    return {job.serial: jobs} if jobs else {}


def ask_to_stop(
    tx: Transaction, jobs: Mapping[int, int], tasks: Mapping[int, TaskRow | Descendant], key_id: str | None
) -> None:
    """Mark the running jobs of these tasks `cancel_requested`; one event a task, which names the lease that
    has ended.
    """
    if not jobs:
        return
    tx.write("stop_jobs", serials=json_text(sorted(jobs)), now=tx.now)
    for serial, number in jobs.items():
        task = tasks[serial]
        token, data = task.fencing_token or None, json_text({"jobs": number})
        tx.event("jobs_cancel_requested", task.queue, task.task_id, task.worker, token, key_id, data)
