"""Answers for people: one view per model, chosen by its type."""

from __future__ import annotations

from collections.abc import Iterable
from functools import singledispatch
from typing import Final

import click
import msgspec
from rich.console import Group, RenderableType
from rich.text import Text

from tessera import models
from tessera.cli import (
    layout,
    show_blobs,
    show_keys,
    show_lite,
    show_many,
    show_recall,
    show_records,
    show_upkeep,
)
from tessera.cli.text import shortened, visible
from tessera.names import LITE

PAGES: Final = (
    models.Queues, models.Keys, models.Tasks, models.Jobs, models.Stores, models.Records, models.History,
    models.Feeds, models.Buckets, models.Objects, models.Versions, models.Workspaces, models.Claims,
)  # fmt: skip
STATES: Final = ", ".join(models.QueueCounts.__struct_fields__)


def show(answer: object) -> None:
    """Write an answer to standard output for a person to read; how to go on from a page of a list is told on
    standard error, for it is none of the list.
    """
    layout.write(view(answer))
    if isinstance(answer, PAGES) and answer.next is not None:
        click.echo(f"More: --after {answer.next}", err=True)
    if isinstance(answer, models.NounText) and answer.next is not None:
        click.echo(f"More: --first {answer.next}", err=True)


@singledispatch
def view(answer: object) -> RenderableType:
    """How an answer looks."""
    raise TypeError(f"no view for {type(answer).__name__}")


view.register(models.EnqueuedBatch, show_many.enqueued)
view.register(models.Leases, show_many.leases)
view.register(show_many.HandedIn, show_many.handed_in)
view.register(models.Job, show_many.job)
view.register(models.Jobs, show_many.jobs)
view.register(models.RecordVersion, show_records.record)
view.register(models.Written, show_records.written)
view.register(models.Records, show_records.records)
view.register(models.History, show_records.history)
view.register(models.Stores, show_records.stores)
view.register(models.Published, show_records.published)
view.register(models.Feeds, show_records.feeds)
view.register(models.FeedItem, show_records.item)
view.register(models.FeedPage, show_records.page)
view.register(models.Blob, show_blobs.blob)
view.register(models.Content, show_blobs.content)
view.register(models.BucketInfo, show_blobs.bucket)
view.register(models.Buckets, show_blobs.buckets)
view.register(models.ObjectMeta, show_blobs.version)
view.register(models.Objects, show_blobs.objects)
view.register(models.Versions, show_blobs.versions)
for _model, _shown in show_lite.VIEWS.items():
    view.register(_model, _shown)
view.register(models.Nouns, show_recall.nouns)
view.register(models.Noun, show_recall.noun)
view.register(models.NounText, show_recall.text)
view.register(models.Recalled, show_recall.recalled)
view.register(models.KeyGrant, show_keys.grant)
view.register(models.Keys, show_keys.keys)
view.register(models.IssuedKey, show_keys.issued)
view.register(models.Approval, show_keys.approval)
view.register(models.Verified, show_upkeep.verified)
view.register(models.BackedUp, show_upkeep.backed_up)
view.register(models.Restored, show_upkeep.restored)
view.register(models.Epoch, show_upkeep.epoch)
view.register(models.Moved, show_upkeep.moved)
view.register(models.Diagnosis, show_upkeep.diagnosis)


@view.register
def _queue(answer: models.QueueConfig) -> RenderableType:
    return view(models.Queues([answer], next=None))


@view.register
def _queues(answer: models.Queues) -> RenderableType:
    rows = (
        (q.name, "paused" if q.paused else "open", f"{q.heartbeat_seconds} s", q.miss_limit,
         f"{q.lease_seconds} s", q.max_attempts, f"{q.backoff_base_seconds} to {q.backoff_cap_seconds} s",
         q.weight)
        for q in answer.queues
    )  # fmt: skip
    columns = "queue, state, heartbeat, misses, lease, attempts, backoff, weight"
    return layout.table(columns, rows, none="Nothing here. Make a queue: tessera queues define NAME")


