"""The running hash of a topic, version 3, as the nodes of a Hedera network compute it.

Every message's hash covers the one before it, so whoever has the last hash can tell whether any earlier
message was changed, left out or moved. A node hashes what Java's ObjectOutputStream writes of two byte arrays
and nine numbers; the framing below is that stream's. (hiero-consensus-node,
ConsensusSubmitMessageHandler.updateRunningHashAndSequenceNumber; Java Object Serialization Specification §6.)
"""

from __future__ import annotations

import hashlib
import struct
from functools import lru_cache
from typing import Final

VERSION: Final = 3
HASH_BYTES: Final = 48
GENESIS: Final = bytes(HASH_BYTES)  # what comes before a topic's first message
SECOND_NS: Final = 1_000_000_000

_LENGTH = HASH_BYTES.to_bytes(4, "big")
_STREAM = bytes.fromhex("aced 0005")
_BYTE_ARRAY = bytes.fromhex("75 72 0002 5b42 acf317f8060854e0 02 0000 78 70")  # an array, its class in full
_SAME_CLASS = bytes.fromhex("75 71 007e0000")  # another one, its class by reference
_NUMBERS = struct.Struct(">qqqqqqqqiq")
_BLOCK = bytes((0x77, _NUMBERS.size))
_HEAD = _STREAM + _BYTE_ARRAY + _LENGTH
_TAIL = _SAME_CLASS + _LENGTH

Entity = tuple[int, int, int]  # shard, realm, number


@lru_cache(maxsize=4_096)
def entity(name: str) -> Entity:
    """An account or topic id by its three numbers, such as `0.0.1002`. Raises ValueError for other text."""
    parts = name.split(".")
    if len(parts) != 3 or not all(
        part.isascii() and part.isdigit() and str(int(part)) == part for part in parts
    ):
        raise ValueError("an entity's id is three numbers with dots between them")
    shard, realm, number = map(int, parts)
    if max(shard, realm, number) >= 1 << 63:
        raise ValueError("an entity's numbers have at most 63 bits")
    return shard, realm, number


def timestamp(consensus_ns: int) -> str:
    """A consensus time as mirror nodes show it: seconds, a dot, nine digits of nanoseconds."""
    seconds, nanos = divmod(consensus_ns, SECOND_NS)
    return f"{seconds}.{nanos:09d}"


@lru_cache(maxsize=1_024)
def nanoseconds(stamp: str) -> int:
    """The consensus time that such a string shows, in nanoseconds since 1970. Raises ValueError for any other
    string: one with eight digits would be another time to whoever pads it.
    """
    seconds, _, nanos = stamp.partition(".")
    digits = seconds + nanos
    if len(nanos) != 9 or not seconds or not digits.isascii() or not digits.isdigit():
        raise ValueError("a consensus time is seconds, a dot and nine digits")
    return int(digits)


def running_hash(
    previous: bytes, payer: Entity, topic: Entity, consensus_ns: int, sequence_number: int, message: bytes
) -> bytes:
    """The running hash after a message, from the one before it."""
    seconds, nanos = divmod(consensus_ns, SECOND_NS)
    numbers = _NUMBERS.pack(VERSION, *payer, *topic, seconds, nanos, sequence_number)
    content = hashlib.sha384(message).digest()
    return hashlib.sha384(b"".join((_HEAD, previous, _BLOCK, numbers, _TAIL, content))).digest()
