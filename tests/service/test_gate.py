"""The gate of claims: who goes in, who stands in line, who is sent away."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tessera.errors import RateLimited, Unavailable
from tessera.limits import CLAIMS_AT_ONCE
from tessera.runtime import real_runtime
from tessera.service.gate import FULL, LATE, Gate
from tessera.storage.meter import Meter


def play(scene: Callable[[Gate], Awaitable[Any]], *, pending: int = 100, seconds: float = 5) -> Any:
    """A scene before a new gate."""

    async def main() -> Any:
        async with asyncio.timeout(10):
            return await scene(Gate(real_runtime(), Meter(), pending, seconds, None))

    return asyncio.run(main())


async def filled(gate: Gate) -> list[Any]:
    """As many claims in the engine as may be there."""
    return [await gate.enter("k", 1) for _ in range(CLAIMS_AT_ONCE)]


async def in_line(gate: Gate, key: str, claims: int = 1) -> asyncio.Task[Any]:
    """A claim that stands in line."""
    task = asyncio.create_task(gate.enter(key, claims))
    await asyncio.sleep(0)
    return task


def test_keys_take_turns() -> None:
    """Of a key with many claims in line and one with few, those that leave let in one of each in turn."""

    async def scene(gate: Gate) -> list[str]:
        inside = await filled(gate)
        order: list[str] = []
        for key in ["many"] * 10 + ["few"] * 2:
            (await in_line(gate, key)).add_done_callback(lambda _, key=key: order.append(key))
        assert (gate.running, gate.standing) == (CLAIMS_AT_ONCE, 12)
        for turn in inside[:6]:
            gate.leave(turn, got=True)
            await asyncio.sleep(0.001)
        return list(order)

    assert play(scene) == ["many", "few", "many", "few", "many", "many"]


def test_a_full_line_says_when_to_come_back() -> None:
    """Beyond the number that may wait a claim is refused with a whole second at least; one that has its place
    among the parked already is not.
    """

    async def scene(gate: Gate) -> None:
        inside = await filled(gate)
        waiting = [await in_line(gate, "k") for _ in range(2)]
        with pytest.raises(RateLimited) as refusal:
            await gate.enter("k", 1)
        assert isinstance(refusal.value.retry_after, int)
        assert refusal.value.retry_after >= 1
        assert gate.refused == Counter({FULL: 1})
        parked = asyncio.create_task(gate.enter("k", 1, parked=True))
        await asyncio.sleep(0)
        for turn in inside[:3]:
            gate.leave(turn, got=False)
        await asyncio.gather(*waiting, parked)

    play(scene, pending=2)


def test_nobody_waits_past_the_deadline() -> None:
    """A claim in line is sent away when its time is up; whoever comes after is let in once there is room."""

    async def scene(gate: Gate) -> None:
        inside = await filled(gate)
        late = await in_line(gate, "k")
        with pytest.raises(RateLimited):
            await late
        assert (gate.standing, gate.refused) == (0, Counter({LATE: 1}))
        after = await in_line(gate, "k")
        gate.leave(inside[0], got=True)
        await after
        assert gate.running == CLAIMS_AT_ONCE

    play(scene, seconds=0.05)


def test_who_hangs_up_in_line_leaves_no_gap() -> None:
    """A claim that is cancelled in line, or just after it was let in, gives its place to the next."""

    async def scene(gate: Gate) -> None:
        inside = await filled(gate)
        early, let_in, last = [await in_line(gate, "k") for _ in range(3)]
        early.cancel()
        await asyncio.sleep(0)
        gate.leave(inside[0], got=True)
        let_in.cancel()  # the place is its own already
        await last
        assert (gate.running, gate.standing) == (CLAIMS_AT_ONCE, 0)

    play(scene)


def test_who_hangs_up_while_let_in_leaves_no_gap() -> None:
    """A claim in line whose client hangs up in the instant in which it is let in keeps no place."""

    async def scene(gate: Gate) -> None:
        inside = await filled(gate)
        first, second = [await in_line(gate, "k") for _ in range(2)]
        first.cancel()
        gate.leave(inside[0], got=True)
        await second
        await asyncio.gather(first, return_exceptions=True)
        assert (gate.running, gate.standing) == (CLAIMS_AT_ONCE, 0)

    play(scene)


def test_thousands_that_hung_up_in_line_are_passed_over() -> None:
    """However many in line leave as soon as they are let in, the one behind them gets its turn."""

    async def scene(gate: Gate) -> None:
        inside = await filled(gate)
        left = []

        def leave(turn: Any) -> None:
            left.append(turn)
            gate.leave(turn, got=False)

        for _ in range(3_000):
            gate.ask(leave, "k", 1, parked=True)
        last = await in_line(gate, "k")
        gate.leave(inside[0], got=False)
        await last
        assert len(left) == 3_000

    play(scene, pending=10_000)


def test_stopping_sends_everybody_away() -> None:
    """Who stands in line when the service stops is told so, and nobody comes in any more."""

    async def scene(gate: Gate) -> None:
        await filled(gate)
        waiting = await in_line(gate, "k")
        gate.stop()
        with pytest.raises(Unavailable):
            await waiting
        with pytest.raises(Unavailable):
            await gate.enter("k", 1)

    play(scene)
