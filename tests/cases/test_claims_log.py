"""Lite claims and the log they are decided by: outcomes that are uncertain, messages that are no claims."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from lite.ground import message, rows
from lite.hedera_stand_in import Network, running
from lite.on_network import store_on, topic_of
from lite.workshop import ROLE, claims, fresh, furnish, messages, put, won

from tessera.errors import InvalidRequest, Unavailable
from tessera.library import Tessera
from tessera.limits import INTEGER_MAX, TOPIC_MESSAGE_BYTES_MAX
from tessera.lite.message import decode
from tessera.lite.winner import winners
from tessera.models import ChunkInfo
from tessera.testing import World


@pytest.fixture
def network() -> Iterator[Network]:
    """A network of its own."""
    with running() as network:
        yield network


@pytest.fixture
def on_hedera(
    network: Network, tmp_path: Path, world: World, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Tessera]:
    """A store whose claims go to that network."""
    with store_on(network, tmp_path, world, monkeypatch) as store:
        yield store


@pytest.mark.parametrize(
    "faults", [["lost after"], ["lost before"], ["late"], ["lost after", "BUSY", "lost before"]]
)
def test_c03_an_uncertain_submission(on_hedera: Tessera, network: Network, faults: list[str]) -> None:
    """C03: a submission whose outcome is unknown is looked up before anything is sent anew: one message, one
    claim, one win.
    """
    put(on_hedera)
    network.faults[:] = faults
    answer = won(on_hedera)
    (row,) = network.rows(topic_of(on_hedera))
    (claim,) = claims(on_hedera)

    assert (claim.state, claim.claim_id) == ("claimed", answer.claim_id)
    assert answer.proof.sequence_number == row["sequence_number"] == 1
    assert on_hedera.claim_next("drafts", "agt_bob", fresh()).status == "no_tasks"


def test_c05_busy_for_longer_than_a_message_is_valid(on_hedera: Tessera, network: Network) -> None:
    """C05: what was never taken leaves nothing behind, and a message that stands in the topic twice, under
    another transaction, neither wins again nor counts as a rival.
    """
    task_id = put(on_hedera)
    network.faults[:] = ["BUSY"] * 1_000
    with pytest.raises(Unavailable) as refused:
        on_hedera.claim_next("drafts", "agt_ann", "once")
    network.faults.clear()
    topic = topic_of(on_hedera)
    assert refused.value.definite
    assert network.rows(topic) == []

    first = won(on_hedera, agent="agt_bob")
    network.put(topic, msgspec.convert(network.rows(topic)[0]["message"], bytes))
    (found,) = on_hedera.verify_topics().topics
    assert first.task_id == task_id
    assert (found.finding, found.rows, found.contests) == (None, 2, 1)
    assert on_hedera.claim_next("drafts", "agt_ann", fresh()).status == "no_tasks"


def test_c06_messages_of_every_size(store: Tessera) -> None:
    """C06: a claim with ids of the greatest length fits one chunk; a larger message is refused before it is
    sent, and a row that is part of one is no claim.
    """
    workspace_id, agent, queue = "ws_" + "w" * 64, "agt_" + "a" * 64, "q" * 64
    furnish(store, workspace_id, queue, agent)
    put(store, workspace_id, queue, task_id="t" * 128)
    answer = store.claim_next(queue, agent, "k" * 255, lease_seconds=3_600)
    (row,) = store.topic_messages(ROLE).messages
    longest = message(claim_id="clm_" + "f" * 40, fencing_token=INTEGER_MAX, lease_seconds=INTEGER_MAX)

    assert answer.status == "claimed"
    assert len(row.message) < len(longest) < TOPIC_MESSAGE_BYTES_MAX
    (whole,) = rows([longest])
    assert len(winners([whole], {whole.payer_account_id})) == 1
    part = msgspec.structs.replace(whole, chunk_info=ChunkInfo(number=1, total=2))
    assert winners([part], {part.payer_account_id}) == {}
    with pytest.raises(InvalidRequest):
        message(claim_id="clm_" + "f" * 1_000)


def test_c08_read_paths_that_disagree(on_hedera: Tessera, network: Network) -> None:
    """C08: while the mirror answers 404 for a row that is there, the claim is neither lost nor another's; its
    proof waits, and then has the number and the nanoseconds exactly.
    """
    task_id = put(on_hedera)
    network.mirror_status = 404
    first = on_hedera.claim_next("drafts", "agt_ann", "once")
    rival = on_hedera.claim_next("drafts", "agt_bob", fresh())
    assert first.status == "rejected"
    assert rival.status != "claimed"

    network.mirror_status = 200
    answer = on_hedera.claim_next("drafts", "agt_ann", "once")
    for _ in range(100):  # the store's clock moves with each look
        if answer.status == "claimed":
            break
        on_hedera.recover_claims()
        answer = on_hedera.claim_next("drafts", "agt_ann", "once")
    row = network.rows(topic_of(on_hedera))[0]
    assert (answer.status, answer.task_id) == ("claimed", task_id)
    assert (answer.proof.sequence_number, answer.proof.consensus_timestamp) == (1, row["consensus_timestamp"])
    assert len(row["consensus_timestamp"].rpartition(".")[2]) == 9


FORBIDDEN = ("task_title", "task_input", "brief_ref", "plan_json", "artifact_ref", "completion_summary")


def test_c13_the_schema_is_an_allow_list(store: Tessera) -> None:
    """C13: no forbidden field is a claim, nested, in another case, as an extra key or in the value of an
    allowed one; and what is rejected or finds no task writes nothing.
    """
    right = json.loads(message())
    for name in FORBIDDEN:
        for wrong in ({name: "x"}, {name.title(): "x"}, {"task": {name: "x"}}, {"agent": f"agt_{name}"},
                      {"task": f"task_{name}"}, {"claim_id": f"clm_{name}"}):  # fmt: skip
            assert decode(msgspec.json.encode({**right, **wrong})) is None
    furnish(store)
    store.define_agent("ws_a", "agt_off", [ROLE], active=False)
    assert store.claim_next("drafts", "agt_ann", fresh()).status == "no_tasks"
    put(store, required_capabilities=["french"])
    for agent, role_ids in (
        ("agt_off", None),
        ("agt_ann", None),
        ("agt_ann", ["role_none"]),
        ("agt_x", None),
    ):
        assert store.claim_next("drafts", agent, fresh(), role_ids).status == "rejected"

    assert messages(store) == []