@view.register
def _enqueued(answer: models.Enqueued) -> RenderableType:
    return Text(answer.task_id)


@view.register
def _children(answer: models.Children) -> RenderableType:
    return Text("\n".join(answer.children))


@view.register
def _tasks(answer: models.Tasks) -> RenderableType:
    rows = (
        (t.task_id, t.queue, t.kind, t.state, t.wait_reason, t.priority, t.attempts, t.failures, t.worker,
         layout.moment(t.updated_at))
        for t in answer.tasks
    )  # fmt: skip
    columns = "task, queue, kind, state, waits for, priority, attempts, failures, worker, updated"
    return layout.table(columns, rows, none="No such tasks.")


@view.register
def _task(answer: models.TaskView) -> RenderableType:
    facts = {
        "queue": _place(answer),
        "tried": layout.counted(attempt=answer.attempts, failure=answer.failures, park=answer.parks),
        **_why(answer),
        "parent": answer.parent_id,
        "children": "\n".join(answer.children),
        "depends on": "\n".join(answer.depends_on),
        "requeued from": answer.requeued_from,
        "last error": answer.last_error,
        "created": answer.created_at,
        "updated": answer.updated_at,
        "brief": layout.pretty(answer.brief),
        "next": "\n".join(_next_steps(answer)),
    }
    return layout.Facts(f"{answer.task_id}: {answer.state}", facts, answer.state)


def _why(task: models.TaskView) -> dict[str, str | None]:
    """What a task waits for, or who holds it."""
    waits = {
        "children": f"{task.pending_children} of its children to end",
        "dependencies": f"{task.pending_deps} of its dependencies to end",
        "input": f"input since park {task.parks}: {task.park_reason}",
    }
    held = f"{task.worker}, token {task.fencing_token}, until {task.expires_at}"
    return {
        "waits for": waits.get(task.wait_reason or ""),
        "comes back": task.resume_at,
        "not before": task.not_before,
        "lease": held if task.worker else None,
        "cancelled": task.cancel_reason,
    }


def _next_steps(task: models.TaskView) -> list[str]:
    """The commands that lead on from here."""
    name = task.task_id
    if task.wait_reason == "input":
        return [f"tessera resume {name} INPUT --park {task.parks}", f"tessera cancel {name} REASON"]
    claim = f"tessera claim {task.queue} --worker NAME"
    if task.kind == LITE:
        claim = f"tessera lite claim-next {task.queue} --agent AGENT --idempotency-key KEY"
    steps = {
        "ready": [claim, f"tessera cancel {name} REASON"],
        "leased": [f"tessera tasks wait {name}", f"tessera cancel {name} REASON"],
        "waiting": [f"tessera tasks wait {name}", f"tessera cancel {name} REASON"],
        "done": [f"tessera tasks results {name}"],
        "dead": [f"tessera tasks results {name}", f"tessera requeue {name}"],
    }
    return steps.get(task.state, [])


@view.register
def _lease(answer: models.Lease) -> RenderableType:
    handle = f"{answer.task_id} {answer.fencing_token}"
    facts = {
        "queue": _place(answer),
        "worker": f"{answer.worker}, token {answer.fencing_token}, attempt {answer.attempts}",
        "lapses": f"{answer.expires_at} without a heartbeat every {answer.heartbeat_seconds} s; "
        f"{answer.hard_expires_at} at the latest",
        "parent": answer.parent_id,
        "children": _outcomes(answer.children),
        "dependencies": _outcomes(answer.dependencies),
        "inputs": "\n".join(f"park {i.park}: {layout.short(i.input)}" for i in answer.inputs),
        "brief": layout.pretty(answer.brief),
        "next": f"tessera heartbeat {handle}\ntessera submit {handle} OUTPUT\n"
        f"tessera submit {handle} --failed --error TEXT",
    }
    return layout.Facts(f"{answer.task_id}: leased", facts, "leased")


