"""claim, claim_batch: lease the tasks that go first. Written once, for any number."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from tessera.canonical import json_text
from tessera.errors import InvalidRequest
from tessera.limits import RETRY_AFTER_SECONDS_MAX, SECOND_US
from tessera.models import Claim, ClaimBatch, Empty, Lease, Leases
from tessera.rows import QueueRow, TaskRow
from tessera.rules import grants, moves, shares
from tessera.rules.grants import Caller
from tessera.runtime import Runtime
from tessera.steps import briefs, lapses, leases, tasks
from tessera.storage.port import Overdue, Transaction


def claim(tx: Transaction, runtime: Runtime, caller: Caller, ask: Claim) -> Lease | Empty:
    """Lease the task that goes first, or say when to come back. The same key gives the same live lease."""
    answer = _claim(tx, runtime, caller, ask, limit=1)
    return answer if isinstance(answer, Empty) else answer[0]


def claim_batch(tx: Transaction, runtime: Runtime, caller: Caller, ask: ClaimBatch) -> Leases | Empty:
    """Lease up to `limit` tasks at once. The same key gives those of its leases that are still live."""
    answer = _claim(tx, runtime, caller, ask, ask.limit)
    return answer if isinstance(answer, Empty) else Leases(leases=answer)


def _claim(tx: Transaction, runtime: Runtime, caller: Caller, ask: Claim, limit: int) -> list[Lease] | Empty:
    queues = [tasks.queue_known(tx, name) for name in _names(ask)]
    for queue in queues:
        grants.covers_queue(caller, queue.name)
    kinds, effects = grants.may_claim(caller, ask)
    if ask.idempotency_key is not None and (same := _same_leases(tx, caller, queues, ask.idempotency_key)):
        return same
    for queue in queues:
        lapses.settled(tx, queue)
    picked = _picked(tx, runtime, queues, kinds, effects, limit)
    if not picked:
        return _empty(tx, queues)
    now, key_id, key = tx.now, caller.key_id, ask.idempotency_key
    luggage = [leases.luggage(tx, task, _brief(tx, task)) for task, _ in picked]
    leased = [moves.leased(task, queue, now, ask.worker, key_id, key) for task, queue in picked]
    runtime.reach("claim.read")

    tasks.move_all(tx, [task for task, _ in picked], leased, "claimed", key_id)
    runtime.reach("claim.written")
    return [
        leases.shown(queue, task, carried)
        for (_, queue), task, carried in zip(picked, leased, luggage, strict=True)
    ]


def _names(ask: Claim) -> list[str]:
    """The queues asked for, each once: either `queue` or `queues` names them."""
    if (ask.queue is None) == (ask.queues is None):
        raise InvalidRequest("queue: give either queue or queues")
    return [ask.queue] if ask.queue is not None else list(dict.fromkeys(ask.queues or []))


def _picked(
    tx: Transaction, runtime: Runtime, queues: list[QueueRow], kinds: Sequence[str] | None,
    effects: Sequence[int] | None, limit: int,
) -> list[tuple[TaskRow, QueueRow]]:  # fmt: skip
    """The tasks that go first. Of several queues each draw serves one, in proportion to their weights."""
    heads = [_heads(tx, queue, kinds, effects, limit) for queue in queues]
    if len(queues) == 1:
        return [(task, queues[0]) for task in heads[0]]
    draws = (runtime.uniform(0.0, 1.0) for _ in range(limit))
    dealt = shares.deal([queue.weight for queue in queues], [len(head) for head in heads], draws)
    waiting = [iter(head) for head in heads]
    return [(next(waiting[index]), queues[index]) for index in dealt]


def _heads(
    tx: Transaction, queue: QueueRow, kinds: Sequence[str] | None, effects: Sequence[int] | None, limit: int
) -> list[TaskRow]:
    if queue.paused:
        return []
    if kinds is None and effects is None:
        return tx.all("next_ready", queue=queue.queue, limit=limit)
    lanes = tx.one(
        "lanes_matching",
        queue=queue.queue,
        kinds=None if kinds is None else json_text(kinds),
        effects=None if effects is None else json_text(effects),
    ).value
    return tx.all("next_ready_in_lanes", lanes=lanes, limit=limit)


def _brief(tx: Transaction, task: TaskRow) -> str:
    brief = briefs.intact(tx, task)
    if brief is None:
        raise Overdue(partial(lapses.settle_unreadable, task.serial))
    return brief


def _same_leases(tx: Transaction, caller: Caller, queues: list[QueueRow], claim_key: str) -> list[Lease]:
    """The live leases that this key claimed before: an answer that got lost costs no attempt."""
    numbered = {queue.queue: queue for queue in queues}
    held: list[TaskRow] = tx.all(
        "tasks_claimed_under",
        claim_key=claim_key,
        key_id=caller.key_id,
        queues=json_text(list(numbered)),
    )
    return [
        leases.shown(numbered[task.queue], task, leases.luggage(tx, task, briefs.for_holder(tx, task)))
        for task in held
        if task.expires_at is not None and tx.now < task.expires_at
    ]


def _empty(tx: Transaction, queues: list[QueueRow]) -> Empty:
    """Come back when the next thing falls due, at the latest in half a minute."""
    seconds = RETRY_AFTER_SECONDS_MAX
    for queue in queues:
        earliest = tx.one("earliest_due", queue=queue.queue).value
        if earliest is not None:
            seconds = min(seconds, -((tx.now - earliest) // SECOND_US))
    return Empty(retry_after_seconds=max(1, seconds))
