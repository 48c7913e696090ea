"""What the ordered log of lite claims answers: proofs, and the rows of a topic. (Contract §8.)

A topic's row has the names and forms of a Hedera mirror node's, so that whoever can check one can check both;
bytes travel in base64.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from tessera import limits, names
from tessera.models.base import After, Model

TopicId = Annotated[str, Meta(pattern=names.ENTITY_PATTERN)]
AccountId = Annotated[str, Meta(pattern=names.ENTITY_PATTERN)]


class Proof(Model, frozen=True):
    """Where a message stands in the log. `pending` until the log's own rows have been read again and their
    running hashes computed; only then does a log that lies elsewhere tell the consensus time for certain.
    """

    status: Literal["pending", "verified"]
    topic_id: str
    sequence_number: int
    consensus_timestamp: str | None  # seconds, a dot, nine digits: no float holds them
    running_hash: str  # base64
    transaction_id: str  # account@seconds.nanoseconds


class InitialTransaction(Model, frozen=True, forbid_unknown_fields=False):
    """The transaction that began a message of several chunks."""

    account_id: str
    transaction_valid_start: str
    nonce: int = 0
    scheduled: bool = False


class ChunkInfo(Model, frozen=True, forbid_unknown_fields=False):
    """Which chunk of a longer message a row is. A claim is never chunked."""

    number: int
    total: int
    initial_transaction_id: InitialTransaction | None = None


class TopicMessage(Model, frozen=True, forbid_unknown_fields=False):
    """One message of a topic, as a mirror node shows it."""

    consensus_timestamp: str
    message: bytes
    payer_account_id: str
    running_hash: bytes
    running_hash_version: int
    sequence_number: int
    topic_id: str
    chunk_info: ChunkInfo | None = None


class AppendMessage(Model, frozen=True):
    """A message for the end of a topic; the first one makes the topic."""

    topic_id: TopicId
    message: Annotated[bytes, Meta(min_length=1, max_length=limits.TOPIC_MESSAGE_BYTES_MAX)]


class ReadTopic(Model, frozen=True):
    """What to read of a topic: the messages after a sequence number, in order."""

    topic_id: TopicId
    after: After = 0
    limit: Annotated[int, Meta(ge=1, le=limits.PAGE_MAX)] = limits.PAGE_DEFAULT


class TopicMessages(Model, frozen=True):
    """Messages of a topic in order; `next` is the number to go on after, also when there was nothing."""

    topic_id: str
    messages: list[TopicMessage]
    next: int
