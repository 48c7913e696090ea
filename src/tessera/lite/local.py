"""The log in the store itself: the same rows, order and running hash as a public network's, without one.

It orders what the store's processes append and shows any change made later to whoever kept a hash. Unlike a
public log it is written by the one who would change it, so it convinces nobody who kept none.
"""

from __future__ import annotations

import hashlib
from base64 import b64encode
from functools import lru_cache
from typing import Final

from tessera.acts.act import Act, Look, Run
from tessera.errors import InvalidRequest
from tessera.limits import PAGE_MAX
from tessera.lite.log import appendable
from tessera.lite.running_hash import GENESIS, VERSION, entity, running_hash, timestamp
from tessera.models import AppendMessage, Nothing, Proof, ReadTopic, TopicMessage
from tessera.rows import TopicMessageRow, TopicRow
from tessera.rules.grants import Caller
from tessera.runtime import Runtime
from tessera.storage.port import Transaction
from tessera.verbs.keys import Guarded

MICROSECOND_NS: Final = 1_000


class LocalLog:
    """An ordered log in the tables of the store that the act's steps run in."""

    def append(self, topic_id: str, message: bytes) -> Act[Proof]:
        """Put a message at the end of a topic, in a transaction of its own. Its proof is verified at once:
        the store computed the hash itself.
        """
        appendable(topic_id, message)
        proof: Proof = yield Run(_APPEND, AppendMessage(topic_id, message))
        return proof

    def read(self, topic_id: str, after: int = 0, limit: int = PAGE_MAX) -> Act[list[TopicMessage]]:
        """The messages of a topic after a sequence number, in order."""
        rows: list[TopicMessage] = yield Look(_READ, ReadTopic(topic_id, after, limit))
        return rows

    def payer(self) -> Act[str]:
        """The store's own account."""
        account: str = yield Look(_PAYER, Nothing())
        return account

    def make_topic(self) -> Act[str]:
        """Refused: the first message makes a topic, and a role has one without asking."""
        yield from ()
        raise InvalidRequest("lite claims go to the store's own log, which makes its topics by itself")

    def close(self) -> None:
        """The log lies in the store, which somebody else closes."""


def append_message(tx: Transaction, runtime: Runtime, caller: Caller, ask: AppendMessage) -> Proof:
    """Put a message at the end of a topic; the first one makes the topic. Its consensus time is the verb's
    instant, or a nanosecond after the last one that any topic got.
    """
    head: TopicRow = tx.one("topic_head", topic_id=ask.topic_id)
    payer = account_of(head.store_id)
    before = head.sequence_number or 0
    consensus_ns = max(tx.now * MICROSECOND_NS, (head.latest_ns or 0) + 1)
    digest = running_hash(
        head.running_hash or GENESIS,
        entity(payer),
        entity(ask.topic_id),
        consensus_ns,
        before + 1,
        ask.message,
    )
    row = TopicMessageRow(before + 1, consensus_ns, payer, ask.message, digest)
    runtime.reach("append_message.read")

    last = dict(
        topic_id=ask.topic_id, sequence_number=row.sequence_number, consensus_ns=consensus_ns,
        running_hash=digest,
    )  # fmt: skip
    if before:
        tx.write("move_topic", before=before, **last)
    else:
        tx.write("add_topic", **last)
    tx.write("add_topic_message", payer=payer, message=ask.message, **last)
    runtime.reach("append_message.written")
    stamp = timestamp(consensus_ns)
    return Proof(
        status="verified",
        topic_id=ask.topic_id,
        sequence_number=row.sequence_number,
        consensus_timestamp=stamp,
        running_hash=b64encode(digest).decode(),
        transaction_id=f"{payer}@{stamp}",
    )


def read_topic(tx: Transaction, runtime: Runtime, caller: Caller, ask: ReadTopic) -> list[TopicMessage]:
    """The messages of a topic after a sequence number, in order; of an unknown topic none."""
    rows: list[TopicMessageRow] = tx.all(
        "topic_messages", topic_id=ask.topic_id, after=ask.after, limit=ask.limit
    )
    return [shown(row, ask.topic_id) for row in rows]


def own_account(tx: Transaction, runtime: Runtime, caller: Caller, ask: Nothing) -> str:
    """The account that this store appends as."""
    return account_of(tx.one("own_id").value)


@lru_cache(maxsize=64)
def account_of(store_id: str) -> str:
    """The account of a store, from its id: an entity's number of 48 bits."""
    return f"0.0.{int.from_bytes(hashlib.sha256(store_id.encode()).digest()[:6], 'big')}"


def shown(row: TopicMessageRow, topic_id: str) -> TopicMessage:
    """A row of the store as a mirror node would show it."""
    return TopicMessage(
        consensus_timestamp=timestamp(row.consensus_ns),
        message=row.message,
        payer_account_id=row.payer,
        running_hash=row.running_hash,
        running_hash_version=VERSION,
        sequence_number=row.sequence_number,
        topic_id=topic_id,
    )


_APPEND = Guarded(append_message, None)
_READ = Guarded(read_topic, None)
_PAYER = Guarded(own_account, None)
