"""A store whose lite claims go to a network: won there, proved there, and verified from its mirror."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

import tessera
from lite.ground import message
from lite.hedera_stand_in import ACCOUNT, Network
from lite.on_network import store_on, topic_of
from lite.workshop import ROLE, claims, fresh, furnish, put, won
from tessera.errors import InvalidRequest, Unavailable
from tessera.library import Tessera
from tessera.testing import World


@pytest.fixture
def on_hedera(
    network: Network, tmp_path: Path, world: World, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Tessera]:
    """A store with a role whose topic is on the network."""
    with store_on(network, tmp_path, world, monkeypatch) as store:
        yield store


def test_claims_are_won_on_the_network(on_hedera: Tessera, network: Network) -> None:
    """A claim's message stands in the topic, its proof says where and is pending; once the rows have been
    followed it is verified, and so is the whole topic, from the log and from a mirror by its URL.
    """
    for _ in range(3):
        put(on_hedera)
    answers = [won(on_hedera) for _ in range(3)]
    rows = network.rows(topic_of(on_hedera))
    pending = [answer.proof.status for answer in answers]
    recovered = on_hedera.recover_claims()

    assert pending == ["pending"] * 3
    assert [answer.proof.consensus_timestamp for answer in answers] == [
        row["consensus_timestamp"] for row in rows
    ]
    assert recovered.verified == 3
    assert [claim.proof.status for claim in claims(on_hedera)] == ["verified"] * 3
    assert on_hedera.recover_claims().verified == 0
    for mirror in (None, network.mirror_url):
        (found,) = on_hedera.verify_topics(mirror=mirror).topics
        assert (found.finding, found.rows, found.claims) == (None, 3, 3)
    assert [row.sequence_number for row in on_hedera.topic_messages(ROLE).messages] == [1, 2, 3]


def test_no_tasks_costs_nothing(on_hedera: Tessera, network: Network) -> None:
    """Where nothing is contended for, and where policy refuses, nothing is sent."""
    on_hedera.define_agent("ws_a", "agt_off", [ROLE], active=False)
    assert on_hedera.claim_next("drafts", "agt_ann", fresh()).status == "no_tasks"
    put(on_hedera)
    assert on_hedera.claim_next("drafts", "agt_off", fresh()).status == "rejected"

    assert network.rows(topic_of(on_hedera)) == []


@pytest.mark.parametrize(("payer", "wins"), [("0.0.77", True), ("0.0.666", False)])
def test_a_rival_on_the_network(on_hedera: Tessera, network: Network, payer: str, wins: bool) -> None:
    """A message that stands in the topic first has won if an account that the role lists paid for it, and if
    no other did.
    """
    on_hedera.define_role("ws_a", ROLE, "Writer", accounts=[ACCOUNT, "0.0.77"])
    put(on_hedera, task_id="t_1")
    rival = message(bytes.fromhex(on_hedera.workspace_secret("ws_a")), claim_id="clm_ffffffff")
    network.put(topic_of(on_hedera), rival, payer)
    answer = on_hedera.claim_next("drafts", "agt_ann", fresh())

    assert answer.status == ("no_tasks" if wins else "claimed")
    assert len(network.rows(topic_of(on_hedera))) == 2


def test_a_mirror_that_is_behind(on_hedera: Tessera, network: Network, world: World) -> None:
    """While the mirror shows nothing, nobody is told that a claim won; later it is settled as the rows say,
    under the same key.
    """
    task_id = put(on_hedera)
    network.shown = 0
    first = on_hedera.claim_next("drafts", "agt_ann", "once")
    network.shown = 1
    world.pass_seconds(60)
    recovered = on_hedera.recover_claims()
    again = on_hedera.claim_next("drafts", "agt_ann", "once")

    assert (first.status, first.reason) == ("rejected", "rate_limited")
    assert (recovered.claimed, recovered.verified) == (1, 1)
    assert (again.status, again.task_id) == ("claimed", task_id)
    assert len(network.rows(topic_of(on_hedera))) == 1


def test_who_does_not_reach_the_network_leaves_it(
    on_hedera: Tessera, network: Network, world: World, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A process whose settings name the store's own log gives up no claim of a network's topic, whose message
    it cannot look for, and says of its rows that it cannot read them.
    """
    put(on_hedera)
    network.shown = 0
    on_hedera.claim_next("drafts", "agt_ann", "once")
    network.shown = 1
    world.pass_seconds(60)
    monkeypatch.setenv("TESSERA_LITE_LOG", "local")
    with tessera.open(str(tmp_path / "store.db"), runtime=world.runtime()) as store:
        recovered = store.recover_claims()
        assert (recovered.claimed, recovered.missed, recovered.void) == (0, 0, 0)
        with pytest.raises(Unavailable, match="TESSERA_LITE_LOG=hedera"):
            store.topic_messages(ROLE)
    monkeypatch.setenv("TESSERA_LITE_LOG", "hedera")
    assert on_hedera.recover_claims().claimed == 1


