"""release: give a lease back unharmed."""

from __future__ import annotations

from tessera.models import Release, TaskView
from tessera.rules import moves
from tessera.rules.grants import Caller
from tessera.runtime import Runtime
from tessera.steps import jobs, leases, tasks
from tessera.storage.port import Transaction


def release(tx: Transaction, runtime: Runtime, caller: Caller, ask: Release) -> TaskView:
    """End the live lease without a failure; the task is ready again, at once or after a delay. Its running
    model jobs are asked to stop.
    """
    task, _ = leases.held(tx, caller, ask.task_id, ask.fencing_token)
    released = moves.released(task, tx.now, ask.delay_seconds)
    view = tasks.view(tx, caller, released)
    running = jobs.running(tx, [task.serial])
    runtime.reach("release.read")

    tasks.move(tx, task, released, "released", caller.key_id)
    jobs.ask_to_stop(tx, running, {task.serial: task}, caller.key_id)
    runtime.reach("release.written")
    return view
