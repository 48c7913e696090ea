"""The log on a network in trouble: what is taken once, what is refused, what stays uncertain."""

from __future__ import annotations

from typing import Any

import pytest

from lite.ground import message
from lite.hedera_stand_in import ACCOUNT, NODES, Network
from lite.on_network import done, log_of
from tessera.errors import Unavailable
from tessera.lite.hedera import HederaLog
from tessera.lite.log import rows_through
from tessera.lite.mirror import Mirror
from tessera.lite.network import Network as Nodes
from tessera.testing import World


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


def test_a_busy_topic_without_a_receipt(network: Network, log: HederaLog) -> None:
    """A message without a receipt is found however many others came at the same time."""
    topic = network.add_topic()
    network.mute = True
    for n in range(230):
        network.put(topic, b"%d" % n, payer="0.0.666")

    assert done(log.append(topic, message())).sequence_number == 231
    assert network.submits == 1


def test_another_message_in_its_place(network: Network, log: HederaLog) -> None:
    """If the row that a receipt names holds another message, nobody is told that the claim stands there."""
    topic = network.add_topic()
    ours = network.put

    def theirs(topic_id: str, content: bytes, *more: Any) -> Any:
        return ours(topic_id, b"another", *more)

    network.put = theirs
    with pytest.raises(Unavailable, match="another message") as refused:
        done(log.append(topic, message()))
    network.put = ours

    assert not refused.value.definite


def test_a_mirror_that_does_not_go_on(network: Network, log: HederaLog) -> None:
    """A mirror that gives the same rows again and again is refused, and nobody reads for ever."""
    topic = network.add_topic()
    for n in range(3):
        network.put(topic, b"%d" % n)
    network.stuck = True
    with pytest.raises(Unavailable, match="does not go on"):
        done(log.read(topic, 5))
