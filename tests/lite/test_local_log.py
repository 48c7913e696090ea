"""The log in the store: its order, its rows, its limits, and what a death leaves of it."""

from __future__ import annotations

import asyncio
import re
import sys
import threading
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from lite.ground import NOON_US, TOPIC, chained, done, message
from tessera.acts.act import carry_out_on_loop
from tessera.errors import InvalidRequest, Unavailable
from tessera.limits import ROWS_AT_HAND_MAX
from tessera.lite.local import LocalLog
from tessera.lite.log import rows_through
from tessera.lite.running_hash import nanoseconds
from tessera.rules.grants import OWNER
from tessera.storage import catalogue
from tessera.storage.direct import DirectEngine
from tessera.storage.loop import LoopEngine
from tessera.testing import World, die_at

LOG = LocalLog()
APPENDS = str(Path(__file__).parent / "appends.py")


@pytest.fixture
def engine(tmp_path: Path, world: World) -> Iterator[DirectEngine]:
    """A new store."""
    engine = DirectEngine(str(tmp_path / "store.db"), world.runtime())
    yield engine
    engine.close()


def test_what_is_appended_is_read(engine: DirectEngine) -> None:
    """Messages come back in the order of their appending, whole, each row's hash following from the last, and
    a proof says where its message stands.
    """
    account = done(engine, LOG.payer())
    proofs = [done(engine, LOG.append(TOPIC, message(fencing_token=n))) for n in (1, 2, 3)]
    read = done(engine, LOG.read(TOPIC))

    assert [row.message for row in read] == [message(fencing_token=n) for n in (1, 2, 3)]
    assert [row.sequence_number for row in read] == [1, 2, 3]
    assert {(row.payer_account_id, row.topic_id, row.chunk_info) for row in read} == {(account, TOPIC, None)}
    assert chained(read)
    for proof, row in zip(proofs, read, strict=True):
        assert (proof.status, proof.topic_id) == ("verified", TOPIC)
        assert (proof.sequence_number, proof.consensus_timestamp) == (
            row.sequence_number,
            row.consensus_timestamp,
        )
        assert proof.transaction_id == f"{account}@{row.consensus_timestamp}"


def test_no_two_have_one_time(engine: DirectEngine, world: World) -> None:
    """Consensus times rise from message to message over all topics, also within one instant and when the wall
    clock steps back.
    """
    stamps = []
    for step in (0, 0, 5, -60, 0):
        world.pass_seconds(step)
        stamps += [done(engine, LOG.append(topic, b"x")).consensus_timestamp for topic in (TOPIC, "0.0.8")]
    times = [nanoseconds(stamp or "") for stamp in stamps]

    assert times[0] == NOON_US * 1_000
    assert times == sorted(set(times))


def test_pages(engine: DirectEngine) -> None:
    """A read goes on after a number, ends at its limit, and an unknown topic is empty."""
    for n in range(7):
        done(engine, LOG.append(TOPIC, b"%d" % n))
    pages = [
        [row.sequence_number for row in done(engine, LOG.read(TOPIC, after, 3))] for after in (0, 3, 6, 7)
    ]

    assert pages == [[1, 2, 3], [4, 5, 6], [7], []]
    assert done(engine, LOG.read("0.0.1")) == []
    assert [row.message for row in done(engine, rows_through(LOG, TOPIC, 2, 5))] == [b"2", b"3", b"4"]
    assert done(engine, rows_through(LOG, TOPIC, 7, 7)) == []
    with pytest.raises(Unavailable) as refused:
        done(engine, rows_through(LOG, TOPIC, 2, 8))
    assert not refused.value.definite


@pytest.mark.parametrize("content", [b"", b"x" * 1_025])
def test_a_message_has_its_size(engine: DirectEngine, content: bytes) -> None:
    """Nothing and more than a chunk are refused, and nothing is written."""
    with pytest.raises(InvalidRequest):
        done(engine, LOG.append(TOPIC, content))
    assert done(engine, LOG.read(TOPIC)) == []
    assert done(engine, LOG.append(TOPIC, b"x" * 1_024)).sequence_number == 1


def test_a_topic_has_its_form(engine: DirectEngine) -> None:
    """What is no topic's id is refused with the field's name."""
    for name in ("", "topic", "0.0.x", "0.0.1\n"):
        with pytest.raises(InvalidRequest, match="topic_id"):
            done(engine, LOG.append(name, b"x"))


def test_many_append_at_once(tmp_path: Path) -> None:
    """Threads and event loops on one file append to one topic: one order, no gap, one chain."""
    path = str(tmp_path / "store.db")
    engine = DirectEngine(path, World().runtime())
    crew = [
        threading.Thread(
            target=lambda who=who: [done(engine, LOG.append(TOPIC, b"%d" % who)) for _ in range(20)]
        )
        for who in range(4)
    ]

    async def appends() -> None:
        loop_engine = LoopEngine(path, World().runtime(), asyncio.get_running_loop())
        try:
            for _ in range(20):
                await carry_out_on_loop(LOG.append(TOPIC, b"loop"), loop_engine, OWNER, no_body)
        finally:
            loop_engine.close()

    for thread in crew:
        thread.start()
    asyncio.run(appends())
    for thread in crew:
        thread.join()
    read = done(engine, LOG.read(TOPIC))
    engine.close()

    assert [row.sequence_number for row in read] == list(range(1, 101))
    assert chained(read)


