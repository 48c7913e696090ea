"""settle_claim: the last of a claim's three steps. The log has said who won; here that becomes a lease, or
the claim is given up. Only this transaction, or one after it, tells anybody what the task is.
"""

from __future__ import annotations

from functools import partial
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from tessera.errors import Unauthorized
from tessera.limits import CLAIM_REPLAY_SECONDS, SECOND_US
from tessera.lite.details import claimed
from tessera.models import Claimed, Proof
from tessera.rows import AgentRow, ClaimRow, QueueRow, RequestRow, TaskRow
from tessera.rules import moves
from tessera.rules.claims import CLAIMED, MISSED, RESERVED, VOID
from tessera.rules.grants import Caller
from tessera.runtime import Runtime
from tessera.states import READY
from tessera.steps import briefs, keys, lapses, tasks
from tessera.storage.port import Overdue, Transaction

WRITE = "claim_arbitration_write"
Why = Literal["lost", "gone", "unauthorized", "inactive_agent"]


class Settle(Struct, frozen=True):
    """A claim whose message the log has, or certainly has not; and which claim the log says has won."""

    claim_id: str
    proof: Proof | None
    winner: str | None


class Settled(Struct, frozen=True):
    """What has become of a claim: its answer if it won, else why it did not."""

    state: int
    answer: Claimed | None = None
    why: Why | None = None


def settle_claim(tx: Transaction, runtime: Runtime, caller: Caller, ask: Settle) -> Settled:
    """Give the winner its lease, if the contest is still open, and store its proof. A winner that may not
    have the lease any more, and a claim whose message never came, close the contest: the task's token rises,
    so that no message of this contest wins it later. A claim that is settled already stays as it is.
    """
    claim: ClaimRow = tx.one("claim_named", claim_id=ask.claim_id)
    if claim.state != RESERVED:
        return Settled(claim.state, None, "gone")
    task: TaskRow = tx.one("task_numbered", serial=claim.serial)
    queue = tasks.queue_of(tx, task)
    is_open = task.state == READY and task.fencing_token + 1 == claim.fencing_token
    request = _request(tx, claim)
    why = _why_not(tx, claim, task, queue, ask, is_open and request is not None)
    brief = briefs.intact(tx, task) if why is None else None
    if why is None and brief is None:
        raise Overdue(partial(lapses.settle_unreadable, task.serial))
    voids = is_open and (ask.proof is None or why not in (None, "lost"))
    state = CLAIMED if why is None else MISSED if why == "lost" and ask.proof is not None else VOID
    after = _settled(claim, state, tx.now, ask.proof, runtime)
    won = moves.won(task, tx.now, claim.agent_id, claim.key_id, claim.lease_seconds)
    answer = None if brief is None else claimed(tx, won, after, brief)
    runtime.reach("settle_claim.read")

    tx.save("settle_claim", after)
    if ask.proof is not None:
        tx.write(
            "add_usage_event", event_id=after.event_id, workspace_id=claim.workspace_id,
            claim_id=claim.claim_id, agent_id=claim.agent_id, type=WRITE, at=tx.now,
        )  # fmt: skip
    if answer is not None:
        assert request is not None
        tx.save("save_request", replace(request, until=tx.now + CLAIM_REPLAY_SECONDS * SECOND_US))
        tasks.move(tx, task, won, "claimed", claim.key_id, claim_id=claim.claim_id)
    elif voids:
        tasks.save(tx, moves.voided(task, tx.now))
        tx.event("contest_voided", task.queue, task.task_id, fencing_token=claim.fencing_token)
    runtime.reach("settle_claim.written")
    return Settled(state, answer, why)


def _why_not(
    tx: Transaction, claim: ClaimRow, task: TaskRow, queue: QueueRow, ask: Settle, is_wanted: bool
) -> Why | None:
    """Why a claim gets no lease; None: it does."""
    if ask.proof is None or ask.winner != claim.claim_id:
        return "lost"
    if not is_wanted or task.due is not None or queue.paused:
        return "gone"
    try:
        keys.standing(tx, Caller(claim.key_id))
    except Unauthorized:
        return "unauthorized"
    agent: AgentRow | None = tx.one("agent_named", workspace_id=claim.workspace_id, agent_id=claim.agent_id)
    return None if agent is not None and agent.active else "inactive_agent"


def _request(tx: Transaction, claim: ClaimRow) -> RequestRow | None:
    """The call that the claim was made for, unless it has gone on with another claim since."""
    request: RequestRow | None = tx.one(
        "request_keyed", workspace_id=claim.workspace_id, agent_id=claim.agent_id, target=claim.target,
        idempotency_sha256=claim.idempotency_sha256,
    )  # fmt: skip
    return request if request is not None and request.claim_id == claim.claim_id else None


def _settled(claim: ClaimRow, state: int, now: int, proof: Proof | None, runtime: Runtime) -> ClaimRow:
    """The claim's row as it becomes, with its place in the log."""
    after = replace(claim, state=state, settled_at=now)
    if proof is None:
        return after
    return replace(
        after,
        event_id=runtime.new_id("evt_"),
        sequence_number=proof.sequence_number,
        consensus_timestamp=proof.consensus_timestamp,
        running_hash=proof.running_hash,
        transaction_id=proof.transaction_id,
        proof_status=proof.status,
    )
