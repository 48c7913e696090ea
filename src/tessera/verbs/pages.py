"""What the pages for people show beyond what the verbs of the surface answer: looks without a door of their
own, since they are made for eyes and change with them. What a page does, it does by the surface's verbs.
"""

from __future__ import annotations

from msgspec import Struct

from tessera.canonical import json_text, receipt_hash
from tessera.errors import InvalidState, TesseraError
from tessera.limits import (
    EVENTS_SEARCHED_MAX,
    EVENTS_SHOWN_MAX,
    PARKED_SHOWN_MAX,
    RELATIVES_MAX,
    RESULTS_SHOWN_MAX,
)
from tessera.models import AskTask, Event, Nothing, QueueConfig, Result, TaskRef, TaskView
from tessera.names import ADMIN_EFFECTS, EFFECT_RANK
from tessera.rows import EdgeRow, EventMark, InputRow, ParkedRow, Relative, TaskRow
from tessera.rules import grants
from tessera.rules.grants import Caller
from tessera.runtime import Runtime, rfc3339_or_none
from tessera.steps import tasks as steps
from tessera.storage.port import Transaction
from tessera.verbs import looks
from tessera.verbs.define_queue import shown
from tessera.verbs.resume import refuse_unless_parked


class AskParked(Struct, frozen=True):
    """Which parked tasks to list: all that the key may answer, or those of one queue."""

    queue: str | None = None


class ParkedTasks(Struct, frozen=True):
    """Parked tasks that a key may answer, the longest parked first; `more` says that there are others. `now`
    is the look's instant in microseconds, as are the rows' times.
    """

    tasks: list[ParkedRow]
    more: bool
    now: int


class ParkedTask(Struct, frozen=True):
    """One of them, whole: the task, the name of the key that parked it if it has one, what it was answered
    before, and what its input must look like.
    """

    view: TaskView
    parked_by: str | None
    inputs: list[InputRow]
    schema: str | None
    due: int | None
    now: int


class Checked(Struct, frozen=True):
    """A result, and whether its receipt is the hash of what is stored."""

    result: Result
    intact: bool


class Holder(Struct, frozen=True):
    """Who holds a task's live lease, and until when at the latest."""

    key_id: str | None
    hard_expires_at: str | None


class Family(Struct, frozen=True):
    """A task's parent, dependencies, descendants and dependents, up to a number of each, and who among them
    depends on whom. `whole` says that none is missing.
    """

    serial: int
    relatives: list[Relative]
    edges: list[EdgeRow]
    whole: bool


class Story(Struct, frozen=True):
    """All that the store knows of one task: of its inputs and results the latest, `earlier` saying how many
    results came before them. The log is told of in stretches: `next` is where the following
    one begins, None at the end.
    """

    view: TaskView
    holder: Holder | None
    inputs: list[InputRow]
    results: list[Checked]
    earlier: int
    family: Family
    events: list[Event]
    next: int | None


class AskStory(Struct, frozen=True):
    """Names a task, and from where on its log is to be told; None: from the task's beginning."""

    task_id: str
    since: int | None = None


def every_queue(tx: Transaction, runtime: Runtime, caller: Caller, ask: Nothing) -> list[QueueConfig]:
    """The settings of all queues that exist for the caller, by name and as of one instant: what pages and
    figures show beside counts that come whole as well.
    """
    return [shown(row) for row in steps.queues_in_sight(tx, caller)]


def parked(tx: Transaction, runtime: Runtime, caller: Caller, ask: AskParked) -> ParkedTasks:
    """The parked tasks that the caller may answer, by the rules of `resume`."""
    queues = steps.covered(tx, caller, ask.queue)
    if queues is None:
        queues = json_text([row.queue for row in steps.queues_in_sight(tx, caller)])
    effects = caller.effects
    if not caller.admin:
        effects = (frozenset(EFFECT_RANK.values()) if effects is None else effects) - ADMIN_EFFECTS
    rows: list[ParkedRow] = tx.all(
        "parked_for",
        queues=queues,
        kinds=None if caller.kinds is None else json_text(sorted(caller.kinds)),
        effects=None if effects is None else json_text(sorted(effects)),
        not_by=None if caller.admin else caller.key_id,
        now=tx.now,
        limit=PARKED_SHOWN_MAX + 1,
    )
    return ParkedTasks(rows[:PARKED_SHOWN_MAX], len(rows) > PARKED_SHOWN_MAX, tx.now)


