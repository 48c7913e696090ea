"""The log on a network, through Hedera's own SDK: what goes there, and what comes back."""

from __future__ import annotations

import threading
from typing import Any

import msgspec
import pytest

from lite.ground import chained, message
from lite.hedera_stand_in import ACCOUNT, Network
from lite.on_network import done, log_of
from tessera.errors import InvalidRequest, Unavailable
from tessera.lite.hedera import HederaLog
from tessera.lite.log import rows_through
from tessera.lite.mirror import Mirror
from tessera.lite.network import Network as Nodes
from tessera.lite.network import key_in, named_or_nodes
from tessera.models import TopicMessage
from tessera.testing import World


def test_a_message_goes_there_and_comes_back(network: Network, log: HederaLog) -> None:
    """A claim's message stands in the topic once, unchanged and in one chunk; its proof is pending and says
    what the mirror's row says; the mirror's rows follow from each other.
    """
    topic = network.add_topic()
    proofs = [done(log.append(topic, message(fencing_token=n))) for n in (1, 2, 3)]
    rows = done(rows_through(log, topic, 0, 3))

    assert [row.message for row in rows] == [message(fencing_token=n) for n in (1, 2, 3)]
    assert {(row.payer_account_id, row.chunk_info) for row in rows} == {(ACCOUNT, None)}
    assert chained(rows)
    for proof, row in zip(proofs, rows, strict=True):
        assert (proof.status, proof.topic_id) == ("pending", topic)
        assert (proof.sequence_number, proof.consensus_timestamp) == (
            row.sequence_number,
            row.consensus_timestamp,
        )
        assert msgspec.convert(proof.running_hash, bytes) == row.running_hash
    assert done(log.payer()) == ACCOUNT
    assert network.receipts.keys() >= {proof.transaction_id for proof in proofs}


def test_a_topic_is_made(network: Network, log: HederaLog) -> None:
    """A topic that the log makes takes the log's messages, and none that another key signed."""
    topic = done(log.make_topic())
    stranger = log_of(network, World(), submit_key=None)

    assert done(log.append(topic, b"x")).sequence_number == 1
    with pytest.raises(Unavailable, match="INVALID_SIGNATURE") as refused:
        done(stranger.append(topic, b"y"))
    assert refused.value.definite
    assert len(network.rows(topic)) == 1
    stranger.close()


def test_many_at_once(network: Network, log: HederaLog) -> None:
    """Claims that race through one log each get a place of their own."""
    topic = network.add_topic()
    places: list[int] = []
    crew = [
        threading.Thread(
            target=lambda n=n: places.append(
                done(log.append(topic, message(fencing_token=n))).sequence_number
            )
        )
        for n in range(1, 13)
    ]
    for thread in crew:
        thread.start()
    for thread in crew:
        thread.join()

    assert sorted(places) == list(range(1, 13))
    assert chained(msgspec.convert(network.rows(topic), list[TopicMessage]))


def test_more_than_a_page(network: Network, log: HederaLog) -> None:
    """Of a topic with more rows than a mirror gives at once all are read, in order, up to the limit."""
    topic = network.add_topic()
    for n in range(250):
        network.put(topic, b"%d" % n)
    numbers = [row.sequence_number for row in done(log.read(topic))]

    assert numbers == list(range(1, 251))
    assert [row.sequence_number for row in done(log.read(topic, 99, 3))] == [100, 101, 102]


@pytest.mark.parametrize("content", [b"", b"x" * 1_025])
def test_one_chunk(network: Network, log: HederaLog, content: bytes) -> None:
    """What does not fit one chunk is refused before anything is sent."""
    topic = network.add_topic()
    with pytest.raises(InvalidRequest):
        done(log.append(topic, content))

    assert network.submits == 0
    assert done(log.append(topic, b"x" * 1_024)).sequence_number == 1


def test_settings(tmp_path: Any) -> None:
    """A network is named or its nodes listed; a key is read from a file, and no refusal repeats it."""
    (tmp_path / "key").write_text("no key at all\n")

    assert named_or_nodes("testnet") == "testnet"
    assert named_or_nodes("0.0.3=a:1, 0.0.4=b:2") == {"a:1": "0.0.3", "b:2": "0.0.4"}
    assert key_in(str(tmp_path / "key")) == "no key at all"
    for wrong in ("", "moon", "0.0.3", "0.0.3=a:1,", "=a:1"):
        with pytest.raises(InvalidRequest, match="TESSERA_HEDERA_NETWORK"):
            named_or_nodes(wrong)
    with pytest.raises(InvalidRequest, match="none: the private key cannot be read"):
        key_in(str(tmp_path / "none"))
    with pytest.raises(InvalidRequest) as refused:
        Nodes("testnet", ACCOUNT, key="no key at all")
    assert "at all" not in refused.value.detail
    with pytest.raises(InvalidRequest):
        Mirror("mirror.example")
