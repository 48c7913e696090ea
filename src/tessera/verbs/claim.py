"""claim: lease the next ready task of a queue."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from tessera.canonical import json_text
from tessera.limits import RETRY_AFTER_SECONDS_MAX, SECOND_US
from tessera.models import Claim, Empty, Lease
from tessera.rows import QueueRow, TaskRow
from tessera.rules import grants, moves
from tessera.rules.grants import Caller
from tessera.runtime import Runtime
from tessera.steps import briefs, lapses, leases, tasks
from tessera.storage.port import Overdue, Transaction


def claim(tx: Transaction, runtime: Runtime, caller: Caller, ask: Claim) -> Lease | Empty:
    """Lease the task that goes first, or say when to come back. The same key gives the same live lease."""
    queue = tasks.queue_known(tx, ask.queue)
    kinds, effects = grants.may_claim(caller, ask)
    lapses.settled(tx, queue)
    if ask.idempotency_key is not None and (lease := _same_lease(tx, caller, queue, ask.idempotency_key)):
        return lease
    task = None if queue.paused else _next_ready(tx, queue.queue, kinds, effects)
    if task is None:
        return _empty(tx, queue)
    brief = briefs.intact(tx, task)
    if brief is None:
        raise Overdue(partial(lapses.settle_unreadable, task.serial))
    luggage = leases.luggage(tx, task, brief)
    leased = moves.leased(task, queue, tx.now, ask.worker, caller.key_id, ask.idempotency_key)
    runtime.reach("claim.read")

    tasks.move(tx, task, leased, "claimed", caller.key_id)
    runtime.reach("claim.written")
    return leases.shown(queue, leased, luggage)


def _next_ready(
    tx: Transaction, queue: int, kinds: Sequence[str] | None, effects: Sequence[int] | None
) -> TaskRow | None:
    if kinds is None and effects is None:
        return tx.one("next_ready", queue=queue)
    lanes = tx.one(
        "lanes_matching",
        queue=queue,
        kinds=None if kinds is None else json_text(kinds),
        effects=None if effects is None else json_text(effects),
    ).value
    return tx.one("next_ready_in_lanes", lanes=lanes)


def _same_lease(tx: Transaction, caller: Caller, queue: QueueRow, claim_key: str) -> Lease | None:
    """The live lease that this key claimed before: an answer that got lost costs no attempt."""
    task: TaskRow | None = tx.one(
        "task_claimed_under", claim_key=claim_key, key_id=caller.key_id, queue=queue.queue
    )
    if task is None or task.expires_at is None or tx.now >= task.expires_at:
        return None
    return leases.shown(queue, task, leases.luggage(tx, task, briefs.for_holder(tx, task)))


def _empty(tx: Transaction, queue: QueueRow) -> Empty:
    """Come back when the next thing falls due, at the latest in half a minute."""
    earliest = tx.one("earliest_due", queue=queue.queue).value
    seconds = RETRY_AFTER_SECONDS_MAX
    if earliest is not None:
        seconds = min(seconds, -((tx.now - earliest) // SECOND_US))
    return Empty(retry_after_seconds=max(1, seconds))
