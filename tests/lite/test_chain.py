"""A topic followed from its first row: what breaks it is named."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lite.ground import TOPIC, changed, rows
from tessera.lite.chain import Break, Chain
from tessera.lite.running_hash import nanoseconds, timestamp
from tessera.models import TopicMessage

Rows = list[TopicMessage]
TOPIC_OF_NINE = rows([b"message %d" % n for n in range(9)])


def broken(topic: Rows) -> Break | None:
    """Where a topic breaks."""
    return Chain(TOPIC).follow(topic)


def test_a_right_topic() -> None:
    """A topic holds, in one piece, in several, and from any place on whose hash one has kept."""
    chain = Chain(TOPIC)
    assert [chain.follow(part) for part in (TOPIC_OF_NINE[:4], [], TOPIC_OF_NINE[4:])] == [None, None, None]
    assert (chain.sequence_number, chain.running_hash) == (9, TOPIC_OF_NINE[8].running_hash)
    kept = TOPIC_OF_NINE[4]
    later = Chain(TOPIC, 5, kept.running_hash, nanoseconds(kept.consensus_timestamp))
    assert later.follow(TOPIC_OF_NINE[5:]) is None


@given(place=st.integers(0, 8), field=st.sampled_from(["message", "running_hash"]), bit=st.integers(0, 71))
@settings(max_examples=60, deadline=None)
def test_a_flipped_bit_is_named(place: int, field: str, bit: int) -> None:
    """One bit of a message or of a running hash, and its row is named."""
    row = TOPIC_OF_NINE[place]
    content = bytearray(getattr(row, field))
    content[bit // 8] ^= 1 << bit % 8
    flipped = changed(row, **{field: bytes(content)})
    found = broken([*TOPIC_OF_NINE[:place], flipped, *TOPIC_OF_NINE[place + 1 :]])

    assert found is not None
    assert found.sequence_number == place + 1
    assert "running hash" in found.says


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"payer_account_id": "0.0.1003"}, "running hash"),
        ({"payer_account_id": "me"}, "entity"),
        ({"consensus_timestamp": "soon"}, "consensus time"),
        ({"consensus_timestamp": TOPIC_OF_NINE[3].consensus_timestamp}, "no later"),
        (
            {"consensus_timestamp": timestamp(nanoseconds(TOPIC_OF_NINE[4].consensus_timestamp) + 1)},
            "running hash",
        ),
        ({"topic_id": "0.0.1"}, "another topic"),
        ({"running_hash_version": 2}, "version"),
    ],
)
def test_whatever_is_changed_is_named(fields: dict[str, object], says: str) -> None:
    """Every other field of a row counts as well."""
    found = broken([*TOPIC_OF_NINE[:4], changed(TOPIC_OF_NINE[4], **fields), *TOPIC_OF_NINE[5:]])

    assert found is not None
    assert found.sequence_number == 5
    assert says in found.says


@pytest.mark.parametrize(
    ("change", "number", "says"),
    [
        (lambda t: t[1:], 1, "is missing: row 2"),
        (lambda t: t[:4] + t[5:], 5, "is missing: row 6"),
        (lambda t: [*t[:4], t[5], t[4], *t[6:]], 5, "has changed places with row 6"),
        (lambda t: [t[1], t[0], *t[2:]], 1, "has changed places with row 2"),
        (lambda t: t[:5] + t[4:], 5, "stands where row 6 belongs"),
        (lambda t: [*t[:4], changed(t[4], sequence_number=50), *t[5:]], 5, "is missing: row 50"),
    ],
)
def test_missing_and_swapped_rows_are_named(change: Callable[[Rows], Rows], number: int, says: str) -> None:
    """A row that is not there, stands twice or has changed places with another is named."""
    found = broken(change(TOPIC_OF_NINE))

    assert found is not None
    assert (found.sequence_number, says in found.says) == (number, True)


def test_swapped_messages_are_named() -> None:
    """Two rows that have exchanged all but their numbers are named by the first of them."""
    first, second = TOPIC_OF_NINE[3], TOPIC_OF_NINE[4]
    topic = list(TOPIC_OF_NINE)
    topic[3], topic[4] = changed(second, sequence_number=4), changed(first, sequence_number=5)
    found = broken(topic)

    assert found is not None
    assert found.sequence_number == 4
