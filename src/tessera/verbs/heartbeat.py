"""heartbeat: keep a lease alive."""

from __future__ import annotations

from tessera.models import Heartbeat, Lease
from tessera.rules import moves
from tessera.rules.grants import Caller
from tessera.runtime import Runtime
from tessera.steps import journal, leases
from tessera.storage.port import Transaction


def heartbeat(tx: Transaction, runtime: Runtime, caller: Caller, ask: Heartbeat) -> Lease:
    """Extend the live lease, never past its hard deadline. The queue's settings of now count."""
    task, queue = leases.held(tx, caller, ask.task_id, ask.fencing_token)
    extended = moves.extended(task, queue, tx.now)
    contents = leases.brief_alone(tx, task)
    runtime.reach("heartbeat.read")

    tx.save("extend_lease", extended)
    assert extended.expires_at is not None
    tx.alarm(extended.queue, extended.expires_at)
    journal.note(tx, "heartbeat", extended, caller.key_id)
    runtime.reach("heartbeat.written")
    return leases.shown(queue, extended, contents)