def parked_task(tx: Transaction, runtime: Runtime, caller: Caller, ask: TaskRef) -> ParkedTask:
    """One parked task, for whoever may answer it; the refusals are those of `resume`."""
    task = steps.known(tx, caller, ask.task_id)
    grants.covers_task(caller, steps.queue_of(tx, task).name, task.kind)
    grants.may_start(caller, task.effect)
    refuse_unless_parked(tx, task)
    grants.may_resume(caller, task.parked_by)
    if task.due is not None and task.due <= tx.now:
        raise InvalidState("the time to answer is up")
    schema = tx.one("schema_of_park", serial=task.serial, park=task.parks)
    key = None if task.parked_by is None else tx.one("key_named", key_id=task.parked_by)
    return ParkedTask(
        view=steps.view(tx, caller, task),
        parked_by=None if key is None else key.name,
        inputs=tx.all("inputs_of", serial=task.serial)[-RESULTS_SHOWN_MAX:],
        schema=None if schema is None else schema.value,
        due=task.due,
        now=tx.now,
    )


def story(tx: Transaction, runtime: Runtime, caller: Caller, ask: AskStory) -> Story:
    """Everything about one task, for an admin key that covers its queue."""
    grants.is_admin(caller)
    view = looks.task(tx, runtime, caller, AskTask(task_id=ask.task_id))
    task = steps.known(tx, caller, ask.task_id)
    results = looks.results(tx, runtime, caller, TaskRef(task_id=ask.task_id)).results
    events, after = _told(tx, runtime, caller, task, ask.since)
    return Story(
        view=view,
        holder=None if view.worker is None else Holder(task.key_id, rfc3339_or_none(task.hard_expires_at)),
        inputs=tx.all("inputs_of", serial=task.serial)[-RESULTS_SHOWN_MAX:],
        results=[Checked(one, _is_intact(one)) for one in results[-RESULTS_SHOWN_MAX:]],
        earlier=max(0, len(results) - RESULTS_SHOWN_MAX),
        family=_family(tx, caller, task),
        events=events,
        next=after,
    )


def _is_intact(result: Result) -> bool:
    """Whether a receipt is the hash of what is stored under it."""
    try:
        output = bytes(result.output).decode()
        found = receipt_hash(result.task_id, result.fencing_token, result.ok, output, result.error)
    except (UnicodeDecodeError, TesseraError):
        return False
    return found == result.sha256


def _told(
    tx: Transaction, runtime: Runtime, caller: Caller, task: TaskRow, since: int | None
) -> tuple[list[Event], int | None]:
    """What a stretch of the log tells of a task, and where the next begins. The log has no index by task,
    which every verb would pay for: the first line of the task is found by its instant, and from there a
    bounded number of lines is looked through.
    """
    last = tx.one("last_seq").value or 0
    first = _first_at(tx, task.created_at, last) if since is None else since
    until = first + EVENTS_SEARCHED_MAX
    rows = tx.all(
        "events_of_task", first=first, until=until, task_id=task.task_id, limit=EVENTS_SHOWN_MAX + 1
    )
    events = [looks.event(row) for row in rows[:EVENTS_SHOWN_MAX]]
    if len(rows) > EVENTS_SHOWN_MAX:
        return events, rows[EVENTS_SHOWN_MAX].seq
    return events, until if until <= last else None


def _first_at(tx: Transaction, instant: int, last: int) -> int:
    """The number of the first line at or after an instant. Instants in the log never fall."""
    low, high = 0, last + 1
    while low < high:
        middle = (low + high) // 2
        mark: EventMark | None = tx.one("event_from", seq=middle)
        if mark is None or mark.at >= instant:
            high = middle
        else:
            low = mark.seq + 1
    return low


def _family(tx: Transaction, caller: Caller, task: TaskRow) -> Family:
    """The task's relatives in queues that the caller covers."""
    beside: list[Relative] = tx.all(
        "relatives_beside", serial=task.serial, parent=task.parent, limit=RELATIVES_MAX + 1
    )
    under: list[Relative] = tx.all("relatives_under", serial=task.serial, limit=RELATIVES_MAX + 1)
    relatives = [
        *[one for one in beside if one.place < 0][:RELATIVES_MAX],
        *under[:RELATIVES_MAX],
        *[one for one in beside if one.place > 0][:RELATIVES_MAX],
    ]
    seen = [one for one in relatives if grants.sees_queue(caller, one.queue)]
    serials = [task.serial, *(one.serial for one in seen)]
    return Family(
        serial=task.serial,
        relatives=seen,
        edges=tx.all("dependencies_among", serials=json_text(serials)),
        whole=len(seen) == len(beside) + len(under),
    )
