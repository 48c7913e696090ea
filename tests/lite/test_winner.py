"""Who wins: the first valid message of a contest, whatever else stands in the topic."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from lite.ground import IDS, NOON_US, PAYER, SECRET, changed, message, rows
from tessera.limits import CLAIM_MESSAGE_SECONDS_MAX
from tessera.lite.message import Commitments
from tessera.lite.running_hash import nanoseconds, timestamp
from tessera.lite.winner import winner, winners
from tessera.models import ChunkInfo, TopicMessage
from tessera.runtime import rfc3339

TASK = Commitments(SECRET).of("task", "t_1")
TRUSTED = frozenset({PAYER})


def by(agent: int, token: int = 1, **ids: object) -> bytes:
    """A claim of an agent's for the task."""
    return message(agent_id=f"agt_{agent}", claim_id=f"clm_{agent:08d}", fencing_token=token, **ids)


def winner_of(topic: list[TopicMessage], token: int = 1) -> str | None:
    """The claim that wins the task under a token."""
    won = winner(topic, TRUSTED, TASK, token)
    return None if won is None else won.claim.claim_id


def test_the_first_wins() -> None:
    """Of two claims the earlier wins, and the later changes nothing, nor does the earlier one again."""
    assert winner_of(rows([by(1), by(2), by(1)])) == "clm_00000001"
    assert winner_of(rows([by(2), by(1)])) == "clm_00000002"


def test_a_lapse_opens_another_contest() -> None:
    """After a lapse the token is another one: an old message, seen again or late, wins nothing under it."""
    topic = rows([by(1), by(1), by(2, token=2), by(1)])

    assert winner_of(topic) == "clm_00000001"
    assert winner_of(topic, token=2) == "clm_00000002"
    assert winner_of(rows([by(1), by(2)]), token=2) is None


def test_foreign_messages_never_win() -> None:
    """What an account pays for that the role does not list never wins, nor does another workspace's message
    or one that is no claim.
    """
    topic = rows([by(1), by(2)])
    topic[0] = changed(topic[0], payer_account_id="0.0.666")

    assert winner_of(topic) == "clm_00000002"
    assert winner_of(rows([message(SECRET[::-1]), b"{}", b"\xff", by(3)])) == "clm_00000003"


def test_a_chunk_never_wins() -> None:
    """A row that is part of a longer message is no claim; one that says it is whole is."""
    topic = rows([by(1), by(2)])
    chunked = [changed(topic[0], chunk_info=ChunkInfo(number=1, total=2)), topic[1]]
    whole = [changed(topic[0], chunk_info=ChunkInfo(number=1, total=1)), topic[1]]

    assert (winner_of(chunked), winner_of(whole)) == ("clm_00000002", "clm_00000001")


def test_a_late_message_never_wins() -> None:
    """A message that comes later after it was made than the bound allows has lost, though it be the first."""
    topic = rows([by(1), by(2, created_at=rfc3339(NOON_US + 2_000_000))])
    made_ns = NOON_US * 1_000
    bound_ns = CLAIM_MESSAGE_SECONDS_MAX * 10**9
    in_time = changed(topic[0], consensus_timestamp=timestamp(made_ns + bound_ns))
    late = changed(topic[0], consensus_timestamp=timestamp(made_ns + bound_ns + 1))

    assert winner_of([in_time, topic[1]]) == "clm_00000001"
    assert winner_of([late, topic[1]]) == "clm_00000002"
    assert winner_of([changed(topic[0], consensus_timestamp="soon"), topic[1]]) == "clm_00000002"
    assert winner_of(rows([message(created_at="2027-13-01T00:00:00.000000Z"), by(2)])) == "clm_00000002"


@given(st.permutations(range(8)), st.lists(st.integers(0, 7), max_size=8))
@settings(max_examples=60, deadline=None)
def test_whatever_order_rows_are_read_in(order: list[int], again: list[int]) -> None:
    """Rows that a reader gets swapped or twice make the same winners as the topic in its order."""
    topic = rows(
        [by(4), b"noise", by(1, token=2), by(2), by(3, token=2), message(task_id="t_2"), by(2), by(1)]
    )
    read = [topic[place] for place in [*order, *again]]

    assert winners(read, TRUSTED) == winners(topic, TRUSTED)
    assert sorted(won.sequence_number for won in winners(topic, TRUSTED).values()) == [1, 3, 6]


def test_the_rows_are_those_of_one_second_each() -> None:
    """The ground that these tests stand on: rows are a second apart and made at noon."""
    first, second = rows([by(1), by(2)])

    assert nanoseconds(second.consensus_timestamp) - nanoseconds(first.consensus_timestamp) == 10**9
    assert IDS["created_at"] == rfc3339(NOON_US)


LATE = by(9, created_at=rfc3339(NOON_US - 200_000_000))
INTRUDERS = [
    (b"noise", PAYER), (by(7), "0.0.666"), (message(SECRET[::-1]), PAYER), (LATE, PAYER), (by(1), PAYER),
    (by(8, token=2), PAYER),
]  # fmt: skip


@given(
    st.lists(st.sampled_from(INTRUDERS), max_size=6),
    st.lists(st.sampled_from(INTRUDERS), max_size=6),
    st.randoms(),
)
@settings(max_examples=60, deadline=None)
def test_no_intruder_wins(before: list[Any], after: list[Any], chance: Any) -> None:
    """However many late, foreign, alien or repeated messages stand around a contest's first claim, and in
    whatever order rows are read, some of them twice: the first claim that may win does, and no other.
    """
    told = [(content, payer) for content, payer in before if content != by(1)]
    told += [(by(1), PAYER), (by(2), PAYER), *after]
    topic = [
        changed(row, payer_account_id=payer)
        for row, (_, payer) in zip(rows([c for c, _ in told]), told, strict=True)
    ]
    read = [*topic, *chance.choices(topic, k=3)]
    chance.shuffle(read)

    assert winner_of(read) == "clm_00000001"
    assert winner_of(read, token=2) in (None, "clm_00000008")
