"""submit, submit_batch: hand in what came of leases. Written once, for any number."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from tessera.canonical import canonical, json_text, receipt_hash
from tessera.errors import IdempotencyConflict, InvalidRequest, StaleLease, TesseraError
from tessera.limits import ERROR_BYTES_MAX, OUTPUT_BYTES_MAX
from tessera.models import Receipt, Submit, SubmitBatch, Submitted
from tessera.rows import ResultRow, TaskRow
from tessera.rules import grants, moves, sizes
from tessera.rules.grants import Caller
from tessera.runtime import Runtime, rfc3339
from tessera.states import ENDED, STATES
from tessera.steps import failures, journal, leases, resolve, tasks
from tessera.steps.failures import Failure
from tessera.storage.port import Transaction


class Ending(Struct, frozen=True):
    """A lease that a submit ends: the task before and after, and what is stored."""

    before: TaskRow
    after: TaskRow
    failure: Failure | None
    result: ResultRow


NOT_OK = json_text({"ok": False})


class Batch:
    """What the submits before this one have decided; an earlier one of the same batch counts as stored."""

    def __init__(self) -> None:
        self.endings: dict[str, Ending] = {}  # by idempotency key
        self.handed_in: set[int] = set()  # tasks, by serial


def submit(tx: Transaction, runtime: Runtime, caller: Caller, ask: Submit) -> Receipt:
    """Store an outcome once per idempotency key and end the lease: done, to be tried again, or dead. A
    replay is answered with the first receipt, whatever has become of the lease.
    """
    (outcome,) = _submit(tx, runtime, caller, [ask])
    if isinstance(outcome, TesseraError):
        raise outcome
    return outcome


def submit_batch(tx: Transaction, runtime: Runtime, caller: Caller, ask: SubmitBatch) -> Submitted:
    """The same for several, in order, each standing alone: one that is refused leaves the others be."""
    outcomes = _submit(tx, runtime, caller, ask.submits)
    return Submitted(results=[one.problem() if isinstance(one, TesseraError) else one for one in outcomes])


def _submit(
    tx: Transaction, runtime: Runtime, caller: Caller, asks: Sequence[Submit]
) -> list[Receipt | TesseraError]:
    batch = Batch()
    outcomes: list[Receipt | TesseraError] = []
    for ask in asks:
        try:
            outcomes.append(_decide(tx, runtime, caller, ask, batch))
        except TesseraError as refusal:
            outcomes.append(refusal)
    endings = list(batch.endings.values())
    ended = [ending.after for ending in endings if ending.after.state in ENDED]
    waiters = resolve.awaiting(tx, ended)
    runtime.reach("submit.read")

    if endings:
        _write(tx, caller, endings)
        resolve.release(tx, waiters)
    runtime.reach("submit.written")
    return outcomes


def _decide(tx: Transaction, runtime: Runtime, caller: Caller, ask: Submit, batch: Batch) -> Receipt:
    """The receipt of one submit, noted in the batch if it ends its lease; or a refusal."""
    key = ask.idempotency_key
    if key is None:
        raise InvalidRequest("idempotency_key: missing; choose one per submit and keep it for retries")
    sizes.refuse_longer(ask.error, "error", ERROR_BYTES_MAX)
    output = canonical(ask.output, "output", OUTPUT_BYTES_MAX)
    task = tasks.known(tx, ask.task_id)
    grants.covers_task(caller, tasks.queue_of(tx, task).name, task.kind)
    if (first := _first_result(tx, batch, key)) is not None:
        return _replayed(task, first)
    if task.serial in batch.handed_in:
        raise StaleLease
    leases.is_live(tx, caller, task, ask.fencing_token)
    failure = None if ask.ok else failures.foreseen(tx, runtime, task, ask.error)
    after = moves.done(task, tx.now) if failure is None else failure.after
    assert task.worker is not None
    result = ResultRow(
        result=0,  # the database numbers it
        idempotency_key=key,
        serial=task.serial,
        fencing_token=ask.fencing_token,
        worker=task.worker,
        ok=ask.ok,
        output=output,
        error=ask.error,
        sha256=receipt_hash(task.task_id, ask.fencing_token, ask.ok, output, ask.error),
        submitted_at=tx.now,
        state=after.state,
    )
    batch.endings[key] = Ending(task, after, failure, result)
    batch.handed_in.add(task.serial)
    return _receipt(task, result, replayed=False)


def _first_result(tx: Transaction, batch: Batch, key: str) -> ResultRow | None:
    if key in batch.endings:
        return batch.endings[key].result
    return tx.one("result_keyed", idempotency_key=key)


def _write(tx: Transaction, caller: Caller, endings: list[Ending]) -> None:
    tx.save_all("insert_result", [ending.result for ending in endings])
    good = [ending for ending in endings if ending.failure is None]
    if good:
        before, after = [one.before for one in good], [one.after for one in good]
        tasks.move_all(tx, before, after, "submitted", caller.key_id, ok=True)
    for ending in endings:
        if ending.failure is not None:
            journal.note(tx, "submitted", ending.before, caller.key_id, NOT_OK)
            failures.write(tx, ending.failure, caller.key_id)


def _replayed(task: TaskRow, first: ResultRow) -> Receipt:
    """The receipt that this key got before. A key that served another task is a conflict."""
    if first.serial != task.serial:
        raise IdempotencyConflict("the idempotency key was used for another task: choose another")
    return _receipt(task, first, replayed=True)


def _receipt(task: TaskRow, result: ResultRow, *, replayed: bool) -> Receipt:
    return Receipt(
        task_id=task.task_id,
        fencing_token=result.fencing_token,
        ok=bool(result.ok),
        sha256=result.sha256,
        idempotency_key=result.idempotency_key,
        submitted_at=rfc3339(result.submitted_at),
        replayed=replayed,
        state=STATES[result.state],
    )
