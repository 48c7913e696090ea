"""Topics verified: what holds, and what is named when the log or the store has been changed."""

from __future__ import annotations

from contextlib import closing

import pytest

from lite.workshop import Steps, agents_key, claims, file_of, furnish, next_of, put, won
from tessera.errors import InvalidRequest, NotFound, ScopeDenied, Unavailable
from tessera.library import Tessera
from tessera.models import TopicVerified
from tessera.testing import World


@pytest.fixture
def town(store: Tessera, world: World) -> Tessera:
    """A store of two workspaces: five claims won, one missed, one lapsed and won again, one void."""
    furnish(store)
    furnish(store, "ws_b", "letters")
    for _ in range(4):
        put(store)
    put(store, "ws_b", "letters")
    for _ in range(3):
        won(store)
    slow = Steps(store, next_of("agt_bob")).until("append_message")
    won(store)  # the task that agt_bob has reserved too
    assert slow.finish().status == "no_tasks"
    won(store, "letters")
    world.pass_seconds(4_000)  # all leases lapse
    store.reap()
    won(store)
    return store


def verdict(store: Tessera, workspace_id: str = "ws_a") -> TopicVerified:
    """What is found of a workspace's topic."""
    verified = store.verify_topics()
    assert verified.ok is all(one.finding is None for one in verified.topics)
    (found,) = [one for one in verified.topics if one.workspace_id == workspace_id]
    return found


def spoil(store: Tessera, *statements: str) -> None:
    """Change the store behind its back, in its first workspace's topic."""
    topic = next(one.topic_id for one in store.workspace("ws_a").roles)
    with closing(file_of(store)) as file:
        file.execute("begin")
        for statement in statements:
            number = file.execute("select topic from topics where topic_id = ?", (topic,)).get
            file.execute(statement.replace("$topic", str(number)))
            assert file.changes() > 0, statement
        file.execute("commit")


def test_a_sound_store(town: Tessera) -> None:
    """Every topic holds: its rows follow, and each claim is what the rows say; one topic can be asked for."""
    found = verdict(town)
    states = [claim.state for claim in claims(town) if claim.workspace_id == "ws_a"]

    assert found.finding is None
    assert (found.rows, found.contests, found.claims, found.unseen) == (6, 5, 6, 0)
    assert sorted(states) == ["claimed"] * 5 + ["missed"]
    assert verdict(town, "ws_b").rows == 1
    assert [one.topic_id for one in town.verify_topics(found.topic_id).topics] == [found.topic_id]
    with pytest.raises(NotFound):
        town.verify_topics("0.0.1")


def test_whoever_listens_hears_how_far_it_is(town: Tessera, monkeypatch: pytest.MonkeyPatch) -> None:
    """A topic is read in pages, and after each it is told how many rows of it are done, out of those that
    the claims name.
    """
    monkeypatch.setattr("tessera.lite.verifying.PAGE_MAX", 3)
    heard: list[tuple[str, int, int]] = []
    topics = town.verify_topics(tell=lambda *news: heard.append(news)).topics

    for one in topics:
        told = [(done, of) for what, done, of in heard if one.topic_id in what]
        assert told == [(done, one.rows) for done in (*range(3, one.rows, 3), one.rows)]
    assert max(one.rows for one in topics) > 3


FLIPPED = "message = cast(replace(message, '_v1', '_v0') as blob)"
ROW = "update topic_messages set {} where topic = $topic and sequence_number = {}"


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ((ROW.format(FLIPPED, 2),), "row 2 its running hash"),
        ((ROW.format("running_hash = zeroblob(48)", 3),), "row 3 its running hash"),
        ((ROW.format("payer = '0.0.7'", 4),), "row 4 its running hash"),
        ((ROW.format("consensus_ns = consensus_ns + 1", 5),), "row 5 its running hash"),
        ((ROW.format("consensus_ns = 1", 5),), "row 5 no later"),
        (("delete from topic_messages where topic = $topic and sequence_number = 3",), "row 3 is missing"),
        (("delete from topic_messages where topic = $topic and sequence_number = 6",), "row 6 is missing"),
        (
            tuple(
                ROW.format(f"sequence_number = {to}", was) for was, to in ((2, 99), (3, 2), (99, 3))
            ),
            "row 2 ",
        ),
    ],
    ids=["bit", "hash", "payer", "time", "order", "missing", "last", "swapped"],
)  # fmt: skip
def test_a_changed_log_is_named(town: Tessera, changes: tuple[str, ...], says: str) -> None:
    """A flipped bit, a row that is gone and two that are swapped: the first wrong row is named."""
    spoil(town, *changes)

    assert says in (verdict(town).finding or "")
    assert verdict(town, "ws_b").finding is None


