"""cancel: end a task that is to be done no more, and everything under it."""

from __future__ import annotations

from collections import Counter

from tessera.canonical import json_text
from tessera.errors import InvalidState
from tessera.limits import REASON_BYTES_MAX
from tessera.models import Cancel, TaskView
from tessera.rows import Descendant, TaskRow
from tessera.rules import grants, moves, sizes
from tessera.rules.grants import Caller
from tessera.runtime import Runtime
from tessera.states import CANCELLED, ENDED, LEASED, STATES
from tessera.steps import jobs, resolve, tasks
from tessera.storage.port import Transaction


def cancel(tx: Transaction, runtime: Runtime, caller: Caller, ask: Cancel) -> TaskView:
    """Cancel a task that has not ended, and its unfinished descendants with it, in one transaction. What
    waited for any of them counts it as resolved; their running model jobs are asked to stop.
    """
    sizes.refuse_longer(ask.reason, "reason", REASON_BYTES_MAX)
    task = tasks.known(tx, caller, ask.task_id)
    grants.covers_task(caller, tasks.queue_of(tx, task).name, task.kind)
    grants.holds_effect(caller, task.effect)
    if task.state in ENDED:
        raise InvalidState(f"the task is {STATES[task.state]} already")
    cancelled = moves.cancelled(task, tx.now, ask.reason)
    under: list[Descendant] = tx.all("unfinished_under", serial=task.serial)
    family: dict[int, TaskRow | Descendant] = {task.serial: task, **{one.serial: one for one in under}}
    waiters = [one for one in resolve.awaiting_any(tx, sorted(family)) if one.task.serial not in family]
    running = jobs.running(tx, sorted(family))
    view = tasks.view(tx, caller, cancelled)
    runtime.reach("cancel.read")

    tasks.move(tx, task, cancelled, "cancelled", caller.key_id)
    if under:
        _cancel_all(tx, caller, under, ask.reason, root=task.task_id)
    jobs.ask_to_stop(tx, running, family, caller.key_id)
    resolve.release(tx, waiters)
    runtime.reach("cancel.written")
    return view


def _cancel_all(tx: Transaction, caller: Caller, under: list[Descendant], reason: str, root: str) -> None:
    """Descendants are cancelled by sets, whatever their number; each gets its own event, like a move's."""
    tx.write("cancel_tasks", serials=json_text([one.serial for one in under]), reason=reason, now=tx.now)
    if leased := [one.serial for one in under if one.state == LEASED]:
        tx.write("end_leases", serials=json_text(leased))
    for (queue, state), number in Counter((one.queue, one.state) for one in under).items():
        tx.count(queue, state, CANCELLED, number)
    data = json_text({"under": root})
    for one in under:
        token = one.fencing_token or None
        tx.event("cancelled", one.queue, one.task_id, one.worker, token, caller.key_id, data)
