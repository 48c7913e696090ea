"""What the ordered log of lite claims answers: proofs, and the rows of a topic. (Contract §8.)

A topic's row has the names and forms of a Hedera mirror node's, so that whoever can check one can check both;
bytes travel in base64.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from tessera import limits, names
from tessera.models.base import After, Answer, KnownId, Model, WorkspaceId

TopicId = Annotated[str, Meta(pattern=names.ENTITY_PATTERN)]
AccountId = Annotated[str, Meta(pattern=names.ENTITY_PATTERN)]


class Proof(Answer, frozen=True):
    """Where a message stands in the log. `pending` until the log's own rows have been read again and their
    running hashes computed; only then does a log that lies elsewhere tell the consensus time for certain.
    """

    status: Literal["pending", "verified"]
    topic_id: str
    sequence_number: int
    consensus_timestamp: str | None  # seconds, a dot, nine digits: no float holds them
    running_hash: str  # base64
    transaction_id: str  # account@seconds.nanoseconds


class InitialTransaction(Answer, frozen=True):
    """The transaction that began a message of several chunks."""

    account_id: str
    transaction_valid_start: str
    nonce: int = 0
    scheduled: bool = False


class ChunkInfo(Answer, frozen=True):
    """Which chunk of a longer message a row is. A claim is never chunked."""

    number: int
    total: int
    initial_transaction_id: InitialTransaction | None = None


class TopicMessage(Answer, frozen=True):
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
    """A message for the end of a topic; the first one makes the topic. With `after`, the messages after that
    number are told with it.
    """

    topic_id: TopicId
    message: Annotated[bytes, Meta(min_length=1, max_length=limits.TOPIC_MESSAGE_BYTES_MAX)]
    after: After | None = None


class ReadTopic(Model, frozen=True):
    """What to read of a topic: the messages after a sequence number, in order."""

    topic_id: TopicId
    after: After = 0
    limit: Annotated[int, Meta(ge=1, le=limits.PAGE_MAX)] = limits.PAGE_DEFAULT


class MadeTopic(Answer, frozen=True):
    """A topic that was made on a network."""

    topic_id: str


class TopicMessages(Answer, frozen=True):
    """Messages of a topic in order; `next` is the number to go on after, also when there was nothing."""

    topic_id: str
    messages: list[TopicMessage]
    next: int


class TopicRows(Model, frozen=True):
    """Which rows of a role's topic to show: those after a sequence number, in order. `workspace_id` says
    whose role it is when several workspaces have one of that id.
    """

    role_id: KnownId
    workspace_id: WorkspaceId | None = None
    after: After = 0
    limit: Annotated[int, Meta(ge=1, le=limits.PAGE_MAX)] = limits.PAGE_DEFAULT


class TopicVerified(Answer, frozen=True):
    """What a topic's rows say: how many there are, how many contests they decide, how many claims of the
    store agree; `unseen` are claims whose rows a mirror does not show yet. `finding` is the first thing that
    is wrong; `unread` says why its rows could not be looked at, which is no word against them.
    """

    topic_id: str
    role_id: str
    workspace_id: str
    rows: int
    contests: int
    claims: int
    unseen: int
    finding: str | None
    unread: str | None = None


class TopicsVerified(Answer, frozen=True):
    """Every topic, verified; `ok` if all were read and nothing is wrong with any."""

    ok: bool
    topics: list[TopicVerified]


class WorkspaceSecret(Answer, frozen=True):
    """What a workspace's ids are hidden under in the log, in hex."""

    workspace_id: str
    secret: str