def test_what_a_mirror_does_not_show_yet(on_hedera: Tessera, network: Network) -> None:
    """A pending proof whose row a mirror does not show yet is no finding, but counted; a verified one is."""
    for _ in range(2):
        put(on_hedera)
        won(on_hedera)
    network.shown = 1
    (found,) = on_hedera.verify_topics().topics
    assert (found.finding, found.rows, found.unseen) == (None, 1, 1)
    network.shown = 2
    on_hedera.recover_claims()
    network.shown = 1
    (found,) = on_hedera.verify_topics().topics
    assert "row 2 is missing" in (found.finding or "")


def test_a_mirror_that_lies(on_hedera: Tessera, network: Network, caplog: pytest.LogCaptureFixture) -> None:
    """A changed row makes no proof verified: the log of the service names it, and so does verify."""
    for _ in range(2):
        put(on_hedera)
        won(on_hedera)
    row = network.rows(topic_of(on_hedera))[1]
    row["payer_account_id"] = "0.0.7"
    with caplog.at_level(logging.ERROR, "tessera.lite"):
        recovered = on_hedera.recover_claims()

    assert recovered.verified == 1
    assert "row 2" in caplog.text
    assert [claim.proof.status for claim in claims(on_hedera)] == ["verified", "pending"]
    assert "row 2" in (on_hedera.verify_topics().topics[0].finding or "")


def test_settings_that_lack_something(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store opens whatever the settings of a network are; a claim refuses those that lack something, and a
    topic is made on a network alone.
    """
    with tessera.open(str(tmp_path / "store.db")) as store, pytest.raises(InvalidRequest, match="own log"):
        store.make_topic()
    monkeypatch.setenv("TESSERA_LITE_LOG", "hedera")
    with tessera.open(str(tmp_path / "store.db")) as store:
        furnish(store, topic_id="0.0.77")
        put(store)
        with pytest.raises(InvalidRequest, match="TESSERA_HEDERA_ACCOUNT"):
            won(store)
        monkeypatch.setenv("TESSERA_HEDERA_ACCOUNT", "me")
        with pytest.raises(InvalidRequest, match=r"TESSERA_HEDERA_ACCOUNT: .*three numbers|Expected"):
            store.make_topic()


@pytest.mark.parametrize(
    ("network", "names"), [("testent", "TESSERA_HEDERA_NETWORK"), ("0.0.3=a:1", "TESSERA_LITE_MIRROR")]
)
def test_what_a_network_lacks(
    network: str, names: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name that is no network's, and nodes without a mirror, are refused by the variable's name."""
    (tmp_path / "key").write_text("11" * 32)
    for name, value in (("LITE_LOG", "hedera"), ("HEDERA_ACCOUNT", "0.0.1002"),
                        ("HEDERA_KEY_FILE", str(tmp_path / "key")), ("HEDERA_NETWORK", network)):  # fmt: skip
        monkeypatch.setenv(f"TESSERA_{name}", value)
    with tessera.open(str(tmp_path / "store.db")) as store, pytest.raises(InvalidRequest, match=names):
        store.make_topic()