FOURTH = "where sequence_number = 4 and workspace_id = 'ws_a'"
CLAIM = "update claims set {} where sequence_number = {} and workspace_id = 'ws_a'"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (CLAIM.format("agent_id = 'agt_bob'", 1), "its agent is not that of row 1"),
        (CLAIM.format("fencing_token = 9", 2), "its fencing_token is not that of row 2"),
        (CLAIM.format("lease_seconds = 9", 2), "its lease_seconds is not that of row 2"),
        (CLAIM.format("reserved_at = reserved_at + 1", 2), "its created_at is not that of row 2"),
        (CLAIM.format("idempotency_sha256 = 'x'", 2), "its idempotency_sha256 is not that of row 2"),
        (CLAIM.format("serial = serial + 1", 3), "its task is not that of row 3"),
        (CLAIM.format("state = 2", 3), "missed, but by row 3 it won"),
        ("update claims set state = 1 where state = 2", "another claim won before row"),
        (CLAIM.format("running_hash = 'x'", 4), "another running hash than row 4"),
        (CLAIM.format("consensus_timestamp = '1.000000000'", 4), "another consensus time than row 4"),
        (f"delete from claims {FOURTH}", "the store does not have it"),
        (CLAIM.format("sequence_number = 1", 2), "name one row, 1"),
        (CLAIM.format("sequence_number = 7", 6), "row 7 is missing"),
        ("update workspaces set secret = printf('%064d', 0)", "its workspace is not that of row 1"),
    ],
)  # fmt: skip
def test_a_changed_claim_is_named(town: Tessera, change: str, says: str) -> None:
    """Whatever of a claim is changed in the store, its state, its ids, its proof: the claim is named."""
    spoil(town, change)
    finding = verdict(town).finding or ""

    assert says in finding
    assert finding.startswith("claim")


LAST = "topic_messages where topic = $topic and sequence_number = 6"
GONE = "claims where topic_id = (select topic_id from topics where topic = $topic)"


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ((f"delete from {GONE} and sequence_number = 6", f"delete from {LAST}"), "row 6 is missing"),
        ((f"delete from {GONE}", "delete from topic_messages where topic = $topic"), "row 1 is missing"),
        (("update topics set sequence_number = 5 where topic = $topic",), "row 6 stands after the last"),
        (
            ("update topics set running_hash = zeroblob(48) where topic = $topic",),
            "row 6 has another running",
        ),
    ],
    ids=["last", "all", "head", "hash"],
)
def test_a_topic_ends_where_the_log_left_it(town: Tessera, changes: tuple[str, ...], says: str) -> None:
    """Rows that are gone from a topic's end, and their claims with them, are missed by their log's own count:
    `verify` of the store sees that too.
    """
    assert town.verify().ok
    spoil(town, *changes)

    assert says in (verdict(town).finding or "")
    (found,) = [one for one in town.verify().findings if one.check == "topics"]
    assert verdict(town).topic_id in found.thing


def test_a_network_is_not_looked_for_in_the_store(town: Tessera, monkeypatch: pytest.MonkeyPatch) -> None:
    """A topic of a network is not read in the store's own log and not called broken, and nothing is won
    there; the store's own topics are read in the store also when claims go to a network.
    """
    monkeypatch.setenv("TESSERA_LITE_LOG", "hedera")
    town.define_role("ws_a", "role_far", "Far", topic_id="0.0.77")
    town.define_agent("ws_a", "agt_far", ["role_far"])
    assert town.verify_topics(town.workspace("ws_b").roles[0].topic_id).ok
    put(town)
    with pytest.raises(Unavailable, match="TESSERA_LITE_LOG"):
        won(town)
    monkeypatch.delenv("TESSERA_LITE_LOG")
    put(town, required_role_id="role_far")
    with pytest.raises(Unavailable, match="TESSERA_LITE_LOG"):
        won(town, agent="agt_far")
    verified = town.verify_topics()
    (far,) = [one for one in verified.topics if one.topic_id == "0.0.77"]

    assert not verified.ok
    assert far.finding is None
    assert "TESSERA_LITE_LOG=hedera" in (far.unread or "")
    assert [one.finding or one.unread for one in verified.topics if one is not far] == [None, None]


def test_a_claim_under_way_is_no_finding(town: Tessera) -> None:
    """A claim whose message the log has and which is not settled yet is not wrong."""
    put(town)
    Steps(town, next_of("agt_bob")).until("settle_claim").die()
    found = verdict(town)

    assert (found.finding, found.rows, found.claims) == (None, 7, 6)


def test_who_may_verify(town: Tessera) -> None:
    """Verifying is for the store's owner: it reads every workspace's secret."""
    for key in (town.as_key(town.issue_key(scopes=["admin"]).key), agents_key(town)):
        with pytest.raises(ScopeDenied):
            key.verify_topics()
    with pytest.raises(InvalidRequest, match="http"):
        town.verify_topics(mirror="no url")


def test_more_than_a_page(store: Tessera, monkeypatch: pytest.MonkeyPatch) -> None:
    """A topic of many pages is followed to its end."""
    monkeypatch.setattr("tessera.lite.verifying.PAGE_MAX", 3)
    furnish(store)
    for _ in range(7):
        put(store)
        won(store)
    found = verdict(store)

    assert (found.finding, found.rows, found.claims, found.contests) == (None, 7, 7, 7)
