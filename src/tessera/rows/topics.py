"""What statements about topics answer with."""

from __future__ import annotations

from tessera.rows.base import Row


class TopicRow(Row, frozen=True):
    """How far this store knows a topic (nothing of a new one), and what its next message needs."""

    sequence_number: int | None
    running_hash: bytes | None
    latest_ns: int | None  # the last consensus time of all topics
    store_id: str


class TopicMessageRow(Row, frozen=True):
    """One message of a topic."""

    sequence_number: int
    consensus_ns: int
    payer: str
    message: bytes
    running_hash: bytes
