"""The log in the store itself: the same rows, order and running hash as a public network's, without one.

It orders what the store's processes append and shows any change made later to whoever kept a hash. Unlike a
public log it is written by the one who would change it, so it convinces nobody who kept none.
"""

from __future__ import annotations

import hashlib
from base64 import b64encode
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from tessera.acts.act import Act, Look, Run
from tessera.errors import InvalidRequest
from tessera.limits import PAGE_MAX, ROWS_AT_HAND_MAX
from tessera.lite.log import Entered, appendable, rows_in_time
from tessera.lite.running_hash import GENESIS, VERSION, entity, running_hash, timestamp
from tessera.models import AppendMessage, Nothing, Proof, ReadTopic, TopicMessage
from tessera.rows import TopicMessageRow, TopicRow
from tessera.rules.grants import Caller
from tessera.runtime import Runtime
from tessera.storage.port import Transaction
from tessera.verbs.guarded import Guarded

MICROSECOND_NS: Final = 1_000


class LocalLog:
    """An ordered log in the tables of the store that the act's steps run in."""

    at_home = True

    def append(self, topic_id: str, message: bytes) -> Act[Proof]:
        """Put a message at the end of a topic, in a transaction of its own. Its proof is verified at once:
        the store computed the hash itself.
        """
        appendable(topic_id, message)
        entered: Entered = yield Run(_APPEND, AppendMessage(topic_id, message))
        return entered[0]

    def enter(self, topic_id: str, message: bytes, after: int) -> Act[Entered]:
        """The same, and in the same transaction the messages since a contest began; if these are many, as
        they are of a contest that was left long ago, they are read beside the writer.
        """
        appendable(topic_id, message)
        entered: Entered = yield Run(_APPEND, AppendMessage(topic_id, message, after))
        proof, rows = entered
        if rows is None:
            rows = yield from rows_in_time(self, topic_id, after, proof.sequence_number)
        return proof, rows

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


def append_message(tx: Transaction, runtime: Runtime, caller: Caller, ask: AppendMessage) -> Entered:
    """Put a message at the end of a topic; the first one makes the topic. Its consensus time is the verb's
    instant, or a nanosecond after the last one that any topic got.
    """
    (entered,) = append_messages(tx, runtime, [(caller, ask)])
    return entered


def append_messages(
    tx: Transaction, runtime: Runtime, asks: Sequence[tuple[Caller, AppendMessage]]
) -> list[Entered]:
    """The same for several messages, in the order given; their rows are read and written together."""
    by_topic: dict[str, list[AppendMessage]] = {}
    for _, ask in asks:
        by_topic.setdefault(ask.topic_id, []).append(ask)
    ends = {topic_id: _End(tx, topic_id, alike) for topic_id, alike in by_topic.items()}
    latest_ns = max(end.latest_ns for end in ends.values())
    placed = []
    for _, ask in asks:
        latest_ns = max(tx.now * MICROSECOND_NS, latest_ns + 1)
        placed.append(ends[ask.topic_id].put(ask.message, latest_ns))
    entered = [
        (_proof(row), ends[row.topic_id].since(ask.after, row.sequence_number))
        for row, (_, ask) in zip(placed, asks, strict=True)
    ]
    runtime.reach("append_message.read")

    for end in ends.values():
        end.save(tx)
    tx.save_all("add_topic_message", placed)
    runtime.reach("append_message.written")
    return entered


class _Placed(TopicMessageRow, frozen=True):
    """A message at its place, as the statement that adds it wants it."""

    topic_id: str


class _End:
    """The end of a topic while messages are put to it. Of the rows before, those are read that somebody asks
    for, unless they are many.
    """

    def __init__(self, tx: Transaction, topic_id: str, asks: Sequence[AppendMessage]) -> None:
        head: TopicRow = tx.one("topic_head", topic_id=topic_id)
        self.latest_ns = head.latest_ns or 0
        self._topic_id, self._payer = topic_id, account_of(head.store_id)
        self._before = self._number = head.sequence_number or 0
        self._running_hash, self._consensus_ns = head.running_hash or GENESIS, 0
        wanted = [self._before, *(ask.after for ask in asks if ask.after is not None)]
        self._begins = max(min(wanted), self._before - ROWS_AT_HAND_MAX)
        self._rows: list[TopicMessage] = []
        if self._begins < self._before:
            self._rows += _read(tx, topic_id, self._begins, ROWS_AT_HAND_MAX)

    def put(self, message: bytes, consensus_ns: int) -> _Placed:
        """Put a message to it."""
        payer, topic, number = entity(self._payer), entity(self._topic_id), self._number + 1
        digest = running_hash(self._running_hash, payer, topic, consensus_ns, number, message)
        row = _Placed(number, consensus_ns, self._payer, message, digest, self._topic_id)
        self._number, self._consensus_ns, self._running_hash = number, consensus_ns, digest
        self._rows.append(shown(row, self._topic_id))
        return row

    def since(self, after: int | None, through: int) -> list[TopicMessage] | None:
        """Its messages after a number, up to and with another; None if they are not all at hand."""
        if after is None or after < self._begins:
            return None
        return [row for row in self._rows if after < row.sequence_number <= through]

    def save(self, tx: Transaction) -> None:
        """Write where it ends now."""
        last = dict(
            topic_id=self._topic_id, sequence_number=self._number, consensus_ns=self._consensus_ns,
            running_hash=self._running_hash,
        )  # fmt: skip
        if self._before:
            tx.write("move_topic", before=self._before, **last)
        else:
            tx.write("add_topic", **last)


def _proof(row: _Placed) -> Proof:
    stamp = timestamp(row.consensus_ns)
    return Proof(
        status="verified",
        topic_id=row.topic_id,
        sequence_number=row.sequence_number,
        consensus_timestamp=stamp,
        running_hash=b64encode(row.running_hash).decode(),
        transaction_id=f"{row.payer}@{stamp}",
    )


def read_topic(tx: Transaction, runtime: Runtime, caller: Caller, ask: ReadTopic) -> list[TopicMessage]:
    """The messages of a topic after a sequence number, in order; of an unknown topic none."""
    return _read(tx, ask.topic_id, ask.after, ask.limit)


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


def _read(tx: Transaction, topic_id: str, after: int, limit: int) -> list[TopicMessage]:
    rows: list[TopicMessageRow] = tx.all("topic_messages", topic_id=topic_id, after=after, limit=limit)
    return [shown(row, topic_id) for row in rows]


_APPEND = Guarded(append_message, append_messages)
_READ = Guarded(read_topic, None)
_PAYER = Guarded(own_account, None)
LOCAL: Final = LocalLog()  # it keeps nothing of its own, so one serves every store
