"""submit: hand in what came of a lease."""

from __future__ import annotations

from tessera.canonical import canonical, receipt_hash
from tessera.errors import IdempotencyConflict, InvalidRequest
from tessera.limits import ERROR_BYTES_MAX, OUTPUT_BYTES_MAX
from tessera.models import Receipt, Submit
from tessera.rows import ResultRow, TaskRow
from tessera.rules import grants, moves, sizes
from tessera.rules.grants import Caller
from tessera.runtime import Runtime, rfc3339
from tessera.states import ENDED, STATES
from tessera.steps import failures, journal, leases, resolve, tasks
from tessera.storage.port import Transaction


def submit(tx: Transaction, runtime: Runtime, caller: Caller, ask: Submit) -> Receipt:
    """Store an outcome once per idempotency key and end the lease: done, to be tried again, or dead. A
    replay is answered with the first receipt, whatever has become of the lease.
    """
    if ask.idempotency_key is None:
        raise InvalidRequest("idempotency_key: missing; choose one per submit and keep it for retries")
    sizes.refuse_longer(ask.error, "error", ERROR_BYTES_MAX)
    output = canonical(ask.output, "output", OUTPUT_BYTES_MAX)
    task = tasks.known(tx, ask.task_id)
    grants.covers_task(caller, tasks.queue_of(tx, task).name, task.kind)
    if replay := _first_receipt(tx, task, ask.idempotency_key):
        return replay
    leases.is_live(tx, caller, task, ask.fencing_token)
    failure = None if ask.ok else failures.foreseen(tx, runtime, task, ask.error)
    after = moves.done(task, tx.now) if failure is None else failure.after
    waiters = resolve.awaiting(tx, [after]) if after.state in ENDED else []
    runtime.reach("submit.read")

    receipt = Receipt(
        task_id=task.task_id,
        fencing_token=ask.fencing_token,
        ok=ask.ok,
        sha256=receipt_hash(task.task_id, ask.fencing_token, ask.ok, output, ask.error),
        idempotency_key=ask.idempotency_key,
        submitted_at=rfc3339(tx.now),
        replayed=False,
        state=STATES[after.state],
    )
    tx.write(
        "insert_result", idempotency_key=ask.idempotency_key, serial=task.serial,
        fencing_token=ask.fencing_token, worker=task.worker, ok=ask.ok, output=output, error=ask.error,
        sha256=receipt.sha256, now=tx.now, state=after.state,
    )  # fmt: skip
    if failure is None:
        tasks.move(tx, task, after, "submitted", caller.key_id, ok=True)
    else:
        journal.note(tx, "submitted", task, caller.key_id, ok=False)
        failures.write(tx, failure, caller.key_id)
    resolve.release(tx, waiters)
    runtime.reach("submit.written")
    return receipt


def _first_receipt(tx: Transaction, task: TaskRow, idempotency_key: str) -> Receipt | None:
    """The receipt this key got before, if it did. A key that served another task is a conflict."""
    first: ResultRow | None = tx.one("result_keyed", idempotency_key=idempotency_key)
    if first is None:
        return None
    if first.serial != task.serial:
        raise IdempotencyConflict("the idempotency key was used for another task: choose another")
    return Receipt(
        task_id=task.task_id,
        fencing_token=first.fencing_token,
        ok=bool(first.ok),
        sha256=first.sha256,
        idempotency_key=idempotency_key,
        submitted_at=rfc3339(first.submitted_at),
        replayed=True,
        state=STATES[first.state],
    )
