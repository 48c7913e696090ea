"""What time does: leases lapse, retries and delayed tasks start, parked tasks wake. (Specification §5.3.)

A settle is a transaction of its own: it reads all it is going to change, then changes it. A verb that meets
something overdue raises `Overdue` with one of these, and its engine runs that first.
"""

from __future__ import annotations

from functools import partial

from tessera.canonical import json_text
from tessera.limits import DUE_PER_SETTLE_MAX, NEVER_US
from tessera.rows import QueueRow, TaskRow
from tessera.rules import moves
from tessera.runtime import Runtime
from tessera.states import DEAD, LEASED, READY, WAITING
from tessera.steps import failures, jobs, journal, resolve, tasks
from tessera.storage.port import Overdue, Transaction

LAPSED = "lease lapsed"
UNREADABLE = "the stored brief does not match its hash"
TIMED_OUT = '{"timed_out":true}'


def settled(tx: Transaction, queue: QueueRow) -> None:
    """Go on only if nothing in the queue is overdue."""
    if tx.quiet(queue.queue):
        return
    earliest = tx.one("earliest_due", queue=queue.queue).value
    if earliest is not None and earliest <= tx.now:
        raise Overdue(partial(settle_queue, queue.queue))
    tx.quiet_until(queue.queue, NEVER_US if earliest is None else earliest)


def settle_queue(queue: int, tx: Transaction, runtime: Runtime) -> int:
    """Settle what has fallen due in a queue, longest due first, a bounded number. Returns how many; if none
    of it can be settled, the verb that met it need not settle it.
    """
    lapsed = tx.all("lapsed_in_queue", queue=queue, now=tx.now, limit=DUE_PER_SETTLE_MAX)
    room = DUE_PER_SETTLE_MAX - len(lapsed)
    due = tx.all("due_in_queue", queue=queue, now=tx.now, limit=room) if room else []
    settled = _settle(tx, runtime, lapsed + due)
    if not settled:
        tx.pass_over(queue)
    return settled


def settle_task(serial: int, tx: Transaction, runtime: Runtime) -> int:
    """Settle one task, if it has fallen due."""
    task: TaskRow = tx.one("task_numbered", serial=serial)
    due = task.expires_at if task.state == LEASED else task.due
    return _settle(tx, runtime, [task] if due is not None and due <= tx.now else [])


def settle_unreadable(serial: int, tx: Transaction, runtime: Runtime) -> int:
    """End a ready task whose brief is damaged."""
    failure = failures.unreadable(tx, tx.one("task_numbered", serial=serial), UNREADABLE)
    waiters = resolve.awaiting(tx, [failure.after])
    runtime.reach("settle.read")

    failures.write(tx, failure, None, unreadable=True)
    resolve.release(tx, waiters)
    runtime.reach("settle.written")
    return 1


def _settle(tx: Transaction, runtime: Runtime, due: list[TaskRow]) -> int:
    held = [task for task in due if task.state == LEASED and task.expires_at is not None]
    lapsed = [failures.foreseen(tx, runtime, task, LAPSED) for task in held]
    waiters = resolve.awaiting(tx, [one.after for one in lapsed if one.after.state == DEAD])
    running = jobs.running(tx, [one.before.serial for one in lapsed])
    startable = [task.serial for task in due if task.state == READY and task.due is not None]
    parked = [task for task in due if task.state == WAITING and task.due is not None]
    runtime.reach("settle.read")

    if startable:
        tx.write("promote_tasks", serials=json_text(startable))
        tx.ready(due[-1].queue)
    for failure in lapsed:
        task, holder = failure.before, failure.before.key_id
        journal.note(tx, "lease_lapsed", task, holder)
        failures.write(tx, failure, holder)
        if task.serial in running:
            jobs.ask_to_stop(tx, {task.serial: running[task.serial]}, {task.serial: task}, holder)
    for task in parked:
        answer = dict(serial=task.serial, park=task.parks, key_id=None, now=tx.now)
        tx.write("insert_input", input=TIMED_OUT, **answer)
        tasks.move(tx, task, moves.started(task, tx.now), "park_expired", None, park=task.parks)
    resolve.release(tx, waiters)
    runtime.reach("settle.written")
    return len(held) + len(startable) + len(parked)
