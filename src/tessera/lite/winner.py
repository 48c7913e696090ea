"""Who won a claim, from the log's rows alone. Pure, so that everybody who reads a topic finds the same.

A contest is a task and the fencing token that its next lease will have; both are in the message, the task as
a commitment. A contest's winner is the first message for it, by sequence number, that is valid: exactly a
claim, in one chunk, paid for by an account that the topic's role trusts, and in the log at most
`CLAIM_MESSAGE_SECONDS_MAX` after it was made. A lapse raises the token, so it opens another contest, which
no earlier message speaks of. What comes late by that bound never wins; so a claim whose message has not come
by then may be given up for good.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from msgspec import Struct

from tessera.limits import CLAIM_MESSAGE_SECONDS_MAX
from tessera.lite.message import LiteClaim, decode
from tessera.lite.running_hash import SECOND_NS, nanoseconds
from tessera.models import TopicMessage
from tessera.runtime import instant_us

Contest = tuple[str, int]  # the task's commitment, the fencing token
_LATE_NS = CLAIM_MESSAGE_SECONDS_MAX * SECOND_NS


class Won(Struct, frozen=True, gc=False):
    """A winning claim and where it stands."""

    claim: LiteClaim
    sequence_number: int


def claim_of(row: TopicMessage, trusted: Collection[str]) -> LiteClaim | None:
    """The claim that a row makes, if it may win at all."""
    if row.payer_account_id not in trusted:
        return None
    if row.chunk_info is not None and row.chunk_info.total != 1:
        return None
    claim = decode(row.message)
    return None if claim is None or _came_late(claim, row) else claim


class Winners:
    """The winners of one topic's contests as its claims are read, in any order and however often."""

    def __init__(self) -> None:
        self.found: dict[Contest, Won] = {}

    def see(self, sequence_number: int, claim: LiteClaim) -> bool:
        """Read a claim that may win; whether it does, as far as has been read."""
        contest = (claim.task, claim.fencing_token)
        best = self.found.get(contest)
        if best is not None and best.sequence_number <= sequence_number:
            return best.sequence_number == sequence_number
        self.found[contest] = Won(claim, sequence_number)
        return True


def winners(rows: Iterable[TopicMessage], trusted: Collection[str]) -> dict[Contest, Won]:
    """The winner of every contest that the rows of one topic speak of, whatever order they are handed in and
    however often. `trusted` are the accounts of the topic's role.
    """
    read = Winners()
    for row in rows:
        claim = claim_of(row, trusted)
        if claim is not None:
            read.see(row.sequence_number, claim)
    return read.found


def winner(
    rows: Iterable[TopicMessage], trusted: Collection[str], task: str, fencing_token: int
) -> Won | None:
    """The winner of one contest, or None. The rows may begin anywhere before the contest's first message."""
    names_it = task.encode()  # the other rows are of other contests, whatever they hold
    return winners((row for row in rows if names_it in row.message), trusted).get((task, fencing_token))


def _came_late(claim: LiteClaim, row: TopicMessage) -> bool:
    try:
        made_ns = instant_us(claim.created_at) * 1_000
        return nanoseconds(row.consensus_timestamp) - made_ns > _LATE_NS
    except ValueError:  # a month of 13, or a row that is none
        return True
