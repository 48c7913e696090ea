"""The log on a Hedera network: submitted through its SDK, read back from a mirror node.

A message is signed once, so however often it is sent the network takes it at most once; what is uncertain
is looked up, never sent anew under another transaction. A receipt tells the sequence number and running hash,
but no consensus time; a mirror's row tells all three, some seconds later.
"""

from __future__ import annotations

import logging
from base64 import b64encode
from collections.abc import Iterator
from functools import partial

from tessera.acts.act import Act, Work
from tessera.errors import TesseraError, Unavailable
from tessera.limits import APPEND_SECONDS_MAX, MIRROR_LOOK_SECONDS, PAGE_MAX, SECOND_US
from tessera.lite.log import Entered, appendable, rows_in_time
from tessera.lite.mirror import Mirror, rows_of
from tessera.lite.network import Network, Outcome, Placed, Signed
from tessera.models import Proof, TopicMessage
from tessera.runtime import Runtime

log = logging.getLogger("tessera.lite")


class HederaLog:
    """An ordered log on a network. Every step of its acts waits outside of the store and its transactions."""

    at_home = False

    def __init__(self, network: Network, mirror: Mirror, runtime: Runtime) -> None:
        self._network = network
        self._mirror = mirror
        self._runtime = runtime

    def append(self, topic_id: str, message: bytes) -> Act[Proof]:
        """Put a message at the end of a topic. Its proof is pending; the consensus time is there if the
        mirror has shown the row in time. Refuses with `unavailable`: `definite` if the network has certainly
        not taken the message, otherwise it may be there or still come.
        """
        appendable(topic_id, message)
        proof: Proof = yield Work(partial(self._append, topic_id, message), outside=True)
        return proof

    def enter(self, topic_id: str, message: bytes, after: int) -> Act[Entered]:
        """Append a claim's message, then read until the mirror shows all that its contest is decided from."""
        proof = yield from self.append(topic_id, message)
        return proof, (yield from rows_in_time(self, topic_id, after, proof.sequence_number))

    def read(self, topic_id: str, after: int = 0, limit: int = PAGE_MAX) -> Act[list[TopicMessage]]:
        """The messages of a topic after a sequence number, in order, as far as the mirror shows them."""
        rows: list[TopicMessage] = yield Work(
            partial(rows_of, self._mirror, topic_id, after, limit), outside=True
        )
        return rows

    def payer(self) -> Act[str]:
        """The operator's account."""
        yield from ()
        return self._network.account

    def make_topic(self) -> Act[str]:
        """Make a topic that only the holder of the submit key can write to; its id."""
        topic_id: str = yield Work(self._network.create_topic, outside=True)
        return topic_id

    def close(self) -> None:
        """Let go of every connection."""
        self._network.close()
        self._mirror.close()

    def _append(self, topic_id: str, message: bytes) -> Proof:
        signed = self._network.sign(topic_id, message)
        placed = self._place(signed)
        row = self._shown(topic_id, message, signed, placed)
        if row is not None:
            return _proof(topic_id, signed, row.sequence_number, row.running_hash, row.consensus_timestamp)
        if placed is not None:
            return _proof(topic_id, signed, placed.sequence_number, placed.running_hash, None)
        raise Unavailable("the network has not said whether it took the claim's message")

    def _place(self, signed: Signed) -> Placed | None:
        """Send a message until the network has taken it, and ask where it put it. None: it may have."""
        uncertain = False
        for _ in self._waits():
            outcome, said = self._network.submit(signed)
            if outcome is Outcome.REFUSED:
                if uncertain:  # an earlier sending may have been taken, and this one refused because of it
                    return self._network.placed(signed)
                raise Unavailable(f"the network refused the claim's message: {said}", definite=True)
            if outcome is Outcome.TAKEN:
                return self._network.placed(signed)
            if outcome is Outcome.UNKNOWN:
                log.warning("a claim's message was sent and nothing came back (%s): sent again", said)
                uncertain = True
        if uncertain:
            return self._network.placed(signed)
        raise Unavailable("the network takes no message now: try again later", definite=True)

    def _shown(
        self, topic_id: str, message: bytes, signed: Signed, placed: Placed | None
    ) -> TopicMessage | None:
        """The row of a message, as soon as the mirror shows it; None if it does not in time."""
        for _ in self._waits():
            try:
                if placed is not None:
                    rows = self._mirror.messages(topic_id, placed.sequence_number - 1, 1)
                else:
                    rows = self._mirror.since(topic_id, signed.valid_start)
            except TesseraError as refusal:
                log.warning("a claim's message was not looked up: %s", refusal.detail)
                continue
            for row in rows:
                if row.message == message and row.payer_account_id == self._network.account:
                    if placed is None or row.running_hash == placed.running_hash:
                        return row
                    log.error("topic %s: node and mirror disagree on row %d", topic_id, row.sequence_number)
                elif placed is not None and row.sequence_number == placed.sequence_number:
                    raise Unavailable("the row that the network named holds another message")
        return None

    def _waits(self) -> Iterator[None]:
        """At once, then again and again, a moment between, until the time for one message is up."""
        until_us = self._runtime.elapsed_us() + APPEND_SECONDS_MAX * SECOND_US
        yield
        while self._runtime.elapsed_us() < until_us:
            self._runtime.sleep(MIRROR_LOOK_SECONDS)
            yield


def _proof(topic_id: str, signed: Signed, number: int, running_hash: bytes, stamp: str | None) -> Proof:
    return Proof(
        status="pending",
        topic_id=topic_id,
        sequence_number=number,
        consensus_timestamp=stamp,
        running_hash=b64encode(running_hash).decode(),
        transaction_id=signed.transaction_id,
    )
