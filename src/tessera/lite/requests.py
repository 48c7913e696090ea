"""Asking again: what a claim was answered under its key is answered again while it stands."""

from __future__ import annotations

import hashlib

import msgspec
from msgspec import Struct

from tessera.canonical import json_text
from tessera.limits import CLAIM_REPLAY_SECONDS, SECOND_US
from tessera.lite.details import claimed
from tessera.models import ClaimAnswer, Claimed, ClaimNext, ClaimTask, Missed, NoTasks, Rejected
from tessera.rows import ClaimRow, QueueRow, RequestRow, TaskRow
from tessera.rules.claims import CLAIMED, RESERVED
from tessera.rules.grants import Caller
from tessera.states import LEASED
from tessera.steps import briefs
from tessera.storage.port import Transaction

Asked = ClaimNext | ClaimTask
Kept = NoTasks | Missed | Rejected
_ENDED = Rejected("idempotency_conflict", retryable=True, retry_after_seconds=1)
_OTHER = Rejected("idempotency_conflict", retryable=False)


class Place(Struct, frozen=True):
    """Where a claim looks: a workspace's queue, or one task of it."""

    queue: QueueRow
    workspace_id: str
    task: TaskRow | None

    @property
    def target(self) -> str:
        """What the idempotency key is for, besides its agent."""
        return f"queue:{self.queue.name}" if self.task is None else f"task:{self.task.task_id}"


class Pending(Struct, frozen=True):
    """A claim under the same key is on its way: look again in a moment."""


def key_hash(ask: Asked) -> str:
    """What is kept of an idempotency key."""
    return hashlib.sha256(ask.idempotency_key.encode()).hexdigest()


def body_hash(ask: Asked) -> str:
    """What a claim asks for besides its agent, target and key: the same key may not ask for another thing."""
    asked = {"role_ids": ask.role_ids, "lease_seconds": ask.lease_seconds}
    return hashlib.sha256(json_text(asked).encode()).hexdigest()


def before(
    tx: Transaction, caller: Caller, place: Place, ask: Asked, last: str | None
) -> ClaimAnswer | Pending | None:
    """What this key was answered before, or that it is under way; None: nothing that still stands. `last` is
    the claim with which the same call began: then it is this call's turn.
    """
    request: RequestRow | None = tx.one(
        "request_keyed", workspace_id=place.workspace_id, agent_id=ask.agent_id, target=place.target,
        idempotency_sha256=key_hash(ask),
    )  # fmt: skip
    if request is None:
        return None
    claim: ClaimRow | None = None
    if request.claim_id is not None:
        claim = tx.one("claim_named", claim_id=request.claim_id)
    if claim is not None and claim.claim_id == last and claim.state != CLAIMED:
        return None
    under_way = claim is not None and claim.state == RESERVED
    if request.until <= tx.now and not under_way:
        return None
    if request.body_sha256 != body_hash(ask):
        return _OTHER
    if request.answer is not None:
        return msgspec.json.decode(request.answer, type=Kept)
    if claim is not None and claim.state == CLAIMED:
        return _again(tx, caller, claim)
    return Pending()


def note(tx: Transaction, place: Place, ask: Asked, until: int, **said: str | None) -> None:
    """Note under a claim's key what it is answered, or which claim is under way for it."""
    request = RequestRow(
        workspace_id=place.workspace_id,
        agent_id=ask.agent_id,
        target=place.target,
        idempotency_sha256=key_hash(ask),
        body_sha256=body_hash(ask),
        claim_id=said.get("claim_id"),
        answer=said.get("answer"),
        until=until,
    )
    tx.save("save_request", request)


def keep(tx: Transaction, place: Place, ask: Asked, answer: Kept) -> None:
    """Keep an answer without a lease: a rejection for a day, the others until it is time to come back."""
    seconds = CLAIM_REPLAY_SECONDS if isinstance(answer, Rejected) else answer.retry_after_seconds
    note(tx, place, ask, tx.now + seconds * SECOND_US, answer=msgspec.json.encode(answer).decode())


def _again(tx: Transaction, caller: Caller, claim: ClaimRow) -> Claimed | Rejected:
    """The lease that the key won before, if it lives and is the caller's."""
    task: TaskRow = tx.one("task_numbered", serial=claim.serial)
    lives = (
        task.state == LEASED
        and task.fencing_token == claim.fencing_token
        and task.expires_at is not None
        and tx.now < task.expires_at
    )
    if not lives or task.key_id != caller.key_id:
        return _ENDED
    return claimed(tx, task, claim, briefs.for_holder(tx, task))
