"""claim_next, claim_task: reserve, append, settle. Two transactions of the store with the log between them,
as an act: while the log is asked nobody waits for a transaction, and whoever dies on the way leaves a
reservation that `recover_claims` finishes.
"""

from __future__ import annotations

from tessera.acts.act import Act, Rest, Run
from tessera.errors import TesseraError, Unauthorized, Unavailable
from tessera.limits import CLAIM_REST_SECONDS, CLAIM_RESTS_MAX, MISSED_RETRY_SECONDS
from tessera.lite.local import LOCAL
from tessera.lite.log import OrderedLog
from tessera.lite.requests import Asked, Pending
from tessera.lite.reserving import Reserve, Reserved, reserve_claim
from tessera.lite.settling import Settle, Settled, settle_claim
from tessera.lite.winner import winner
from tessera.models import ClaimAnswer, ClaimNext, ClaimTask, Proof, Rejected
from tessera.verbs.guarded import Guarded

_RESERVE = Guarded(reserve_claim, None)
_BUSY = Rejected("rate_limited", retryable=True, retry_after_seconds=MISSED_RETRY_SECONDS)


def claim_next(ask: ClaimNext, log: OrderedLog = LOCAL) -> Act[ClaimAnswer]:
    """Contend for the tasks of a workspace's queue that go first, a few at most, until one is won. The answer
    holds the task's details only if its claim and the proof of it are stored. The same key gives the same
    answer while it stands.
    """
    return (yield from _claim(ask, log))


def claim_task(ask: ClaimTask, log: OrderedLog = LOCAL) -> Act[ClaimAnswer]:
    """The same for one task by its id, which another may win."""
    return (yield from _claim(ask, log))


def _claim(ask: Asked, log: OrderedLog) -> Act[ClaimAnswer]:
    tried: tuple[int, ...] = ()
    last: str | None = None
    for _ in range(CLAIM_RESTS_MAX):
        reserved: Reserved | Pending | ClaimAnswer = yield Run(
            _RESERVE, Reserve(ask, tried, last, log.at_home)
        )
        if isinstance(reserved, Pending):
            yield Rest(CLAIM_REST_SECONDS)
            continue
        if not isinstance(reserved, Reserved):
            return reserved
        settled = yield from _contend(reserved, log)
        if settled is None:
            return _BUSY
        if settled.answer is not None:
            return settled.answer
        if settled.why == "unauthorized":
            raise Unauthorized
        if settled.why == "inactive_agent":
            return Rejected("inactive_agent", retryable=False)
        tried, last = (*tried, reserved.claim.serial), reserved.claim.claim_id
    return _BUSY


def _contend(reserved: Reserved, log: OrderedLog) -> Act[Settled | None]:
    """Put a claim to the log and settle it by what the log says; None: the log has not said yet, and
    `recover_claims` will settle it.
    """
    claim = reserved.claim
    if reserved.accounts and (yield from log.payer()) not in reserved.accounts:
        yield Run(settle_claim, Settle(claim.claim_id, None, None))
        raise Unavailable("the role lists accounts, and not the one that this store pays with", definite=True)
    try:
        entered = yield from log.enter(claim.topic_id, claim.message.encode(), claim.after_sequence)
    except TesseraError as refusal:
        if refusal.definite:
            yield Run(settle_claim, Settle(claim.claim_id, None, None))
        raise
    proof, rows = entered
    if rows is None:
        return None
    won = winner(rows, reserved.accounts or [payer_of(proof)], reserved.task, claim.fencing_token)
    name = None if won is None else won.claim.claim_id
    settled: Settled = yield Run(settle_claim, Settle(claim.claim_id, proof, name))
    return settled


def payer_of(proof: Proof) -> str:
    """The account that paid for a message: whom a role trusts that lists no accounts."""
    return proof.transaction_id.partition("@")[0]
