"""verify_proofs: turn pending proofs into verified ones, by the log's own rows."""

from __future__ import annotations

import logging
from base64 import b64decode
from functools import partial

from msgspec import Struct

from tessera.acts.act import Act, Look, Run, Work
from tessera.errors import Unavailable
from tessera.limits import PAGE_MAX
from tessera.lite.chain import Chain
from tessera.lite.log import OrderedLog
from tessera.lite.running_hash import nanoseconds
from tessera.models import Nothing, TopicMessage
from tessera.rows import PendingProof, VerifiedPlace
from tessera.rules import grants
from tessera.rules.grants import Caller
from tessera.runtime import Runtime
from tessera.storage.port import Transaction
from tessera.verbs.guarded import Guarded

log = logging.getLogger("tessera.lite")


class PendingProofs(Struct, frozen=True):
    """The proofs of a topic that are to be verified, and the last place before them that has been."""

    proofs: list[PendingProof]
    start: VerifiedPlace | None


class Next(Struct, frozen=True):
    """Which proofs to look for: a topic's, after a number."""

    topic_id: str
    after: int


class Found(Struct, frozen=True):
    """A proof that holds, and the consensus time that its row tells."""

    claim_id: str
    consensus_timestamp: str


def verify_proofs(ordered: OrderedLog) -> Act[int]:
    """Follow each topic that has pending proofs from the last verified place on, or from its first row, and
    note the proofs that agree with their rows. Returns how many. What a mirror does not show yet is left
    for the next time; what disagrees stays pending and is logged.
    """
    topics: list[str] = yield Look(_TOPICS, Nothing())
    verified = 0
    for topic_id in topics:
        try:
            verified += yield from _topic(topic_id, ordered)
        except Unavailable as refusal:
            log.warning("the proofs of topic %s wait: %s", topic_id, refusal.detail)
    return verified


def _topic(topic_id: str, ordered: OrderedLog) -> Act[int]:
    verified, after = 0, 0
    while True:
        pending: PendingProofs = yield Look(_PENDING, Next(topic_id, after))
        if not pending.proofs:
            return verified
        chain = _chain(topic_id, pending.start)
        found, whole = yield from _found(chain, pending.proofs, ordered)
        if found:
            yield Run(_NOTE, found)
            verified += len(found)
        if not whole:
            return verified
        after = pending.proofs[-1].sequence_number


def _found(chain: Chain, proofs: list[PendingProof], ordered: OrderedLog) -> Act[tuple[list[Found], bool]]:
    """The proofs that hold, and whether the topic was seen up to the last of them."""
    wanted = {proof.sequence_number: proof for proof in proofs}
    last = proofs[-1].sequence_number
    found: list[Found] = []
    while (before := chain.sequence_number) < last:
        page = yield from ordered.read(chain.topic_id, before, min(PAGE_MAX, last - before))
        if not page:
            return found, False
        broken = yield Work(partial(chain.follow, page))
        for row in page[: chain.sequence_number - before]:
            proof = wanted.get(row.sequence_number)
            if proof is not None and _agree(proof, row):
                found.append(Found(proof.claim_id, row.consensus_timestamp))
        if broken is not None:
            log.error("topic %s is broken: row %d %s", chain.topic_id, broken.sequence_number, broken.says)
            return found, False
    return found, True


def _agree(proof: PendingProof, row: TopicMessage) -> bool:
    """Whether a proof says what its row says."""
    right = (
        row.message == proof.message.encode()
        and row.running_hash == b64decode(proof.running_hash)
        and proof.consensus_timestamp in (None, row.consensus_timestamp)
    )
    if not right:
        log.error("claim %s: its proof is not what row %d says", proof.claim_id, row.sequence_number)
    return right


def _chain(topic_id: str, start: VerifiedPlace | None) -> Chain:
    if start is None:
        return Chain(topic_id)
    return Chain(
        topic_id, start.sequence_number, b64decode(start.running_hash), nanoseconds(start.consensus_timestamp)
    )


def topics_pending(tx: Transaction, runtime: Runtime, caller: Caller, ask: Nothing) -> list[str]:
    """The topics that have proofs to verify."""
    grants.is_admin(caller)
    return [row.value for row in tx.all("topics_pending")]


def proofs_pending(tx: Transaction, runtime: Runtime, caller: Caller, ask: Next) -> PendingProofs:
    """The next proofs of a topic that are to be verified, and where to begin."""
    grants.is_admin(caller)
    proofs = tx.all("proofs_pending", topic_id=ask.topic_id, after=ask.after, limit=PAGE_MAX)
    if not proofs:
        return PendingProofs([], None)
    return PendingProofs(
        proofs, tx.one("verified_before", topic_id=ask.topic_id, before=proofs[0].sequence_number)
    )


def note_verified(tx: Transaction, runtime: Runtime, caller: Caller, ask: list[Found]) -> None:
    """Note proofs that have been verified, but for those that somebody else has noted since."""
    grants.is_admin(caller)
    new = [one for one in ask if tx.one("claim_named", claim_id=one.claim_id).proof_status == "pending"]
    runtime.reach("note_verified.read")
    if new:
        tx.save_all("verify_proof", new)
    runtime.reach("note_verified.written")


_TOPICS = Guarded(topics_pending, None)
_PENDING = Guarded(proofs_pending, None)
_NOTE = Guarded(note_verified, None)
