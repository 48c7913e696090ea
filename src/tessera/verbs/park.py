"""park: give a task back until somebody supplies what it needs."""

from __future__ import annotations

from tessera.canonical import canonical
from tessera.limits import INPUT_SCHEMA_BYTES_MAX, REASON_BYTES_MAX
from tessera.models import NULL, Park, TaskView
from tessera.rules import inputs, moves, sizes
from tessera.rules.grants import Caller
from tessera.runtime import Runtime
from tessera.steps import jobs, leases, tasks
from tessera.storage.port import Transaction


def park(tx: Transaction, runtime: Runtime, caller: Caller, ask: Park) -> TaskView:
    """End the live lease without a failure; the task waits for `resume`, or for its time to be up. Its
    running model jobs are asked to stop.
    """
    sizes.refuse_longer(ask.reason, "reason", REASON_BYTES_MAX)
    schema = None
    if bytes(ask.input_schema) != bytes(NULL):
        schema = canonical(ask.input_schema, "input_schema", INPUT_SCHEMA_BYTES_MAX)
        inputs.refuse_bad_schema(schema)
    task, _ = leases.held(tx, caller, ask.task_id, ask.fencing_token)
    parked = moves.parked(task, tx.now, ask.reason, caller.key_id, ask.resume_within)
    view = tasks.view(tx, caller, parked)
    running = jobs.running(tx, [task.serial])
    runtime.reach("park.read")

    if schema is not None:
        tx.write("insert_park_schema", serial=task.serial, park=parked.parks, input_schema=schema)
    tasks.move(tx, task, parked, "parked", caller.key_id, park=parked.parks)
    jobs.ask_to_stop(tx, running, {task.serial: task}, caller.key_id)
    runtime.reach("park.written")
    return view
