"""Which trace a task belongs to. Pure."""

from __future__ import annotations

from msgspec import structs

from tessera.models import Model, TaskBatch, TaskSpec


def of_tasks(ask: Model, traceparent: str | None) -> Model:
    """An enqueue whose tasks, where they name no trace of their own, are of this one; any other ask as it
    is.
    """
    if traceparent is None:
        return ask
    match ask:
        case TaskSpec(traceparent=None):
            return structs.replace(ask, traceparent=traceparent)
        case TaskBatch():
            tasks = [
                task if task.traceparent is not None else structs.replace(task, traceparent=traceparent)
                for task in ask.tasks
            ]
            return structs.replace(ask, tasks=tasks)
        case _:
            return ask
