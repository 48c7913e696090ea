"""The log on a network, through Hedera's own SDK: what is taken once, refused, or stays uncertain."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from lite.ground import chained, message
from lite.hedera_stand_in import ACCOUNT, NODES, Network, running
from tessera.acts.act import Act, Answer
from tessera.errors import InvalidRequest, Unavailable
from tessera.lite.hedera import HederaLog
from tessera.lite.log import rows_through
from tessera.lite.mirror import Mirror
from tessera.lite.network import Network as Nodes
from tessera.lite.network import key_in, named_or_nodes
from tessera.models import TopicMessage
from tessera.testing import World


@pytest.fixture(scope="module")
def beside() -> Iterator[Network]:
    """The network, one for all tests of this file."""
    with running() as network:
        yield network


@pytest.fixture
def network(beside: Network) -> Iterator[Network]:
    """The network, behaving."""
    beside.faults.clear()
    beside.mute, beside.shown, beside.mirror_status, beside.submits = False, 1 << 60, 200, 0
    yield beside
    beside.mute, beside.shown, beside.mirror_status = False, 1 << 60, 200


def log_of(network: Network, world: World, **more: Any) -> HederaLog:
    """A log on the network, with its own connections; no second of waiting is real."""
    keys = {"key": network.key.to_string_raw(), "submit_key": network.submit_key.to_string_raw(), **more}
    nodes = Nodes(network.nodes, ACCOUNT, **keys)
    return HederaLog(nodes, Mirror(network.mirror_url), world.runtime())


@pytest.fixture
def log(network: Network, world: World) -> Iterator[HederaLog]:
    """A log on the network."""
    log = log_of(network, world)
    yield log
    log.close()


def done(act: Act[Answer]) -> Answer:
    """What comes of an act whose every step is work outside the store."""
    try:
        step = next(act)
        while True:
            assert step.outside
            try:
                came = step.compute()
            except Exception as error:
                step = act.throw(error)
            else:
                step = act.send(came)
    except StopIteration as end:
        return end.value


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
    topic = done(log.create_topic())
    stranger = log_of(network, World(), submit_key=None)

    assert done(log.append(topic, b"x")).sequence_number == 1
    with pytest.raises(Unavailable, match="INVALID_SIGNATURE") as refused:
        done(stranger.append(topic, b"y"))
    assert refused.value.definite
    assert len(network.rows(topic)) == 1
    stranger.close()


@pytest.mark.parametrize("fault", ["lost after", "lost before", "BUSY", "PLATFORM_TRANSACTION_NOT_CREATED"])
def test_sent_again_it_stands_there_once(network: Network, log: HederaLog, fault: str) -> None:
    """An answer that is lost after the message was taken, before it, and a node that is busy all end in one
    message and one proof.
    """
    topic = network.add_topic()
    network.faults[:] = [fault]
    proof = done(log.append(topic, message()))

    assert proof.sequence_number == len(network.rows(topic)) == 1
    assert network.submits >= 1
    assert done(log.append(topic, message(fencing_token=2))).sequence_number == 2


def test_a_message_that_comes_later(network: Network, log: HederaLog) -> None:
    """A message whose sending failed and which the network takes all the same, while it is sent again, stands
    there once.
    """
    topic = network.add_topic()
    network.faults[:] = ["late"]
    proof = done(log.append(topic, message()))

    assert proof.sequence_number == len(network.rows(topic)) == 1


def test_without_a_receipt_the_mirror_tells(network: Network, log: HederaLog) -> None:
    """If no node knows of a receipt any more, the message is found among the mirror's rows, and is not sent
    anew.
    """
    topic = network.add_topic()
    network.put(topic, b"before", payer="0.0.666")
    network.mute = True
    proof = done(log.append(topic, message()))

    assert (proof.sequence_number, len(network.rows(topic)), network.submits) == (2, 2, 1)
    assert proof.consensus_timestamp == network.rows(topic)[1]["consensus_timestamp"]


def test_what_nobody_tells_is_uncertain(network: Network, log: HederaLog) -> None:
    """Without receipt and mirror a message that was taken is neither sent anew nor called lost; later its row
    is there.
    """
    topic = network.add_topic()
    network.mute, network.shown = True, 0
    with pytest.raises(Unavailable) as refused:
        done(log.append(topic, message()))
    network.shown = 1

    assert not refused.value.definite
    assert network.submits == 1
    assert [row.message for row in done(log.read(topic))] == [message()]


def test_a_mirror_that_is_behind(network: Network, log: HederaLog) -> None:
    """While the mirror does not show a message its proof lacks the consensus time, and who needs its rows is
    told to look again.
    """
    topic = network.add_topic()
    network.shown = 0
    proof = done(log.append(topic, message()))
    with pytest.raises(Unavailable) as refused:
        done(rows_through(log, topic, 0, 1))
    network.shown = 1

    assert (proof.sequence_number, proof.consensus_timestamp) == (1, None)
    assert not refused.value.definite
    assert len(done(rows_through(log, topic, 0, 1))) == 1


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_mirror_that_refuses(network: Network, log: HederaLog, status: int) -> None:
    """A mirror's refusal makes no proof wrong: the receipt's place stands, and reading says what is amiss."""
    topic = network.add_topic()
    network.mirror_status = status
    proof = done(log.append(topic, message()))

    assert (proof.sequence_number, proof.consensus_timestamp) == (1, None)
    with pytest.raises(Unavailable, match=str(status)):
        done(log.read(topic))


@pytest.mark.parametrize(
    ("fault", "said"),
    [("INSUFFICIENT_PAYER_BALANCE", "INSUFFICIENT_PAYER_BALANCE"), ("INVALID_TOPIC_ID", "INVALID_TOPIC_ID")],
)
def test_a_refusal_is_certain(network: Network, log: HederaLog, fault: str, said: str) -> None:
    """What a node refuses before consensus is nowhere, and the refusal says so with the network's word."""
    topic = network.add_topic()
    network.faults[:] = [fault]
    with pytest.raises(Unavailable, match=said) as refused:
        done(log.append(topic, message()))

    assert refused.value.definite
    assert network.rows(topic) == []


