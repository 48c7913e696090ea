"""store_restored: begin a new epoch in a copy of a store, before anybody uses it.

Between a backup and its restore the store has gone on: it handed out tokens, cursors, numbers of events and
results that the copy knows nothing of. In the copy every number therefore jumps above the instant of the
restore in microseconds since 1970. No store hands out a million of anything a second for years, so that is
above every one that was ever handed out, also by an earlier restore of the same backup.
"""

from __future__ import annotations

from msgspec.structs import replace

from tessera.canonical import json_text
from tessera.models import Epoch
from tessera.names import EVENT_NUMBER
from tessera.rows import Numbers, RestoreSizes, TaskRow
from tessera.rules import moves
from tessera.runtime import Runtime, rfc3339, rfc3339_or_none
from tessera.states import LEASED
from tessera.steps import jobs, tasks
from tessera.storage.port import Transaction


def store_restored(tx: Transaction, runtime: Runtime, at_least: int, revoked: str) -> Epoch:
    """End every lease without counting a failure, raise every number above the epoch, take back unused
    approvals and the keys that the replaced store had revoked (`revoked`, a JSON array of ids), and say so in
    the log. `at_least` is the highest number that the replaced store has handed out, as far as it is known.
    """
    numbers: Numbers = tx.one("numbers")
    sizes: RestoreSizes = tx.one("restore_sizes", revoked=revoked, now=tx.now)
    held: list[TaskRow] = tx.all("leased_tasks")
    running = jobs.running(tx, [task.serial for task in held])
    epoch = 1 + max(tx.now, numbers.highest, at_least)
    runtime.reach("restore.read")

    told = {"epoch": epoch, "last_seq": numbers.last_seq, "leases_ended": len(held)}
    tx.write(
        "append_event_numbered", seq=epoch, at=tx.now, type=EVENT_NUMBER["store_restored"],
        data=json_text(told),
    )  # fmt: skip
    tx.write("set_meta", name="epoch", value=epoch)
    _end_leases(tx, held, epoch, running)
    if sizes.unfinished > len(held):
        tx.write("raise_tokens", epoch=epoch)
    if sizes.feeds:
        tx.write("raise_feeds", epoch=epoch)
    if sizes.keys:
        tx.write("revoke_keys", revoked=revoked, now=tx.now)
    if sizes.approvals:
        tx.write("end_approvals", now=tx.now)
    runtime.reach("restore.written")
    return Epoch(
        epoch=epoch,
        restored_at=rfc3339(tx.now),
        last_event_at=rfc3339_or_none(numbers.last_event_at),
        leases_ended=len(held),
        tokens_raised=sizes.unfinished,
        keys_revoked=sizes.keys,
        approvals_ended=sizes.approvals,
    )


def _end_leases(tx: Transaction, held: list[TaskRow], epoch: int, running: dict[int, int]) -> None:
    """Give every lease back: who holds it may have handed in since, or may never come back."""
    if not held:
        return
    assert all(task.state == LEASED for task in held)
    after = [replace(moves.released(task, tx.now, 0), fencing_token=epoch) for task in held]
    tasks.move_all(tx, held, after, "released", [None] * len(held), restored=True)
    jobs.ask_to_stop(tx, running, {task.serial: task for task in held}, None)
