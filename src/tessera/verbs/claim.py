"""claim, claim_batch: lease the tasks that go first. Written once, for any number of claims and callers."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from functools import partial
from itertools import islice

from msgspec import Struct

from tessera.canonical import json_text
from tessera.errors import InvalidRequest, TesseraError
from tessera.limits import RETRY_AFTER_SECONDS_MAX
from tessera.models import Claim, ClaimBatch, Empty, Lease, Leases
from tessera.rows import QueueRow, TaskRow
from tessera.rules import alike, grants, moves, shares
from tessera.rules.grants import Caller
from tessera.runtime import Runtime
from tessera.steps import briefs, lapses, leases, tasks, waits
from tessera.steps.briefs import Brief
from tessera.steps.leases import Contents
from tessera.steps.outcomes import only, refusal_or
from tessera.storage.port import Overdue, Transaction

Line = tuple[int, str | None, str | None]  # a queue's number; kinds and effects as JSON, None: any


class Pick(Struct, frozen=True):
    """A task that a claim gets: as it was, as it becomes, and what goes with it."""

    queue: QueueRow
    before: TaskRow
    after: TaskRow
    contents: Contents


class Heads:
    """The tasks that go first, each handed out once however many claims look at it."""

    def __init__(self, tx: Transaction, asks: Sequence[tuple[Caller, Claim]]) -> None:
        self._tx = tx
        self._alike: dict[tuple[object, ...], int] = {}  # how much is wanted by claims that look the same
        for caller, ask in asks:
            looks = alike.looks(caller, ask)
            self._alike[looks] = self._alike.get(looks, 0) + alike.limit(ask)
        # A line's first tasks, and whether these are all.
        self._read: dict[Line, tuple[deque[TaskRow], bool]] = {}
        self._briefs: dict[int, Brief] = {}  # of the tasks read, those that are whole
        self._taken: set[int] = set()
        self._keyed: dict[tuple[str | None, str], list[Pick]] = {}
        self._due: dict[int, int] = {}

    def first(self, line: Line, caller: Caller, ask: Claim) -> list[TaskRow]:
        """The tasks that a claim may have of a line: those before the others that no claim has taken. A line
        is read once, as far as all the claims that look alike will need it.
        """
        limit = alike.limit(ask)
        if line not in self._read:
            self._look(line, self._alike[alike.looks(caller, ask)])
        while True:
            tasks_, whole = self._read[line]
            while tasks_ and tasks_[0].serial in self._taken:
                tasks_.popleft()
            free = list(islice((task for task in tasks_ if task.serial not in self._taken), limit))
            if len(free) == limit or whole:
                return free
            self._look(line, limit)

    def brief(self, task: TaskRow) -> Brief | None:
        """A task's brief; None if it is damaged."""
        return self._briefs.get(task.serial)

    def take(self, task: TaskRow) -> None:
        """Hand a task out."""
        self._taken.add(task.serial)

    def add(self, caller: Caller, ask: Claim, picks: list[Pick]) -> None:
        """Note what a claim has got: for claims after it under the same key, and for when it falls due."""
        if ask.idempotency_key is not None:
            self._keyed.setdefault((caller.key_id, ask.idempotency_key), []).extend(picks)
        for pick in picks:
            assert pick.after.expires_at is not None
            queue, at = pick.queue.queue, pick.after.expires_at
            self._due[queue] = min(at, self._due.get(queue, at))

    def under(self, caller: Caller, queues: list[QueueRow], claim_key: str) -> list[Pick]:
        """What claims before this one got from these queues under the same key."""
        numbers = {queue.queue for queue in queues}
        picks = self._keyed.get((caller.key_id, claim_key), [])
        return [pick for pick in picks if pick.queue.queue in numbers]

    def due(self, queue: QueueRow) -> int | None:
        """When the first lease of the claims before this one lapses."""
        return self._due.get(queue.queue)

    def passed_over(self, line: Line) -> bool:
        """Whether tasks of a line are ready that could not be read, because others hold them just now."""
        queue, kinds, effects = line
        taken = json_text(sorted(self._taken))
        if kinds is None and effects is None:
            found = self._tx.one("passed_over", queue=queue, taken=taken)
        else:
            lanes = self._tx.one("lanes_matching", queue=queue, kinds=kinds, effects=effects).value
            found = self._tx.one("passed_over_in_lanes", lanes=lanes, taken=taken)
        return bool(found.value)

    def _look(self, line: Line, wanted: int) -> None:
        """Read a line so far that `wanted` tasks of it are free, if there are so many."""
        queue, kinds, effects = line
        limit = wanted + len(self._taken)
        if kinds is None and effects is None:
            found = self._tx.all("next_ready", queue=queue, limit=limit)
        else:
            lanes = self._tx.one("lanes_matching", queue=queue, kinds=kinds, effects=effects).value
            found = self._tx.all("next_ready_in_lanes", lanes=lanes, limit=limit)
        self._read[line] = deque(found), len(found) < limit
        if found:
            self._briefs |= briefs.each_intact(self._tx, found)


def claims(
    tx: Transaction, runtime: Runtime, asks: Sequence[tuple[Caller, Claim]]
) -> list[Lease | Leases | Empty | TesseraError]:
    """Several callers' claims, in order; each is answered, or refused, as if it were alone."""
    heads = Heads(tx, asks)
    decided = [refusal_or(_decide, tx, runtime, caller, ask, heads) for caller, ask in asks]
    picks = [one for some in decided if isinstance(some, list) for one in some if isinstance(one, Pick)]
    runtime.reach("claim.read")

    if picks:
        before, after = [pick.before for pick in picks], [pick.after for pick in picks]
        tasks.move_all(tx, before, after, "claimed", [task.key_id for task in after])
    runtime.reach("claim.written")
    return [
        _shown(ask, one) if isinstance(one, list) else one
        for (_, ask), one in zip(asks, decided, strict=True)
    ]


