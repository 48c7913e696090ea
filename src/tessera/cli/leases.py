"""The life of a lease, one command per verb: claim, heartbeat, submit, split, park, resume, release."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from tessera.cli import options

if TYPE_CHECKING:
    from tessera.library import Tessera


@click.command()
@options.queues
@options.worker
@options.kinds
@click.option("--effect", "effect_classes", multiple=True, type=options.EFFECT,
              help="Take only this effect class; may be repeated.")  # fmt: skip
@click.option("--limit", type=int, metavar="N",
              help="Take up to N tasks at once, at most 100; the answer is a list.")  # fmt: skip
@click.option("--wait", "wait_seconds", type=options.Seconds(min=0, max=30), default=0, metavar="SECONDS",
              help="Wait up to 30 seconds for a task. Left out: do not wait.")  # fmt: skip
@click.option("--idempotency-key", metavar="KEY", help="The same key gives the same lease while it lives.")
@options.prints
@options.takes_store
def claim(
    store: Tessera, say: Any, queues: tuple[str, ...], worker: str, kinds: tuple[str, ...],
    effect_classes: tuple[str, ...], limit: int | None, wait_seconds: float, idempotency_key: str | None,
) -> None:  # fmt: skip
    """Take the next task of one or more queues. Finding nothing is no failure: it says when to come back.

    Several queues are served in proportion to their weight.

    \b
    Example:
      tessera claim builds --worker w1 --kind compile --wait 20 --json
      tessera claim builds tests --worker w1 --limit 10
    """
    from tessera import models

    asked: dict[str, Any] = {
        "kinds": kinds or None, "effect_classes": effect_classes or None,
        "idempotency_key": idempotency_key, "wait_seconds": wait_seconds,
    }  # fmt: skip
    answer: models.Lease | models.Leases | models.Empty
    if limit is None:
        answer = store.claim_or_wait(queues, worker, **asked)
    else:
        answer = store.claim_batch_or_wait(queues, worker, limit, **asked)
    if isinstance(answer, models.Empty):
        nothing: dict[str, object] = {"lease": None} if limit is None else {"leases": []}
        say(answer, wire={**nothing, "retry_after_seconds": answer.retry_after_seconds})
    else:
        say(answer)


@click.command()
@options.task
@options.token
@options.prints
@options.takes_store
def heartbeat(store: Tessera, say: Any, task_id: str, fencing_token: int) -> None:
    """Keep a lease alive, never past its hard deadline.

    \b
    Example:
      tessera heartbeat t_0198c2 1
    """
    say(store.heartbeat(task_id, fencing_token))


@click.command()
@options.task
@options.token
@click.argument("output", type=options.DOCUMENT, required=False, default="null")
@click.option("--idempotency-key", metavar="KEY",
              help='The same key returns the first receipt. Left out: "TASK:TOKEN".')  # fmt: skip
@click.option("--failed", is_flag=True, help="The work failed: the task is retried, or dead after too many.")
@click.option("--error", metavar="TEXT", help="What went wrong; goes with --failed.")
@options.prints
@options.takes_store
@click.pass_context
def submit(
    ctx: click.Context, store: Tessera, say: Any, task_id: str, fencing_token: int, output: Any,
    idempotency_key: str | None, failed: bool, error: str | None,
) -> None:  # fmt: skip
    """Hand in what came of a lease. OUTPUT is JSON, @FILE, or - for standard input.

    \b
    Example:
      tessera submit t_0198c2 1 '{"pages": 12}'
      tessera submit t_0198c2 1 --failed --error "compiler crashed"
    """
    left_out = ctx.get_parameter_source("output") is click.core.ParameterSource.DEFAULT
    if error is not None and not failed:
        raise click.UsageError("--error goes with --failed", ctx)
    if left_out and not failed:
        raise click.UsageError("OUTPUT is missing; write null to hand in nothing", ctx)
    key = idempotency_key or f"{task_id}:{fencing_token}"
    say(store.submit(task_id, fencing_token, output, key, ok=not failed, error=error))


@click.command()
@options.task
@options.token
@click.argument("children", type=options.DOCUMENT)
@options.prints
@options.takes_store
def split(store: Tessera, say: Any, task_id: str, fencing_token: int, children: Any) -> None:
    """Turn a task into children and let it wait for them. CHILDREN is a JSON list, @FILE, or -.

    Each child is an object with a brief and, where it differs from the parent's, a kind, queue, effect_class,
    priority or task_id. `after` lists the indexes of earlier children that it waits for.

    \b
    Example:
      tessera split t_0198c2 1 '[{"brief": {"part": 1}}, {"brief": {"part": 2}, "after": [0]}]'
    """
    from tessera import models

    if not isinstance(children, list):
        raise click.BadParameter("not a JSON list", param_hint="'CHILDREN'")
    say(models.Children(store.split(task_id, fencing_token, children)))


@click.command()
@options.task
@options.token
@click.argument("reason")
@click.option("--resume-within", type=options.SECONDS, metavar="SECONDS",
              help="Come back by itself after this long, with the input {\"timed_out\": true}.")  # fmt: skip
@click.option("--input-schema", type=options.DOCUMENT, metavar="JSON",
              help="A JSON Schema that the input must satisfy; may be @FILE or -.")  # fmt: skip
@options.prints
@options.takes_store
def park(store: Tessera, say: Any, task_id: str, fencing_token: int, reason: str, **terms: Any) -> None:
    """Give a lease back until somebody supplies what is missing. No failure is counted.

    \b
    Example:
      tessera park t_0198c2 1 "which licence?" --resume-within 86400
    """
    say(store.park(task_id, fencing_token, reason, **options.given(**terms)))


@click.command()
@options.task
@click.argument("input", type=options.DOCUMENT)
@click.option("--park", type=int, metavar="N", help="Answer the task's Nth park and no other.")
@options.prints
@options.takes_store
def resume(store: Tessera, say: Any, task_id: str, input: Any, park: int | None) -> None:
    """Supply what a parked task waits for. INPUT is JSON, @FILE, or - for standard input.

    \b
    Example:
      tessera resume t_0198c2 '{"licence": "Apache-2.0"}' --park 1
    """
    say(store.resume(task_id, input, park))


@click.command()
@options.task
@options.token
@click.option("--delay", "delay_seconds", type=options.SECONDS, default=0, metavar="SECONDS",
              help="Let nobody claim it before this long. Left out: at once.")  # fmt: skip
@options.prints
@options.takes_store
def release(store: Tessera, say: Any, task_id: str, fencing_token: int, delay_seconds: float) -> None:
    """Give a lease back unharmed: no failure is counted.

    \b
    Example:
      tessera release t_0198c2 1 --delay 60
    """
    say(store.release(task_id, fencing_token, delay_seconds))
