"""The ordered log: what a lite claim needs of it, whether it lies in the store or on a public network."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Protocol

from tessera.acts.act import Act, Rest
from tessera.errors import InvalidRequest, Unavailable
from tessera.limits import CLAIM_REST_SECONDS, CLAIM_RESTS_MAX, PAGE_MAX, TOPIC_MESSAGE_BYTES_MAX
from tessera.lite.running_hash import entity
from tessera.models import Proof, TopicMessage

Entered = tuple[Proof, list[TopicMessage] | None]


class OrderedLog(Protocol):
    """Topics, each a list of messages that only grows, in an order that everybody sees alike.

    Its methods are acts: yield from them inside another act. None runs a network call in a transaction.
    """

    @property
    def at_home(self) -> bool:
        """Whether it lies in the store, whose topics are then made by themselves."""

    def append(self, topic_id: str, message: bytes) -> Act[Proof]:
        """Put a message at the end of a topic. Once it returns, the message is there for good. Refuses what
        is no message of 1 to 1,024 bytes with `invalid_request`. A log that cannot say whether the message
        got in raises `unavailable` with `definite` false: it may be there, or may still come.
        """

    def enter(self, topic_id: str, message: bytes, after: int) -> Act[Entered]:
        """Append a claim's message, and tell what its contest is decided from: the topic's messages after a
        number, up to and with this one. None for those: the log does not show them yet, and the message is
        there all the same. Refuses what `append` does.
        """

    def read(self, topic_id: str, after: int = 0, limit: int = PAGE_MAX) -> Act[list[TopicMessage]]:
        """The messages of a topic after a sequence number, in order, as far as they can be seen: a public
        log's mirror may be some seconds behind. An unknown topic has none.
        """

    def close(self) -> None:
        """Let go of what the log lies behind."""

    def make_topic(self) -> Act[str]:
        """Make a topic for a role to use, where topics must be made; its id."""

    def payer(self) -> Act[str]:
        """The account that pays for what `append` sends: whom a role trusts that lists no accounts."""


class LaterLog:
    """A log that is opened when something is first asked of it: most commands never do."""

    def __init__(self, opens: Callable[[], OrderedLog], at_home: Callable[[], bool]) -> None:
        self._opens = opens
        self._at_home = at_home
        self._opened: OrderedLog | None = None
        self._lock = threading.Lock()

    @property
    def at_home(self) -> bool:
        """Whether it lies in the store; to say that it is not opened."""
        return self._at_home()

    def append(self, topic_id: str, message: bytes) -> Act[Proof]:
        """Put a message at the end of a topic."""
        return self._log().append(topic_id, message)

    def enter(self, topic_id: str, message: bytes, after: int) -> Act[Entered]:
        """Append a claim's message, and tell what its contest is decided from."""
        return self._log().enter(topic_id, message, after)

    def read(self, topic_id: str, after: int = 0, limit: int = PAGE_MAX) -> Act[list[TopicMessage]]:
        """The messages of a topic after a sequence number."""
        return self._log().read(topic_id, after, limit)

    def make_topic(self) -> Act[str]:
        """Make a topic for a role to use."""
        return self._log().make_topic()

    def payer(self) -> Act[str]:
        """The account that appends."""
        return self._log().payer()

    def close(self) -> None:
        """Let go of the log, if it was opened."""
        if self._opened is not None:
            self._opened.close()

    def _log(self) -> OrderedLog:
        with self._lock:
            if self._opened is None:
                self._opened = self._opens()
            return self._opened


def appendable(topic_id: str, message: bytes) -> None:
    """Refuse, with `invalid_request`, what no log takes."""
    try:
        entity(topic_id)
    except ValueError as error:
        raise InvalidRequest(f"topic_id: {error}") from error
    if not 1 <= len(message) <= TOPIC_MESSAGE_BYTES_MAX:
        raise InvalidRequest(f"a message of the log has 1 to {TOPIC_MESSAGE_BYTES_MAX:,} bytes")


def rows_through(log: OrderedLog, topic_id: str, after: int, sequence_number: int) -> Act[list[TopicMessage]]:
    """The messages after one number, up to and with another: what a contest is decided from. `after` may be
    any number that the topic had reached before the contest's first message was sent. Refuses with
    `unavailable` (definite false) if the log does not show them all yet.
    """
    rows: list[TopicMessage] = []
    while after < sequence_number:
        page = yield from log.read(topic_id, after, min(PAGE_MAX, sequence_number - after))
        if not page:
            raise Unavailable("the log does not show the message yet: look again in some seconds")
        rows += page
        after = page[-1].sequence_number
    return rows


def rows_in_time(
    log: OrderedLog, topic_id: str, after: int, sequence_number: int
) -> Act[list[TopicMessage] | None]:
    """The same once the log shows them all; None if that takes too long."""
    for _ in range(CLAIM_RESTS_MAX):
        try:
            return (yield from rows_through(log, topic_id, after, sequence_number))
        except Unavailable:
            yield Rest(CLAIM_REST_SECONDS)
    return None
