"""What one verb on the event loop's engine may do to the others."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from storage.playing import SPEC, commits, play

from tessera.errors import NotFound, StaleLease
from tessera.models import Claim, Heartbeat, Raw, Submit
from tessera.rules.grants import OWNER
from tessera.storage.loop import SPLIT_VERBS_MIN, SPOT_SYNC_US_MAX, LoopEngine
from tessera.surface import SURFACE
from tessera.testing import World
from tessera.verbs.claim import claim
from tessera.verbs.enqueue import enqueue


def test_a_heartbeat_runs_where_it_arrives(tmp_path: Path, world: World) -> None:
    """A heartbeat is on disk and answered before its call returns, also in the middle of what others have
    written and not synced, and those are answered with it; a second one before the next turn stands in line,
    and so does each on a slow disk.
    """
    run = SURFACE["heartbeat"].run()

    async def scene(engine: LoopEngine) -> None:
        await engine.submit(enqueue, OWNER, SPEC)
        lease = await engine.submit(claim, OWNER, Claim(queue="q", worker="w"))
        ask = Heartbeat(lease.task_id, lease.fencing_token)
        before = commits(world)
        first, second = (engine.submit(run, OWNER, ask) for _ in range(2))
        assert (first.done(), second.done()) == (True, False)
        assert commits(world) == before + 1
        assert world.reached[-1] == "commit.synced"
        await second

        others = [engine.submit(enqueue, OWNER, SPEC) for _ in range(SPLIT_VERBS_MIN)]
        await asyncio.sleep(0)  # the half of them has run
        assert engine.submit(run, OWNER, ask).done()
        wrong = engine.submit(run, OWNER, Heartbeat(lease.task_id, 7))
        with pytest.raises(StaleLease):
            await wrong
        await asyncio.gather(*others)

        engine.meter.sync_us = SPOT_SYNC_US_MAX + 1
        late = engine.submit(run, OWNER, ask)
        assert not late.done()
        await late

    play(tmp_path, world.runtime(), scene)


def test_others_are_heard_between_the_halves_of_a_turn(tmp_path: Path, world: World) -> None:
    """When half of a turn has run, the loop has a turn of its own before the other half does."""

    async def scene(engine: LoopEngine) -> None:
        for _ in range(SPLIT_VERBS_MIN):
            engine.submit(enqueue, OWNER, SPEC)
        before = world.reached.count("enqueue.written")
        asyncio.get_running_loop().call_soon(ran.append, before)
        asyncio.get_running_loop().call_soon(lambda: ran.append(world.reached.count("enqueue.written")))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        ran.append(world.reached.count("enqueue.written"))

    ran: list[int] = []
    play(tmp_path, world.runtime(), scene)

    assert [number - ran[0] for number in ran[1:]] == [SPLIT_VERBS_MIN // 2, SPLIT_VERBS_MIN]


def test_claims_are_not_starved(tmp_path: Path, world: World) -> None:
    """However many others there are, and though none of them has anything to write, a claim has its turn."""
    stale = SURFACE["submit"].run(), OWNER, Submit("t_none", 1, output=Raw(b"1"), idempotency_key="k")
    run = SURFACE["claim"].run()

    async def scene(engine: LoopEngine) -> None:
        await engine.submit(enqueue, OWNER, SPEC)

        async def hand_in() -> None:
            while not claiming.done() and len(handed_in) < 40 * SPLIT_VERBS_MIN:
                with pytest.raises(NotFound):
                    await engine.submit(*stale)
                handed_in.append(None)

        claiming = engine.submit(run, OWNER, Claim(queue="q", worker="w"))
        await asyncio.gather(*(hand_in() for _ in range(4 * SPLIT_VERBS_MIN)))
        assert claiming.done()

    handed_in: list[None] = []
    play(tmp_path, world.runtime(), scene)


def test_whoever_cannot_be_told_is_no_harm_to_others(
    tmp_path: Path, world: World, caplog: pytest.LogCaptureFixture
) -> None:
    """A caller whose answer goes wrong leaves those of the same commit theirs, and is logged."""

    async def scene(engine: LoopEngine) -> None:
        def fails(_: Any) -> None:
            raise ZeroDivisionError

        engine.call(fails, enqueue, OWNER, SPEC)
        asked = [engine.submit(enqueue, OWNER, SPEC) for _ in range(4)]
        engine.call(fails, SURFACE["claim"].run(), OWNER, Claim(queue="q", worker="w"))
        assert len({answer.task_id for answer in await asyncio.gather(*asked)}) == 4
        assert (await engine.submit(claim, OWNER, Claim(queue="q", worker="w"))).attempts == 1

    play(tmp_path, world.runtime(), scene)

    assert caplog.text.count("could not be told") == 2


def test_a_slow_disk_does_not_stop_the_loop(tmp_path: Path, world: World) -> None:
    """A verb that is alone is synced by the thread when the disk is slow, and the loop goes on meanwhile."""

    async def scene(engine: LoopEngine) -> None:
        alone = engine.submit(enqueue, OWNER, SPEC)
        await asyncio.sleep(0)
        assert alone.done()
        engine.meter.sync_us = SPOT_SYNC_US_MAX + 1
        alone = engine.submit(enqueue, OWNER, SPEC)
        await asyncio.sleep(0)
        assert not alone.done()
        await alone

    play(tmp_path, world.runtime(), scene)
