"""Answers for people: one view per model, chosen by its type. Colour never says what a word does not.

Tables and panels keep their natural width when standard output is no terminal, so nothing is cut in a pipe.
Everything from a task goes through `visible`: a brief cannot drive somebody's terminal.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import singledispatch
from typing import Any, Final

import msgspec
from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from tessera import models
from tessera.cli.text import shortened, visible

STYLES: Final = {"ready": "cyan", "leased": "yellow", "waiting": "magenta", "done": "green", "dead": "bold red",
                 "cancelled": "dim", "paused": "yellow", "revoked": "red"}  # fmt: skip
STATES: Final = models.QueueCounts.__struct_fields__
PIPE_WIDTH: Final = 10_000
LONG_TEXT: Final = 60  # characters of a document in a table's cell


def show(answer: object) -> None:
    """Write an answer to standard output for a person to read."""
    console = Console(highlight=False, soft_wrap=False, emoji=False, markup=False)
    if not console.is_terminal:
        console.width = PIPE_WIDTH
    write = console.print
    write(view(answer))


@singledispatch
def view(answer: object) -> RenderableType:
    """How an answer looks."""
    raise TypeError(f"no view for {type(answer).__name__}")


@view.register
def _queue(answer: models.QueueConfig) -> RenderableType:
    return view(models.Queues([answer]))


@view.register
def _queues(answer: models.Queues) -> RenderableType:
    rows = (
        (q.name, "paused" if q.paused else "open", f"{q.heartbeat_seconds} s", q.miss_limit, f"{q.lease_seconds} s",
         q.max_attempts, f"{q.backoff_base_seconds} to {q.backoff_cap_seconds} s", q.weight)
        for q in answer.queues
    )  # fmt: skip
    columns = ("queue", "state", "heartbeat", "misses", "lease", "attempts", "backoff", "weight")
    return _table(columns, rows, none="No queues yet. Make one: tessera queues define NAME")


@view.register
def _enqueued(answer: models.Enqueued) -> RenderableType:
    return Text(answer.task_id)


@view.register
def _children(answer: models.Children) -> RenderableType:
    return Text("\n".join(answer.children))


@view.register
def _tasks(answer: models.Tasks) -> RenderableType:
    rows = (
        (t.task_id, t.queue, t.kind, t.state, t.wait_reason, t.priority, t.attempts, t.failures, t.worker, t.updated_at)
        for t in answer.tasks
    )  # fmt: skip
    columns = (
        "task",
        "queue",
        "kind",
        "state",
        "waits for",
        "priority",
        "attempts",
        "failures",
        "worker",
        "updated",
    )
    table = _table(columns, rows, none="No such tasks.")
    return Group(table, Text(f"More: --after {answer.next}")) if answer.next else table


@view.register
def _task(answer: models.TaskView) -> RenderableType:
    facts = {
        "queue": f"{answer.queue}, kind {answer.kind}, effect {answer.effect_class}, priority {answer.priority}",
        "tried": f"{answer.attempts} attempts, {answer.failures} failures, {answer.parks} parks",
        **_why(answer),
        "parent": answer.parent_id,
        "children": _listing(answer.children),
        "depends on": _listing(answer.depends_on),
        "requeued from": answer.requeued_from,
        "last error": answer.last_error,
        "created": answer.created_at,
        "updated": answer.updated_at,
        "brief": _pretty(answer.brief),
        "next": "\n".join(_next_steps(answer)),
    }
    return _panel(f"{answer.task_id}: {answer.state}", facts, STYLES[answer.state])


def _why(task: models.TaskView) -> dict[str, str | None]:
    """What a task waits for, or who holds it."""
    waits = {
        "children": f"{task.pending_children} of its children to end",
        "dependencies": f"{task.pending_deps} of its dependencies to end",
        "input": f"input since park {task.parks}: {task.park_reason}",
    }
    return {
        "waits for": waits.get(task.wait_reason or ""),
        "comes back": task.resume_at,
        "not before": task.not_before,
        "lease": f"{task.worker}, token {task.fencing_token}, until {task.expires_at}"
        if task.worker
        else None,
        "cancelled": task.cancel_reason,
    }


def _next_steps(task: models.TaskView) -> list[str]:
    """The commands that lead on from here."""
    name = task.task_id
    if task.wait_reason == "input":
        return [f"tessera resume {name} INPUT --park {task.parks}", f"tessera cancel {name} REASON"]
    steps = {
        "ready": [f"tessera claim {task.queue} --worker NAME", f"tessera cancel {name} REASON"],
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
        "queue": f"{answer.queue}, kind {answer.kind}, effect {answer.effect_class}, priority {answer.priority}",
        "worker": f"{answer.worker}, token {answer.fencing_token}, attempt {answer.attempts}",
        "lapses": f"{answer.expires_at} without a heartbeat every {answer.heartbeat_seconds} s; "
        f"{answer.hard_expires_at} at the latest",
        "parent": answer.parent_id,
        "children": _outcomes(answer.children),
        "dependencies": _outcomes(answer.dependencies),
        "inputs": "\n".join(f"park {i.park}: {_short(i.input)}" for i in answer.inputs),
        "brief": _pretty(answer.brief),
        "next": f"tessera heartbeat {handle}\ntessera submit {handle} OUTPUT\n"
        f"tessera submit {handle} --failed --error TEXT",
    }
    return _panel(f"{answer.task_id}: leased", facts, STYLES["leased"])


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
    return _panel(f"Receipt for {answer.task_id}", facts, STYLES.get(answer.state, ""))


@view.register
def _results(answer: models.Results) -> RenderableType:
    rows = (
        (r.result_id, "ok" if r.ok else "failed", r.fencing_token, r.worker, r.submitted_at, _short(r.output),
         shortened(r.error or "", LONG_TEXT))
        for r in answer.results
    )  # fmt: skip
    columns = ("result", "outcome", "token", "worker", "submitted", "output", "error")
    return _table(columns, rows, none="Nothing was submitted yet.")


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
    table = _table(("queue", *STATES), rows, none="No queues yet.")
    if not isinstance(answer.agree, bool):
        return table
    verdict = (
        Text("The recount agrees.", "green") if answer.agree else Text("The recount DISAGREES.", "bold red")
    )
    return Group(table, verdict)


@view.register
def _health(answer: models.Health) -> RenderableType:
    rows = (
        (name, *(getattr(queue, state) for state in STATES), _seconds(queue.oldest_ready_age_seconds),
         queue.expired_leases)
        for name, queue in sorted(answer.queues.items())
    )  # fmt: skip
    word = (
        Text("The store answers.", "green") if answer.db_ok else Text("The database is NOT well.", "bold red")
    )
    facts = Text(f"version {answer.version}, {answer.time}, last reaped {answer.reaper_last_run or 'never'}")
    table = _table(("queue", *STATES, "oldest ready", "expired leases"), rows, none="No queues yet.")
    return Group(word, facts, table)


@view.register
def _events(answer: models.Events) -> RenderableType:
    rows = (
        (e.seq, e.at, e.type, e.queue, e.task_id, e.worker, e.fencing_token, e.key_id, _short(e.data))
        for e in answer.events
    )  # fmt: skip
    columns = ("seq", "at", "type", "queue", "task", "worker", "token", "key", "data")
    return _table(columns, rows, none="Nothing has happened since.")


@view.register
def _event(answer: models.Event) -> RenderableType:
    token = "" if answer.fencing_token is None else f"token {answer.fencing_token}"
    words = (answer.seq, answer.at, answer.type, answer.queue, answer.task_id, answer.worker, token, answer.key_id,
             _short(answer.data))  # fmt: skip
    return Text("  ".join(visible(str(word)) for word in words if word))


@view.register
def _grant(answer: models.KeyGrant) -> RenderableType:
    return view(models.Keys([answer]))


@view.register
def _keys(answer: models.Keys) -> RenderableType:
    rows = (
        (k.key_id, "revoked" if k.revoked_at else "issued", k.name, ", ".join(k.queues), ", ".join(k.kinds),
         ", ".join(k.effect_classes), ", ".join(k.scopes), k.expires_at)
        for k in answer.keys
    )  # fmt: skip
    columns = ("key", "state", "name", "queues", "kinds", "effects", "scopes", "expires")
    return _table(columns, rows, none="No keys yet. Make one: tessera keys issue --name NAME")


@view.register
def _issued(answer: models.IssuedKey) -> RenderableType:
    return Group(Text(answer.key, "bold"), view(answer.grant))


@view.register
def _approval(answer: models.Approval) -> RenderableType:
    return Group(Text(answer.approval, "bold"), Text(f"Good for one key until {answer.expires_at}."))


def _table(columns: Iterable[str], rows: Iterable[Iterable[object]], none: str) -> RenderableType:
    """A plain table, or the sentence to say when it would be empty."""
    table = Table(*columns, box=None, pad_edge=False, header_style="bold")
    for row in rows:
        table.add_row(*(_cell(value) for value in row))
    return table if table.row_count else Text(none)


def _cell(value: object) -> Text:
    text = "" if value is None else visible(str(value))
    return Text(text, STYLES.get(text, ""), overflow="fold")


def _panel(title: str, facts: dict[str, str | None], style: str) -> Panel:
    """Named facts in a frame; those without a value are left out."""
    grid = Table.grid(padding=(0, 2))
    for name, fact in facts.items():
        if fact:
            grid.add_row(Text(name, "bold"), Text(visible(fact), overflow="fold"))
    return Panel(grid, title=Text(title, style), title_align="left", expand=False)


def _outcomes(outcomes: Iterable[models.Outcome]) -> str:
    return "\n".join(f"{o.task_id} {o.state}: {_short(o.output)}" for o in outcomes)


def _listing(names: list[str]) -> str:
    return "\n".join(names)


def _pretty(document: Any) -> str:
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode()


def _short(document: Any) -> str:
    return shortened(msgspec.json.encode(document).decode(), LONG_TEXT)


def _seconds(age: float | None) -> str | None:
    return None if age is None else f"{age:.0f} s"
