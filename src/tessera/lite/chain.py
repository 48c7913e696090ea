"""A topic followed from its first message: one row after the other, none missing, moved or changed."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from tessera.lite.running_hash import (
    GENESIS,
    VERSION,
    entity,
    nanoseconds,
    running_hash,
)
from tessera.models import TopicMessage


class Break(Struct, frozen=True):
    """The first row of a topic that does not follow from those before it, and why."""

    sequence_number: int
    says: str


class Chain:
    """How far a topic has been followed: the last row's number, running hash and consensus time."""

    __slots__ = ("_topic", "consensus_ns", "running_hash", "sequence_number", "topic_id")

    def __init__(
        self, topic_id: str, sequence_number: int = 0, running_hash: bytes = GENESIS, consensus_ns: int = 0
    ) -> None:
        self.topic_id = topic_id
        self.sequence_number = sequence_number
        self.running_hash = running_hash
        self.consensus_ns = consensus_ns
        self._topic = entity(topic_id)

    def follow(self, rows: Sequence[TopicMessage]) -> Break | None:
        """Follow the rows that come next; the first that does not follow, or None. It, and what comes after
        it, is not followed.
        """
        for place, row in enumerate(rows):
            says = self._step(row)
            if says is not None:
                if row.sequence_number != self.sequence_number + 1:
                    return self._out_of_order(rows[place : place + 2])
                return Break(row.sequence_number, says)
        return None

    def _step(self, row: TopicMessage) -> str | None:
        if row.sequence_number != self.sequence_number + 1:
            return "out of order"
        if row.topic_id != self.topic_id:
            return "of another topic"
        if row.running_hash_version != VERSION:
            return f"a running hash of another version than {VERSION}"
        try:
            payer, consensus_ns = entity(row.payer_account_id), nanoseconds(row.consensus_timestamp)
        except ValueError as error:
            return str(error)
        if consensus_ns <= self.consensus_ns:
            return "no later than the row before it"
        digest = running_hash(
            self.running_hash, payer, self._topic, consensus_ns, row.sequence_number, row.message
        )
        if digest != row.running_hash:
            return "its running hash is not that of its content and the row before it"
        self.sequence_number, self.running_hash, self.consensus_ns = row.sequence_number, digest, consensus_ns
        return None

    def _out_of_order(self, rows: Sequence[TopicMessage]) -> Break:
        due, found = self.sequence_number + 1, rows[0].sequence_number
        if found < due:
            return Break(found, f"stands where row {due} belongs")
        if len(rows) > 1 and rows[1].sequence_number == due:
            return Break(due, f"has changed places with row {found}")
        return Break(due, f"is missing: row {found} stands in its place")
