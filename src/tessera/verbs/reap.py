"""reap: settle everything that time has come for."""

from __future__ import annotations

from functools import partial

from tessera.models import Nothing, Reaped
from tessera.rules import grants
from tessera.rules.grants import Caller
from tessera.runtime import Runtime
from tessera.steps import blobs, lapses, recall
from tessera.storage.port import Overdue, Transaction


def reap(tx: Transaction, runtime: Runtime, caller: Caller, ask: Nothing) -> Reaped:
    """Process every lapse, retry and park that is due, in every queue, sweep what abandoned puts have
    staged, index what an upgrade has left, and record the run. All that is done in bounded transactions
    before this one, so a crash in the middle loses nothing.
    """
    grants.is_admin(caller)
    for overdue in tx.all("overdue_queues", now=tx.now):
        if not tx.quiet(overdue.value):
            raise Overdue(partial(lapses.settle_queue, overdue.value))
    if tx.one("upload_left_behind", now=tx.now) is not None:
        raise Overdue(blobs.sweep)
    if recall.left(tx):
        raise Overdue(recall.catch_up)
    runtime.reach("reap.read")

    tx.write("set_meta", name="reaper_last_run", value=tx.now)
    runtime.reach("reap.written")
    return Reaped(reaped=tx.settled)
