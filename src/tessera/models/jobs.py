"""Model jobs: work that a lease's holder has given to a model lane."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from tessera import limits
from tessera.models.base import NULL, AfterId, Answer, Document, KnownId, Limit, Model, TaskId, Token

Cost = Annotated[float, Meta(ge=0)]
JobStatus = Literal["queued", "in_progress", "completed", "failed", "cancelled", "incomplete"]


class RegisterJob(Model, frozen=True):
    """A job that a lease's holder has started."""

    task_id: KnownId
    fencing_token: Token
    job_id: TaskId
    model: Annotated[str, Meta(min_length=1, max_length=limits.MODEL_CHARS_MAX)]


class UpdateJob(Model, frozen=True):
    """What the model lane says of a job; what is left out stays. `cancel_requested` is Tessera's own word."""

    job_id: KnownId
    status: JobStatus | None = None
    usage: Document = NULL  # an object
    cost_usd: Cost | None = None


class ListJobs(Model, frozen=True):
    """Which jobs to list, oldest first; `after` is the last job of the page before."""

    task_id: KnownId | None = None
    limit: Limit = limits.PAGE_DEFAULT
    after: AfterId | None = None


class Job(Answer, frozen=True):
    """A model job. Times are RFC 3339; `cost_usd` is US dollars, null until somebody says."""

    job_id: str
    task_id: str
    fencing_token: int
    model: str
    status: str
    usage: Document
    cost_usd: float | None
    created_at: str
    updated_at: str


class KnownJob(Job, frozen=True):
    """The job was registered already; nothing has changed."""


class Jobs(Answer, frozen=True):
    """A page of jobs; `next` is the cursor of the page that follows, null at the end."""

    jobs: list[Job]
    next: str | None
