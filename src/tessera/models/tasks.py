"""Tasks: what is enqueued, and how a task is seen."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from tessera import limits, names
from tessera.models.base import (
    AfterId,
    Answer,
    Delay,
    Dependencies,
    Document,
    EffectClass,
    KnownId,
    Limit,
    Model,
    Name,
    Priority,
    State,
    TaskId,
    Wait,
)


class TaskSpec(Model, frozen=True):
    """A task to enqueue. (Specification §5.2.)"""

    queue: Name
    kind: Name
    brief: Document
    effect_class: EffectClass = "read"
    priority: Priority = 0
    task_id: TaskId | None = None
    depends_on: Dependencies = []
    delay_seconds: Delay = 0
    traceparent: Annotated[str, Meta(pattern=names.TRACEPARENT_PATTERN)] | None = None


class TaskBatch(Model, frozen=True):
    """Tasks to enqueue together, all or none. A later one may depend on an earlier one by its id."""

    tasks: Annotated[list[TaskSpec], Meta(min_length=1, max_length=limits.TASKS_PER_BATCH_MAX)]


class TaskRef(Model, frozen=True):
    """Names a task."""

    task_id: KnownId


class AskTask(TaskRef, frozen=True):
    """Names a task, and how long a service may wait for its end; a store at hand answers at once."""

    wait: Wait = 0


class Enqueued(Answer, frozen=True):
    """The task that was put on a queue, or was there already."""

    task_id: str


class EnqueuedBefore(Enqueued, frozen=True):
    """The task was there already; nothing has changed."""


class EnqueuedBatch(Answer, frozen=True):
    """The tasks of a batch, in the order given."""

    task_ids: list[str]


class ListTasks(Model, frozen=True):
    """Which tasks to list, oldest first; `after` is the last task of the page before."""

    queue: Name | None = None
    state: State | None = None
    kind: Name | None = None
    limit: Limit = limits.PAGE_DEFAULT
    after: AfterId | None = None


class TaskView(Answer, frozen=True):
    """A task as its followers see it."""

    task_id: str
    queue: str
    kind: str
    effect_class: str
    priority: int
    state: str
    wait_reason: str | None
    brief: Document
    parent_id: str | None
    depth: int
    attempts: int
    failures: int
    parks: int
    fencing_token: int
    pending_children: int
    pending_deps: int
    depends_on: list[str]
    children: list[str]
    worker: str | None
    claimed_at: str | None
    expires_at: str | None
    created_at: str
    updated_at: str
    not_before: str | None
    park_reason: str | None
    parked_by: str | None
    resume_at: str | None
    last_error: str | None
    cancel_reason: str | None
    requeued_from: str | None


class Tasks(Answer, frozen=True):
    """A page of tasks; `next` is the cursor of the page that follows, null at the end."""

    tasks: list[TaskView]
    next: str | None
