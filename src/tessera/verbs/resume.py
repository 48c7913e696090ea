"""resume: supply what a parked task waits for."""

from __future__ import annotations

from functools import partial

from tessera.canonical import canonical
from tessera.errors import InvalidState
from tessera.limits import INPUT_BYTES_MAX
from tessera.models import Resume, TaskView
from tessera.rows import TaskRow
from tessera.rules import grants, inputs, moves
from tessera.rules.grants import Caller
from tessera.runtime import Runtime
from tessera.states import INPUT, WAITING
from tessera.steps import lapses, tasks
from tessera.storage.port import Overdue, Transaction


def resume(tx: Transaction, runtime: Runtime, caller: Caller, ask: Resume) -> TaskView:
    """Store the input and make the task ready. Whoever parked it may not, unless by an
    admin key; `park` says which park is meant.
    """
    document = canonical(ask.input, "input", INPUT_BYTES_MAX)
    task = tasks.known(tx, caller, ask.task_id)
    grants.covers_task(caller, tasks.queue_of(tx, task).name, task.kind)
    grants.may_start(caller, task.effect)
    refuse_unless_parked(tx, task)
    grants.may_resume(caller, task.parked_by)
    if ask.park is not None and ask.park != task.parks:
        raise InvalidState(f"the task's current park is {task.parks}, another than the one answered")
    if task.due is not None and task.due <= tx.now:
        raise Overdue(partial(lapses.settle_task, task.serial))
    schema = tx.one("schema_of_park", serial=task.serial, park=task.parks)
    if schema is not None:
        inputs.refuse_unless_valid(document, schema.value)
    resumed = moves.started(task, tx.now)
    view = tasks.view(tx, caller, resumed)
    runtime.reach("resume.read")

    answer = dict(serial=task.serial, park=task.parks, key_id=caller.key_id, now=tx.now)
    tx.write("insert_input", input=document, **answer)
    tasks.move(tx, task, resumed, "resumed", caller.key_id, park=task.parks)
    runtime.reach("resume.written")
    return view


def refuse_unless_parked(tx: Transaction, task: TaskRow) -> None:
    """Refuse a task that is not parked; one whose last park has its input, as when a form is sent twice, with
    the word that it goes on already.
    """
    if task.state == WAITING and task.wait_reason == INPUT:
        return
    if task.parks and any(one.park == task.parks for one in tx.all("inputs_of", serial=task.serial)):
        raise InvalidState(
            f"the task is not parked: its park {task.parks} has an input, and it was resumed already"
        )
    raise InvalidState("the task is not parked")
