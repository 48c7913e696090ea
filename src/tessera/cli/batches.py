"""Many tasks or outcomes at once, from a file: enqueue-batch and submit-batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from tessera.cli import options

if TYPE_CHECKING:
    from tessera.library import Tessera


@click.command()
@click.argument("tasks", metavar="FILE", type=options.DOCUMENTS)
@options.prints
@options.takes_store
def enqueue_batch(store: Tessera, say: Any, tasks: list[Any]) -> None:
    """Put many tasks on queues, all or none. Prints their ids in the order given.

    FILE (or @FILE) holds up to 1,000 tasks, as a JSON array or one a line; - is standard input. A task is an
    object with queue, kind and brief, and, if wanted, effect_class, priority, task_id, depends_on,
    delay_seconds and traceparent. It may depend on one further up by its task_id.

    \b
    Example:
      tessera enqueue-batch tasks.jsonl
      jq -c '{queue: "builds", kind: "compile", brief: .}' targets.json | tessera enqueue-batch -
    """
    from tessera import models

    say(models.EnqueuedBatch(store.enqueue_batch(tasks)))


@click.command()
@click.argument("submits", metavar="FILE", type=options.DOCUMENTS)
@options.prints
@options.takes_store
def submit_batch(store: Tessera, say: Any, submits: list[Any]) -> None:
    """Hand in what came of many leases, each standing alone. Exits 1 if any was refused.

    FILE (or @FILE) holds up to 100 outcomes, as a JSON array or one a line; - is standard input. An outcome
    is an object with task_id and fencing_token, and, if wanted, output, ok (false for a failure), error and
    idempotency_key; left out, the key is "TASK:TOKEN". Prints a line for each, in the order given.

    \b
    Example:
      tessera submit-batch outcomes.jsonl
      echo '{"task_id": "t_0198c2", "fencing_token": 1, "output": {"pages": 12}}' | tessera submit-batch -
    """
    from tessera import models
    from tessera.cli.show_many import HandedIn
    from tessera.errors import TesseraError

    results = store.submit_batch([_with_key(submit) for submit in submits])
    wire = [one.problem() if isinstance(one, TesseraError) else one for one in results]
    say(HandedIn([submit["task_id"] for submit in submits], results), wire=models.Submitted(wire))
    codes = [one.code for one in results if isinstance(one, TesseraError)]
    if codes:
        named = ", ".join(sorted(set(codes)))
        click.echo(f"error: {len(codes)} of {len(results)} were refused: {named}", err=True)
        raise click.exceptions.Exit(1)


def _with_key(submit: Any) -> Any:
    """The outcome with the key that `tessera submit` would give it. What is no outcome, the store refuses."""
    if not isinstance(submit, dict) or submit.get("idempotency_key") is not None:
        return submit
    return {**submit, "idempotency_key": f"{submit.get('task_id')}:{submit.get('fencing_token')}"}