def test_a_refusal_after_an_uncertain_sending(network: Network, log: HederaLog) -> None:
    """A refusal is not taken for certain when an earlier sending of the same message may have got through."""
    topic = network.add_topic()
    network.faults[:] = ["lost after", "TRANSACTION_EXPIRED"]
    proof = done(log.append(topic, message()))

    assert proof.sequence_number == len(network.rows(topic)) == 1


def test_the_fee_has_a_bound(network: Network, world: World) -> None:
    """A log that may pay less than a message costs is refused; what it may pay is in the message it signs."""
    topic = network.add_topic()
    stingy = log_of(network, world, fee_hbar_max=0.001)
    with pytest.raises(Unavailable, match="INSUFFICIENT_TX_FEE") as refused:
        done(stingy.append(topic, message()))

    assert refused.value.definite
    assert network.rows(topic) == []
    stingy.close()


def test_an_unknown_topic(network: Network, log: HederaLog) -> None:
    """A topic that is not there takes nothing, for certain, and has no rows."""
    with pytest.raises(Unavailable, match="INVALID_TOPIC_ID") as refused:
        done(log.append("0.0.9", message()))

    assert refused.value.definite
    assert done(log.read("0.0.9")) == []


def test_nobody_there(world: World) -> None:
    """A network that cannot be reached takes nothing, or nobody knows: never is it called taken."""
    nodes = Nodes({"127.0.0.1:1": NODES[0]}, ACCOUNT, key="11" * 32)
    log = HederaLog(nodes, Mirror("http://127.0.0.1:1"), world.runtime())
    with pytest.raises(Unavailable):
        done(log.append("0.0.5001", message()))
    with pytest.raises(Unavailable, match="mirror"):
        done(log.read("0.0.5001"))
    log.close()


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
        with pytest.raises(InvalidRequest):
            named_or_nodes(wrong)
    with pytest.raises(InvalidRequest, match="cannot be read"):
        key_in(str(tmp_path / "none"))
    with pytest.raises(InvalidRequest) as refused:
        Nodes("testnet", ACCOUNT, key="no key at all")
    assert "at all" not in refused.value.detail
    with pytest.raises(InvalidRequest):
        Mirror("mirror.example")
