"""A topic checked page by page: its chain, its contests' winners, and what the store's claims say of it.
Pure. What is wrong comes back as a sentence; nothing is checked after the first.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Collection, Sequence
from itertools import pairwise

from tessera.lite.chain import Chain
from tessera.lite.message import Commitments, LiteClaim
from tessera.lite.winner import Winners, claim_of
from tessera.models import TopicMessage
from tessera.rows import PlacedClaim
from tessera.rules.claims import CLAIMED, MISSED
from tessera.runtime import rfc3339


class TopicCheck:
    """One topic on its way. Call `rows` with each page in order, then `claims` with those of its rows."""

    def __init__(self, topic_id: str, trusted: Collection[str]) -> None:
        self.chain = Chain(topic_id)
        self.winners = Winners()
        self.contested: list[str] = []  # the claims that won in the last page
        self._trusted = frozenset(trusted)
        self._page: Sequence[TopicMessage] = ()
        self._said: list[LiteClaim | None] = []
        self._names: dict[str, Commitments] = {}  # by their secrets

    def rows(self, page: Sequence[TopicMessage]) -> str | None:
        """Read a page's rows; what is wrong with them, or None."""
        broken = self.chain.follow(page)
        if broken is not None:
            return f"row {broken.sequence_number} {broken.says}"
        self._page = page
        self._said = [claim_of(row, self._trusted) for row in page]
        self.contested = [
            said.claim_id
            for row, said in zip(page, self._said, strict=True)
            if said is not None and self.winners.see(row.sequence_number, said)
        ]
        return None

    def claims(self, claims: Sequence[PlacedClaim]) -> str | None:
        """Compare claims, whose messages stand in the page, with it; what is wrong with them, or None."""
        for one, other in pairwise(claims):
            if one.sequence_number == other.sequence_number:
                return f"claims {one.claim_id} and {other.claim_id} name one row, {one.sequence_number}"
        for claim in claims:
            wrong = self._wrong(claim)
            if wrong is not None:
                return f"claim {claim.claim_id}: {wrong}"
        return None

    def end(self, sequence_number: int, running_hash: bytes | None) -> str | None:
        """What is wrong with the last row that was read, if the log knows the topic to end there; or None."""
        last = self.chain.sequence_number
        if last < sequence_number:
            return f"row {last + 1} is missing: the topic has {sequence_number}"
        if last > sequence_number:
            return f"row {sequence_number + 1} stands after the last row that the topic has"
        if last and running_hash != self.chain.running_hash:
            return f"row {last} has another running hash than the topic's last row"
        return None

    def unknown(self, known: Collection[str]) -> str | None:
        """What is wrong with the page's winners, if the store has only these claims; or None."""
        for claim_id in self.contested:
            if claim_id not in known:
                return f"claim {claim_id} won by the rows, and the store does not have it"
        return None

    def _wrong(self, claim: PlacedClaim) -> str | None:
        number = claim.sequence_number
        place = number - self._page[0].sequence_number
        row, said = self._page[place], self._said[place]
        if claim.running_hash != b64encode(row.running_hash).decode():
            return f"its proof has another running hash than row {number}"
        if claim.consensus_timestamp not in (None, row.consensus_timestamp):
            return f"its proof has another consensus time than row {number}"
        if said is None:  # it came late, or nobody's word counts that it was
            return f"it was won, but row {number} is no valid claim" if claim.state == CLAIMED else None
        if said != (ours := self._said_by(claim)):
            return f"its {_first_other(said, ours)} is not that of row {number}"
        won = self.winners.found[said.task, said.fencing_token].claim.claim_id == claim.claim_id
        if claim.state == CLAIMED and not won:
            return f"it was won, but by the rows of its contest another claim won before row {number}"
        if claim.state == MISSED and won:
            return f"it was missed, but by row {number} it won"
        return None

    def _said_by(self, claim: PlacedClaim) -> LiteClaim:
        """What a claim's message says, made anew of the store's words."""
        names = self._names.get(claim.secret)
        if names is None:
            names = self._names[claim.secret] = Commitments(bytes.fromhex(claim.secret))
        of = names.of
        return LiteClaim(
            claim.claim_id,
            of("workspace", claim.workspace_id),
            of("queue", claim.queue_id),
            of("role", claim.role_id),
            of("task", claim.task_id),
            of("agent", claim.agent_id),
            claim.fencing_token,
            claim.lease_seconds,
            of("idempotency", claim.idempotency_sha256),
            rfc3339(claim.reserved_at),
        )


def _first_other(one: LiteClaim, other: LiteClaim) -> str:
    """The first field in which two claims differ."""
    fields = LiteClaim.__struct_fields__
    return next(name for name in fields if getattr(one, name) != getattr(other, name))