async def no_body() -> bytes:
    """An act of the log takes no bytes."""
    return b""


@pytest.mark.parametrize(
    ("point", "left"),
    [("append_message.read", 1), ("append_message.written", 1), ("commit.before", 1), ("commit.written", 2)],
)
def test_a_death_leaves_all_or_nothing(tmp_path: Path, point: str, left: int) -> None:
    """A process that dies while it appends leaves the message whole or not at all; the next goes on from
    there.
    """
    path = str(tmp_path / "store.db")
    die_at(f"{point}:2", [sys.executable, APPENDS, path])
    engine = DirectEngine(path, World().runtime())
    read = done(engine, LOG.read(TOPIC))
    after = done(engine, LOG.append(TOPIC, b"after"))
    again = done(engine, LOG.read(TOPIC))
    engine.close()

    assert [row.message for row in read] == [b"1", b"2"][:left]
    assert after.sequence_number == left + 1
    assert chained(again)


def test_the_account_is_the_stores(tmp_path: Path, world: World) -> None:
    """A store keeps its account when it is opened again, and another store has another."""
    accounts = []
    for name in ("a", "a", "b"):
        engine = DirectEngine(str(tmp_path / name), world.runtime())
        accounts.append(done(engine, LOG.payer()))
        engine.close()

    assert accounts[0] == accounts[1] != accounts[2]


def plan_of(connection: apsw.Connection, name: str) -> list[str]:
    """How a statement is run."""
    statement = catalogue.load()[name]
    asked = connection.execute(f"explain query plan {statement.text}", (None,) * len(statement.params))
    return [row[3] for row in asked]


def test_the_newest_place_is_sought(engine: DirectEngine, tmp_path: Path) -> None:
    """Neither appending nor reading walks a topic: each of their statements seeks in an index."""
    connection = apsw.Connection(str(tmp_path / "store.db"))
    for name in ("topic_head", "topic_messages", "move_topic", "add_topic_message"):
        plan = plan_of(connection, name)
        assert [line for line in plan if line.startswith("SCAN t") or "TEMP B-TREE" in line] == [], name


def test_pending_proofs_are_few(engine: DirectEngine, tmp_path: Path) -> None:
    """What looks for proofs to verify reads the index of those, and no claim besides."""
    connection = apsw.Connection(str(tmp_path / "store.db"))
    for name in ("topics_pending", "proofs_pending"):
        (line,) = plan_of(connection, name)
        assert re.match(r"S(CAN|EARCH) claims USING (COVERING )?INDEX claims_pending", line), name


def test_a_message_comes_with_its_contest(engine: DirectEngine) -> None:
    """Whoever enters a contest is told every message since it began, the own one last, whether that was a
    moment ago or hundreds of messages.
    """
    for number in range(ROWS_AT_HAND_MAX):
        done(engine, LOG.append(TOPIC, b"%d" % number))
    for after in (ROWS_AT_HAND_MAX, 200, 1, 0):
        proof, rows = done(engine, LOG.enter(TOPIC, b"mine", after))
        assert rows is not None
        assert [row.sequence_number for row in rows] == list(range(after + 1, proof.sequence_number + 1))
        assert rows == done(engine, LOG.read(TOPIC, after))
        assert (rows[-1].message, rows[-1].running_hash) == (b"mine", b64decode(proof.running_hash))


def test_those_who_meet_are_put_in_order(tmp_path: Path) -> None:
    """Messages to two topics that come in one turn share their reads and writes: each topic is one chain, in
    the order of their coming, no two have one time, and each is told what was before it and no more.
    """

    async def meet() -> list[Any]:
        engine = LoopEngine(str(tmp_path / "store.db"), World().runtime(), asyncio.get_running_loop())
        try:
            await carry_out_on_loop(LOG.append(TOPIC, b"first"), engine, OWNER, no_body)
            enters = [LOG.enter((TOPIC, "0.0.8")[n % 2], b"%d" % n, 0) for n in range(8)]
            return await asyncio.gather(*(carry_out_on_loop(one, engine, OWNER, no_body) for one in enters))
        finally:
            engine.close()

    entered = asyncio.run(meet())
    engine = DirectEngine(str(tmp_path / "store.db"), World().runtime())
    topics = [done(engine, LOG.read(topic)) for topic in (TOPIC, "0.0.8")]
    engine.close()

    assert [[row.message for row in topic] for topic in topics] == [
        [b"first", b"0", b"2", b"4", b"6"], [b"1", b"3", b"5", b"7"]
    ]  # fmt: skip
    assert all(chained(topic) for topic in topics)
    assert len({row.consensus_timestamp for topic in topics for row in topic}) == 9
    for number, (proof, rows) in enumerate(entered):
        assert rows == topics[number % 2][: proof.sequence_number]
