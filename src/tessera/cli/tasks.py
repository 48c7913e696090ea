"""Tasks from outside a lease: enqueue, look, wait, cancel, requeue."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from tessera.cli import options
from tessera.limits import SECOND_US, WAIT_SECONDS_MAX
from tessera.states import ENDED_STATES, STATES

if TYPE_CHECKING:
    from tessera import models
    from tessera.library import Tessera


@click.command()
@options.queue
@click.argument("kind")
@click.argument("brief", type=options.DOCUMENT)
@click.option(
    "--effect", "effect_class", type=options.EFFECT, help="What the task may change. Left out: read."
)
@click.option("--priority", type=int, help="High goes first, -1000 to 1000. Left out: 0.")
@click.option("--depends-on", multiple=True, metavar="ID", help="Wait for this task; may be repeated.")
@click.option(
    "--task-id", metavar="ID", help="The task's id; one that the queue has already changes nothing."
)
@click.option("--delay", "delay_seconds", type=options.SECONDS, metavar="SECONDS", help="Not before.")
@click.option("--traceparent", help="W3C trace context to carry along.")
@options.prints
@options.takes_store
def enqueue(store: Tessera, say: Any, **spec: Any) -> None:
    """Put a task on a queue and print its id. BRIEF is a JSON object, @FILE, or - for standard input.

    \b
    Example:
      tessera enqueue builds compile '{"target": "docs"}' --priority 5
      tessera enqueue builds compile @brief.json --depends-on t_0198c2
    """
    from tessera import models

    say(models.Enqueued(store.enqueue(options.given(**spec))))


@click.group()
def tasks() -> None:
    """List tasks, show one, read its results, wait for it.

    \b
    Example:
      tessera tasks list --queue builds --state waiting
    """


@tasks.command("list")
@click.option("--queue", help="Only this queue.")
@click.option("--state", type=click.Choice(STATES), help="Only this state.")
@click.option("--kind", help="Only this kind.")
@options.paged("task", "ID")
@options.prints
@options.takes_store
def list_(store: Tessera, say: Any, **which: Any) -> None:
    """List a page of tasks, oldest first.

    \b
    Example:
      tessera tasks list --queue builds --state dead --json
    """
    say(store.tasks(**which))


@tasks.command("show")
@options.task
@options.prints
@options.takes_store
def show_(store: Tessera, say: Any, task_id: str) -> None:
    """Show one task: its state, lease, brief, and what to do next.

    \b
    Example:
      tessera tasks show t_0198c2
    """
    say(store.task(task_id))


@tasks.command()
@options.task
@options.prints
@options.takes_store
def results(store: Tessera, say: Any, task_id: str) -> None:
    """List every submit of a task, oldest first.

    \b
    Example:
      tessera tasks results t_0198c2 --json
    """
    from tessera import models

    say(models.Results(store.results(task_id)))


@tasks.command()
@click.argument("task_ids", metavar="TASK...", nargs=-1, required=True)
@click.option("--timeout", type=options.SECONDS, metavar="SECONDS", help="Wait no longer. Left out: no end.")
@options.prints
@options.takes_store
def wait(store: Tessera, say: Any, task_ids: tuple[str, ...], timeout: float | None) -> None:
    """Wait until each task is done, dead or cancelled. Exits 0 if all are done; 1 if not, or not in time.

    \b
    Example:
      tessera tasks wait t_0198c2 t_0198c3 --timeout 600
    """
    from tessera import models

    left = _time_left(timeout)
    seen = {task_id: _ended(store, task_id, left) for task_id in task_ids}
    unfinished = sum(task.state not in ENDED_STATES for task in seen.values())
    say(models.Tasks(list(seen.values()), next=None))
    if unfinished:
        click.echo(f"{unfinished} of {len(seen)} tasks had not ended after {timeout:g} s.", err=True)
    if any(task.state != "done" for task in seen.values()):
        raise click.exceptions.Exit(1)


def _time_left(timeout: float | None) -> Callable[[], float]:
    """How many seconds of so many are left, whenever asked."""
    from tessera.runtime import real_runtime

    elapsed_us = real_runtime().elapsed_us
    start_us = elapsed_us()
    if timeout is None:
        return lambda: WAIT_SECONDS_MAX
    return lambda: max(0.0, timeout - (elapsed_us() - start_us) / SECOND_US)


def _ended(store: Tessera, task_id: str, left: Callable[[], float]) -> models.TaskView:
    """The task once it has ended, or as it is when no time is left."""
    while True:
        seconds = min(WAIT_SECONDS_MAX, left())
        task = store.task(task_id, wait_seconds=seconds)
        if task.state in ENDED_STATES or not seconds:
            return task


@click.command()
@options.task
@click.argument("reason")
@options.prints
@options.takes_store
def cancel(store: Tessera, say: Any, task_id: str, reason: str) -> None:
    """End a task and its unfinished descendants.

    \b
    Example:
      tessera cancel t_0198c2 "no longer needed"
    """
    say(store.cancel(task_id, reason))


@click.command()
@options.task
@options.prints
@options.takes_store
def requeue(store: Tessera, say: Any, task_id: str) -> None:
    """Put a dead task's work on its queue again as a new task, and print the new id.

    \b
    Example:
      tessera requeue t_0198c2
    """
    from tessera import models

    say(models.Enqueued(store.requeue(task_id)))
