"""What verbs are about to read, as far as their requests tell: it is asked for with the opening of their
transaction, so that it costs no round trip of its own. A wrong guess costs a read that nobody uses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tessera.canonical import json_text
from tessera.errors import TesseraError
from tessera.models import Claim, Submit, SubmitBatch
from tessera.rows import QueueRow
from tessera.rules import alike, grants
from tessera.rules.grants import Caller
from tessera.storage.jobs import Job, grouped

Recall = Callable[[str, dict[str, object]], Any]  # what is remembered of a statement, or None
Read = tuple[str, dict[str, object]]


def reads_ahead(jobs: list[Job], recall: Recall) -> Iterator[Read]:
    """The reads of some verbs, in any order."""
    for _, together in grouped(jobs):
        callers_and_asks = [job.args for job in together if len(job.args) == 2]
        if not callers_and_asks:
            continue
        _, ask = callers_and_asks[0]
        if isinstance(ask, Submit | SubmitBatch):
            yield from _submits([one for _, one in callers_and_asks])
        elif isinstance(ask, Claim):
            yield from _claims(callers_and_asks, recall)
        elif isinstance(getattr(ask, "task_id", None), str):
            yield "task_named", {"task_id": ask.task_id}


def _submits(asks: Sequence[Any]) -> Iterator[Read]:
    submits: list[Submit] = [
        one for ask in asks for one in (ask.submits if isinstance(ask, SubmitBatch) else [ask])
    ]
    keys = [submit.idempotency_key for submit in submits if submit.idempotency_key is not None]
    if len(submits) == 1:
        yield "task_named", {"task_id": submits[0].task_id}
    else:
        yield "each_task_named", {"task_ids": json_text([submit.task_id for submit in submits])}
    if len(keys) == 1:
        yield "result_keyed", {"idempotency_key": keys[0]}
    elif keys:
        yield "results_keyed", {"keys": json_text(keys)}


def _claims(asks: Sequence[tuple[Caller, Claim]], recall: Recall) -> Iterator[Read]:
    caller, ask = asks[0]
    queue: QueueRow | None = recall("queue_named", {"name": ask.queue})
    if queue is None:
        return
    yield "earliest_due", {"queue": queue.queue}
    if queue.paused:
        return
    try:
        kinds, effects = (None if one is None else json_text(one) for one in grants.may_claim(caller, ask))
    except TesseraError:
        return
    looks = alike.looks(caller, ask)
    limit = sum(alike.limit(other) for whose, other in asks if alike.looks(whose, other) == looks)
    if kinds is None and effects is None:
        yield "next_ready", {"queue": queue.queue, "limit": limit}
        return
    lanes = recall("lanes_matching", {"queue": queue.queue, "kinds": kinds, "effects": effects})
    if lanes is not None:
        yield "next_ready_in_lanes", {"lanes": lanes.value, "limit": limit}