def claim(tx: Transaction, runtime: Runtime, caller: Caller, ask: Claim) -> Lease | Empty:
    """Lease the task that goes first, or say when to come back: the one of the highest priority, then the
    oldest, then the one with the smallest id. The same key gives the same live lease.
    """
    return only(claims(tx, runtime, [(caller, ask)]))


def claim_batch(tx: Transaction, runtime: Runtime, caller: Caller, ask: ClaimBatch) -> Leases | Empty:
    """Lease up to `limit` tasks at once. The same key gives those of its leases that are still live."""
    return only(claims(tx, runtime, [(caller, ask)]))


def _decide(
    tx: Transaction, runtime: Runtime, caller: Caller, ask: Claim, heads: Heads
) -> list[Pick] | list[Lease] | Empty:
    """What a claim gets: tasks, or the leases it has already, or word when to come back; or a refusal."""
    queues = [tasks.queue_known(tx, caller, name) for name in _names(ask)]
    for queue in queues:
        grants.covers_queue(caller, queue.name)
        grants.claims_directly(queue.workspace_id)
    kinds, effects = grants.may_claim(caller, ask)
    for queue in queues:
        lapses.settled(tx, queue)
    if (key := ask.idempotency_key) is not None:
        same = _same_leases(tx, caller, queues, key, heads)
        if same:
            return same
    picked = _picked(runtime, caller, ask, queues, (_text(kinds), _text(effects)), heads)
    picks = [_pick(tx, caller, ask, task, queue, heads.brief(task)) for task, queue in picked]
    heads.add(caller, ask, picks)
    return picks or _empty(tx, queues, (_text(kinds), _text(effects)), heads)


def _picked(
    runtime: Runtime, caller: Caller, ask: Claim, queues: list[QueueRow],
    filters: tuple[str | None, str | None], heads: Heads,
) -> list[tuple[TaskRow, QueueRow]]:  # fmt: skip
    """The tasks that go first. Of several queues each draw serves one, in proportion to their weights."""
    lines = [[] if queue.paused else heads.first((queue.queue, *filters), caller, ask) for queue in queues]
    if len(queues) == 1:
        picked = [(task, queues[0]) for task in lines[0]]
    else:
        draws = (runtime.uniform(0.0, 1.0) for _ in range(alike.limit(ask)))
        dealt = shares.deal([queue.weight for queue in queues], [len(line) for line in lines], draws)
        waiting = [iter(line) for line in lines]
        picked = [(next(waiting[index]), queues[index]) for index in dealt]
    for task, _ in picked:
        heads.take(task)
    return picked


def _pick(
    tx: Transaction, caller: Caller, ask: Claim, task: TaskRow, queue: QueueRow, brief: Brief | None
) -> Pick:
    if brief is None:
        raise Overdue(partial(lapses.settle_unreadable, task.serial))
    after = moves.leased(task, queue, tx.now, ask.worker, caller.key_id, ask.idempotency_key)
    return Pick(queue, task, after, leases.contents(tx, task, brief))


def _shown(ask: Claim, decided: list[Pick] | list[Lease]) -> Lease | Leases:
    shown = [_lease(one) if isinstance(one, Pick) else one for one in decided]
    return Leases(leases=shown) if isinstance(ask, ClaimBatch) else shown[0]


def _lease(pick: Pick) -> Lease:
    return leases.shown(pick.queue, pick.after, pick.contents)


def _names(ask: Claim) -> list[str]:
    """The queues asked for, each once: either `queue` or `queues` names them."""
    if (ask.queue is None) == (ask.queues is None):
        raise InvalidRequest("queue: give either queue or queues")
    return [ask.queue] if ask.queue is not None else list(dict.fromkeys(ask.queues or []))


def _text(names: Sequence[object] | None) -> str | None:
    return None if names is None else json_text(names)


def _same_leases(
    tx: Transaction, caller: Caller, queues: list[QueueRow], claim_key: str, heads: Heads
) -> list[Lease]:
    """The live leases that this key claimed before: an answer that got lost costs no attempt."""
    numbered = {queue.queue: queue for queue in queues}
    held: list[TaskRow] = tx.all(
        "tasks_claimed_under",
        claim_key=claim_key,
        key_id=caller.key_id,
        queues=json_text(list(numbered)),
    )
    found = {pick.after.serial: (pick.after, _lease(pick)) for pick in heads.under(caller, queues, claim_key)}
    for task in held:
        if task.expires_at is not None and tx.now < task.expires_at:
            contents = leases.contents(tx, task, briefs.for_holder(tx, task))
            found[task.serial] = task, leases.shown(numbered[task.queue], task, contents)
    in_order = sorted(found.values(), key=lambda one: _order(one[0]))
    return [lease for _, lease in in_order]


def _order(task: TaskRow) -> tuple[object, ...]:
    """The order in which leases were claimed: by time, and within one claim as tasks go."""
    return task.claimed_at, -task.priority, task.created_at, task.task_id


def _empty(
    tx: Transaction, queues: list[QueueRow], filters: tuple[str | None, str | None], heads: Heads
) -> Empty:  # fmt: skip
    """Come back when the next thing falls due, at the latest in half a minute; soon, if there is something
    that others hold and may let go of.
    """
    seconds = RETRY_AFTER_SECONDS_MAX
    for queue in queues:
        if not queue.paused and heads.passed_over((queue.queue, *filters)):
            seconds = 1
        for due in (tx.one("earliest_due", queue=queue.queue).value, heads.due(queue)):
            seconds = min(seconds, waits.seconds_until(due, tx.now))
    return Empty(retry_after_seconds=seconds)
