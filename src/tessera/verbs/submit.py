"""submit, submit_batch: hand in what came of leases. Written once, for any number."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from tessera.canonical import canonical, json_text, receipt_hash
from tessera.errors import IdempotencyConflict, InvalidRequest, NotFound, StaleLease, TesseraError
from tessera.limits import ERROR_BYTES_MAX, OUTPUT_BYTES_MAX
from tessera.models import Receipt, Submit, SubmitBatch, Submitted
from tessera.rows import ResultRow, TaskRow
from tessera.rules import grants, moves, sizes
from tessera.rules.grants import Caller
from tessera.runtime import Runtime, rfc3339
from tessera.states import ENDED, STATES
from tessera.steps import failures, journal, leases, resolve, tasks
from tessera.steps.failures import Failure
from tessera.steps.outcomes import only, refusal_or
from tessera.storage.port import Transaction


class Ending(Struct, frozen=True):
    """A lease that a submit ends: who hands in, the task before and after, and what is stored."""

    key_id: str | None
    before: TaskRow
    after: TaskRow
    failure: Failure | None
    result: ResultRow


NOT_OK = json_text({"ok": False})


class Endings:
    """The tasks and results that some submits name, and what the submits before this one have decided: an
    earlier one counts as stored.
    """

    def __init__(self, tx: Transaction, asks: Sequence[Submit]) -> None:
        self.by_key: dict[str, Ending] = {}
        self.handed_in: set[int] = set()  # tasks, by serial
        self._tasks = tasks.each_known(tx, [ask.task_id for ask in asks])
        keys = [ask.idempotency_key for ask in asks if ask.idempotency_key is not None]
        self._results = _results(tx, keys)

    def task(self, task_id: str) -> TaskRow:
        """The task's row, or `not_found`."""
        if task_id not in self._tasks:
            raise NotFound("no such task")
        return self._tasks[task_id]

    def first_result(self, key: str) -> ResultRow | None:
        """What was stored under an idempotency key."""
        return self.by_key[key].result if key in self.by_key else self._results.get(key)

    def add(self, key: str, ending: Ending) -> None:
        """Count one more as stored."""
        self.by_key[key] = ending
        self.handed_in.add(ending.before.serial)


def submits(
    tx: Transaction, runtime: Runtime, asks: Sequence[tuple[Caller, Submit]]
) -> list[Receipt | TesseraError]:
    """Several callers' submits, in order, each standing alone: one that is refused leaves the others be."""
    endings = Endings(tx, [ask for _, ask in asks])
    outcomes = [refusal_or(_decide, tx, runtime, caller, ask, endings) for caller, ask in asks]
    ended = list(endings.by_key.values())
    waiters = resolve.awaiting(tx, [one.after for one in ended if one.after.state in ENDED])
    runtime.reach("submit.read")

    if ended:
        _write(tx, ended)
        resolve.release(tx, waiters)
    runtime.reach("submit.written")
    return outcomes


def submit(tx: Transaction, runtime: Runtime, caller: Caller, ask: Submit) -> Receipt:
    """Store an outcome once per idempotency key and end the lease: done, to be tried again, or dead. A
    replay is answered with the first receipt, whatever has become of the lease.
    """
    return only(submits(tx, runtime, [(caller, ask)]))


def submit_batch(tx: Transaction, runtime: Runtime, caller: Caller, ask: SubmitBatch) -> Submitted:
    """The same for several, in order, each standing alone: one that is refused leaves the others be."""
    outcomes = submits(tx, runtime, [(caller, one) for one in ask.submits])
    return Submitted(results=[one.problem() if isinstance(one, TesseraError) else one for one in outcomes])


def _decide(tx: Transaction, runtime: Runtime, caller: Caller, ask: Submit, endings: Endings) -> Receipt:
    """The receipt of one submit, noted in `endings` if it ends its lease; or a refusal."""
    key = ask.idempotency_key
    if key is None:
        raise InvalidRequest(
            "idempotency_key: missing; choose one per submit and keep it for retries (of a single submit "
            "over HTTP it is the header idempotency-key)"
        )
    sizes.refuse_longer(ask.error, "error", ERROR_BYTES_MAX)
    output = canonical(ask.output, "output", OUTPUT_BYTES_MAX)
    task = endings.task(ask.task_id)
    queue = tasks.queue_of(tx, task)
    if not grants.sees_workspace(caller, queue.workspace_id):
        raise NotFound("no such task")
    grants.covers_task(caller, queue.name, task.kind)
    if (first := endings.first_result(key)) is not None:
        return _replayed(task, first)
    if task.serial in endings.handed_in:
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
    endings.add(key, Ending(caller.key_id, task, after, failure, result))
    return _receipt(task, result, replayed=False)


def _results(tx: Transaction, keys: Sequence[str]) -> dict[str, ResultRow]:
    """What is stored under some idempotency keys."""
    if len(keys) == 1:
        only = tx.one("result_keyed", idempotency_key=keys[0])
        return {} if only is None else {keys[0]: only}
    return {row.idempotency_key: row for row in tx.all("results_keyed", keys=json_text(keys))}


def _write(tx: Transaction, endings: list[Ending]) -> None:
    tx.save_all("insert_result", [ending.result for ending in endings])
    good = [ending for ending in endings if ending.failure is None]
    if good:
        before, after = [one.before for one in good], [one.after for one in good]
        tasks.move_all(tx, before, after, "submitted", [one.key_id for one in good], ok=True)
    for ending in endings:
        if ending.failure is not None:
            journal.note(tx, "submitted", ending.before, ending.key_id, NOT_OK)
            failures.write(tx, ending.failure, ending.key_id)


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
