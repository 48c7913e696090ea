"""Views of what comes in numbers: batches and model jobs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from rich.console import RenderableType
from rich.text import Text

from tessera import models
from tessera.cli import layout
from tessera.errors import TesseraError

REFUSED: Final = "refused"


@dataclass(frozen=True, slots=True)
class HandedIn:
    """What came of each submit of a batch, beside the task that it named."""

    task_ids: list[str]
    results: list[models.Receipt | TesseraError]


def enqueued(answer: models.EnqueuedBatch) -> RenderableType:
    """The bare ids, ready for a shell loop."""
    return Text("\n".join(answer.task_ids))


def leases(answer: models.Leases) -> RenderableType:
    """A line for each lease, with what its holder needs to act on it."""
    rows = (
        (one.task_id, one.fencing_token, one.queue, one.kind, one.priority, one.attempts,
         layout.moment(one.expires_at), layout.short(one.brief))
        for one in answer.leases
    )  # fmt: skip
    return layout.table("task, token, queue, kind, priority, attempt, lapses, brief", rows, none="")


def handed_in(answer: HandedIn) -> RenderableType:
    """A line for each submit."""
    pairs = zip(answer.task_ids, answer.results, strict=True)
    rows = ((task_id, *_fate(result)) for task_id, result in pairs)
    return layout.table("task, outcome, task is now, receipt or reason", rows, none="")


def _fate(result: models.Receipt | TesseraError) -> tuple[str, str | None, str]:
    if isinstance(result, TesseraError):
        return REFUSED, None, f"{result.code}: {result.detail}"
    outcome = "ok" if result.ok else "failed"
    return f"{outcome}, replayed" if result.replayed else outcome, result.state, result.sha256


def job(answer: models.Job) -> RenderableType:
    """A table of one."""
    return jobs(models.Jobs([answer], next=None))


def jobs(answer: models.Jobs) -> RenderableType:
    """A line for each job."""
    rows = (
        (j.job_id, j.task_id, j.fencing_token, j.model, j.status, j.cost_usd, layout.short(j.usage),
         layout.moment(j.updated_at))
        for j in answer.jobs
    )  # fmt: skip
    return layout.table("job, task, token, model, status, cost (USD), usage, updated", rows, "No such jobs.")
