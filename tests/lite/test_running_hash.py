"""The running hash: what public nodes have computed, and what every bit of a row does to it."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lite.ground import PAYER, TOPIC, rows
from tessera.lite.running_hash import GENESIS, entity, nanoseconds, running_hash, timestamp
from tessera.models import TopicMessage

VECTORS = msgspec.json.decode((Path(__file__).parent / "vectors.json").read_bytes(), type=list[TopicMessage])


@pytest.mark.parametrize("row", VECTORS, ids=lambda row: row.topic_id)
def test_rows_of_real_networks(row: TopicMessage) -> None:
    """The first message of a topic on a local and on the public network hashes to what the nodes answered."""
    found = running_hash(
        GENESIS, entity(row.payer_account_id), entity(row.topic_id), nanoseconds(row.consensus_timestamp),
        row.sequence_number, row.message,
    )  # fmt: skip

    assert found == row.running_hash


@given(place=st.integers(0, 5), bit=st.integers(0, 7), more=st.integers(1, 1 << 40))
@settings(max_examples=60, deadline=None)
def test_everything_counts(place: int, bit: int, more: int) -> None:
    """Another previous hash, payer, topic, time, number or message gives another hash."""
    (row,) = rows([b"message"])
    fields = [GENESIS, entity(PAYER), entity(TOPIC), nanoseconds(row.consensus_timestamp), 1, b"message"]
    other = list(fields)
    value = fields[place]
    if isinstance(value, bytes):
        other[place] = bytes([value[0] ^ 1 << bit]) + value[1:]
    elif isinstance(value, tuple):
        other[place] = (*value[:2], value[2] + more)
    else:
        assert isinstance(value, int)
        other[place] = value + more

    assert running_hash(*fields) == row.running_hash
    assert running_hash(*other) != row.running_hash


@pytest.mark.parametrize(
    "name", ["", "1", "0.0", "0.0.1.2", "0.0.01", "0.0.-1", "0.0.1 ", "0.0.¹", "0.0.x", f"0.0.{1 << 63}"]
)
def test_what_is_no_entity(name: str) -> None:
    """An entity has one name: three plain numbers that fit."""
    with pytest.raises(ValueError, match="entity"):
        entity(name)


@pytest.mark.parametrize(
    "stamp", ["", "1", "1.5", "1.12345678", "1.1234567890", "-1.000000000", "1.00000000x", "\u0661.123456789"]
)
def test_what_is_no_consensus_time(stamp: str) -> None:
    """A consensus time has exactly nine digits after the dot; none is filled up or cut off."""
    with pytest.raises(ValueError, match="consensus time"):
        nanoseconds(stamp)


@given(st.integers(0, 1 << 62))
def test_a_time_comes_back(consensus_ns: int) -> None:
    """To the nanosecond, though no float could hold it."""
    assert nanoseconds(timestamp(consensus_ns)) == consensus_ns