@view.register
def _empty(answer: models.Empty) -> RenderableType:
    return Text(f"Nothing is ready. Ask again in {answer.retry_after_seconds} s.")


@view.register
def _receipt(answer: models.Receipt) -> RenderableType:
    facts = {
        "outcome": "ok" if answer.ok else "failed",
        "task is now": answer.state,
        "token": str(answer.fencing_token),
        "key": answer.idempotency_key,
        "submitted": answer.submitted_at,
        "replayed": "yes: this is the first receipt, nothing was stored" if answer.replayed else None,
        "sha256": answer.sha256,
    }
    return layout.Facts(f"Receipt for {answer.task_id}", facts, answer.state)


@view.register
def _results(answer: models.Results) -> RenderableType:
    rows = (
        (r.result_id, "ok" if r.ok else "failed", r.fencing_token, r.worker, layout.moment(r.submitted_at),
         layout.short(r.output), shortened(r.error or "", layout.LONG_TEXT))
        for r in answer.results
    )  # fmt: skip
    columns = "result, outcome, token, worker, submitted, output, error"
    return layout.table(columns, rows, none="Nothing was submitted yet.")


@view.register
def _reaped(answer: models.Reaped) -> RenderableType:
    return Text(f"{answer.reaped} settled.")


@view.register
def _counts(answer: models.Counts) -> RenderableType:
    recount = answer.recount if isinstance(answer.recount, dict) else {}
    rows: list[tuple[object, ...]] = []
    for name in sorted({*answer.queues, *recount}):
        kept = answer.queues.get(name, models.QueueCounts())
        rows.append((name, *msgspec.structs.astuple(kept)))
        if name in recount and recount[name] != kept:
            rows.append((f"{name} (recounted)", *msgspec.structs.astuple(recount[name])))
    table = layout.table(f"queue, {STATES}", rows, none="No queues yet.")
    if not isinstance(answer.agree, bool):
        return table
    return Group(table, _verdict(answer.agree, "The recount agrees.", "The recount DISAGREES."))


@view.register
def _health(answer: models.Health) -> RenderableType:
    rows = (
        (name, queue.ready, queue.leased, queue.waiting, queue.done, queue.dead, queue.cancelled,
         layout.seconds(queue.oldest_ready_age_seconds), queue.expired_leases)
        for name, queue in sorted(answer.queues.items())
    )  # fmt: skip
    verdict = _verdict(answer.db_ok, "The store answers.", "The database is NOT well.")
    facts = Text(f"version {answer.version}, {answer.time}, last reaped {answer.reaper_last_run or 'never'}")
    table = layout.table(f"queue, {STATES}, oldest ready, expired leases", rows, none="No queues yet.")
    return Group(verdict, facts, table)


@view.register
def _events(answer: models.Events) -> RenderableType:
    rows = (
        (e.seq, layout.moment(e.at), e.type, e.queue, e.task_id, e.worker, e.fencing_token, e.key_id,
         layout.short_or_none(e.data))
        for e in answer.events
    )  # fmt: skip
    columns = "seq, at, type, queue, task, worker, token, key, data"
    return layout.table(columns, rows, none="Nothing has happened since.")


@view.register
def _event(answer: models.Event) -> RenderableType:
    token = "" if answer.fencing_token is None else f"token {answer.fencing_token}"
    words = (
        answer.seq, answer.at, answer.type, answer.queue, answer.task_id, answer.worker, token, answer.key_id,
        layout.short_or_none(answer.data),
    )  # fmt: skip
    return Text("  ".join(visible(str(word)) for word in words if word))


def _verdict(good: bool, yes: str, no: str) -> Text:
    return Text(yes, "green") if good else Text(no, "bold red")


def _place(task: models.TaskView | models.Lease) -> str:
    return f"{task.queue}, kind {task.kind}, effect {task.effect_class}, priority {task.priority}"


def _outcomes(outcomes: Iterable[models.Outcome]) -> str:
    return "\n".join(f"{o.task_id} {o.state}: {layout.short(o.output)}" for o in outcomes)
