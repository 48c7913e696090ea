"""recover_claims: finish what was left between two steps of a claim, by what the log says of it."""

from __future__ import annotations

from base64 import b64encode
from collections import Counter
from typing import Final

from msgspec import Struct

from tessera.acts.act import Act, Look, Run
from tessera.errors import Unavailable
from tessera.limits import (
    CLAIM_STEPS_SECONDS,
    CLAIMS_PER_RECOVERY_MAX,
    REQUESTS_PER_SWEEP_MAX,
    SECOND_US,
)
from tessera.lite.homes import is_own, reaching
from tessera.lite.local import LOCAL
from tessera.lite.log import OrderedLog
from tessera.lite.message import decode
from tessera.lite.proving import verify_proofs
from tessera.lite.settling import Settle, Settled, settle_claim
from tessera.lite.winner import winner
from tessera.models import Nothing, Proof, Recovered, TopicMessage
from tessera.rows import ClaimRow, RoleRow
from tessera.rules import grants
from tessera.rules.claims import CLAIM_STATES
from tessera.rules.grants import Caller
from tessera.runtime import Runtime
from tessera.steps.workspaces import names
from tessera.storage.port import Transaction
from tessera.verbs.guarded import Guarded


class LeftBehind(Struct, frozen=True):
    """A claim that nobody has gone on with, the accounts whose messages count in its topic, and whether that
    is of the store's own log.
    """

    claim: ClaimRow
    accounts: list[str]
    own: bool


class LeftOver(Struct, frozen=True):
    """What recovery has to do: claims to settle, and whether old answers may be forgotten."""

    claims: list[LeftBehind]
    forgets: bool


def recover_claims(ask: Nothing, log: OrderedLog = LOCAL) -> Act[Recovered]:
    """Settle the claims that were left a minute ago or earlier. One whose message won has its lease from
    now on, for its agent to find under the same key; one whose message never came is void, and so is its
    contest. One whose topic lies on a network that the settings do not name is left for who reaches it.
    Answers that nobody is promised any more are forgotten.
    """
    left: LeftOver = yield Look(_LEFT, ask)
    ends: Counter[int] = Counter()
    for one in left.claims:
        where = reaching(log, one.own)
        if where is None:
            continue
        try:
            trusted = one.accounts or [(yield from where.payer())]
            rows = yield from _until_own(where, one.claim, trusted)
        except Unavailable:
            continue  # the log cannot be read now
        settled: Settled = yield Run(settle_claim, _found(one.claim, rows, trusted))
        ends[settled.state] += 1
    if left.forgets:
        yield Run(_FORGET, ask)
    verified = yield from verify_proofs(log)
    counted = {name: ends[number] for number, name in enumerate(CLAIM_STATES) if number}
    return Recovered(**counted, verified=verified)


def left_behind(tx: Transaction, runtime: Runtime, caller: Caller, ask: Nothing) -> LeftOver:
    """What recovery has to do."""
    grants.is_admin(caller)
    before = tx.now - CLAIM_STEPS_SECONDS * SECOND_US
    claims: list[ClaimRow] = tx.all("claims_left_behind", before=before, limit=CLAIMS_PER_RECOVERY_MAX)
    return LeftOver(
        [LeftBehind(claim, _accounts(tx, claim), _is_own_topic(tx, claim)) for claim in claims],
        tx.one("request_to_forget", now=tx.now) is not None,
    )


def forget_requests(tx: Transaction, runtime: Runtime, caller: Caller, ask: Nothing) -> None:
    """Forget answers that nobody is promised any more, a bounded number."""
    grants.is_admin(caller)
    some = tx.one("request_to_forget", now=tx.now) is not None
    runtime.reach("forget_requests.read")
    if some:
        tx.write("forget_requests", now=tx.now, limit=REQUESTS_PER_SWEEP_MAX)
    runtime.reach("forget_requests.written")


def _accounts(tx: Transaction, claim: ClaimRow) -> list[str]:
    role: RoleRow = tx.one("role_named", workspace_id=claim.workspace_id, role_id=claim.role_id)
    return names(role.accounts)


def _is_own_topic(tx: Transaction, claim: ClaimRow) -> bool:
    return is_own(tx, claim.workspace_id, claim.role_id, claim.topic_id)


def _until_own(log: OrderedLog, claim: ClaimRow, trusted: list[str]) -> Act[list[TopicMessage]]:
    """The topic's rows from a contest's beginning to the claim's own; all there are if it is not there."""
    rows: list[TopicMessage] = []
    after = claim.after_sequence
    while page := (yield from log.read(claim.topic_id, after)):
        for row in page:
            rows.append(row)
            if _is_own(claim, row, trusted):
                return rows
        after = page[-1].sequence_number
    return rows


def _is_own(claim: ClaimRow, row: TopicMessage, trusted: list[str]) -> bool:
    """Whether a row is the claim's message, and not somebody's copy of it."""
    return row.payer_account_id in trusted and row.message == claim.message.encode()


def _found(claim: ClaimRow, rows: list[TopicMessage], trusted: list[str]) -> Settle:
    """How to settle a claim by the rows that end with its own, if that is there."""
    own = decode(claim.message.encode())
    if own is None or not rows or not _is_own(claim, rows[-1], trusted):
        return Settle(claim.claim_id, None, None)
    won = winner(rows, trusted, own.task, own.fencing_token)
    return Settle(claim.claim_id, _proof(rows[-1]), None if won is None else won.claim.claim_id)


def _proof(row: TopicMessage) -> Proof:
    """A message's place as its row tells it. The pass that verifies proofs computes its hash anew."""
    first = None if row.chunk_info is None else row.chunk_info.initial_transaction_id
    return Proof(
        status="pending",
        topic_id=row.topic_id,
        sequence_number=row.sequence_number,
        consensus_timestamp=row.consensus_timestamp,
        running_hash=b64encode(row.running_hash).decode(),
        transaction_id=(
            f"{row.payer_account_id}@{row.consensus_timestamp}"
            if first is None
            else f"{first.account_id}@{first.transaction_valid_start}"
        ),
    )


_LEFT: Final = Guarded(left_behind, None)
_FORGET: Final = Guarded(forget_requests, None)
