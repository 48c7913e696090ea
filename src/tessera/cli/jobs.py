"""`tessera jobs`: the work that a lease's holder has given to a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import click

from tessera.cli import options

if TYPE_CHECKING:
    from tessera.library import Tessera

# What a model lane may say; that a job was asked to stop is Tessera's own word.
STATUSES: Final = ("queued", "in_progress", "completed", "failed", "cancelled", "incomplete")

job = click.argument("job_id", metavar="JOB_ID")


@click.group()
def jobs() -> None:
    """Note the model jobs of a lease, update and list them.

    \b
    Example:
      tessera jobs register t_0198c2 1 resp_68af --model muse-large
    """


@jobs.command()
@options.task
@options.token
@job
@click.option("--model", required=True, metavar="NAME", help="The model that works on it.")
@options.prints
@options.takes_store
def register(store: Tessera, say: Any, task_id: str, fencing_token: int, job_id: str, model: str) -> None:
    """Note, under a live lease, that a model works on the task. The same again changes nothing.

    \b
    Example:
      tessera jobs register t_0198c2 1 resp_68af --model muse-large
    """
    say(store.register_job(task_id, fencing_token, job_id, model))


@jobs.command()
@job
@click.option("--status", type=click.Choice(STATUSES), help="What the model lane says of it.")
@click.option("--usage", type=options.DOCUMENT, metavar="JSON",
              help="What it has used, a JSON object; may be @FILE or -.")  # fmt: skip
@click.option("--cost-usd", type=options.Dollars(min=0), metavar="USD", help="What it has cost.")
@options.prints
@options.takes_store
def update(store: Tessera, say: Any, job_id: str, **news: Any) -> None:
    """Note what has become of a job; what is left out stays. Shows `cancel_requested` if it should stop.

    A job that is cancelled under its live lease fails its task, as a failed submit would.

    \b
    Example:
      tessera jobs update resp_68af --status completed --usage '{"output_tokens": 812}' --cost-usd 0.0153
    """
    given = options.given(**news)
    if not given:
        ctx = click.get_current_context()
        raise click.UsageError("nothing to note: give --status, --usage or --cost-usd", ctx)
    say(store.update_job(job_id, **given))


@jobs.command("list")
@click.argument("task_id", metavar="TASK", required=False)
@options.paged("job", "JOB_ID")
@options.prints
@options.takes_store
def list_(store: Tessera, say: Any, task_id: str | None, limit: int, after: str | None) -> None:
    """List a page of jobs, oldest first, of one task or of all.

    \b
    Example:
      tessera jobs list t_0198c2 --json
    """
    say(store.jobs(task_id, limit=limit, after=after))
