"""The room of waiting claims by itself, with a claim verb that answers when told."""

from __future__ import annotations

import asyncio
from typing import Any

from tessera.models import Claim, Empty
from tessera.rules.grants import OWNER, Caller
from tessera.service.waiting import Room
from tessera.storage.port import News

ASK = Claim(worker="w", queue="q", wait_seconds=20)
NEWS = News(ready=frozenset({"q"}))


def test_news_that_meets_a_try_under_way_is_not_lost() -> None:
    """A task that comes while the only waiting claim has looked already, and is yet to hear that there was
    nothing, is offered to it at once, not when the clock next looks round.
    """

    async def scene() -> tuple[Any, int]:
        tries: list[asyncio.Future[Any]] = []

        async def attempt(caller: Caller, ask: Claim) -> Any:
            tries.append(asyncio.get_running_loop().create_future())
            return await tries[-1]

        room = Room(attempt, lambda caller, ask, answer: None)
        waiting = asyncio.ensure_future(room.wait(OWNER, ASK, room.mark(ASK)))
        await asyncio.sleep(0)
        room.tell(NEWS)  # of a task that somebody else gets
        await asyncio.sleep(0)
        room.tell(NEWS)
        tries[0].set_result(Empty(retry_after_seconds=1))
        for _ in range(5):
            await asyncio.sleep(0)
        assert len(tries) == 2
        tries[1].set_result(Empty(retry_after_seconds=1))  # no more news, so no more tries
        for _ in range(5):
            await asyncio.sleep(0)
        room.tell(NEWS)
        await asyncio.sleep(0)
        tries[-1].set_result("a lease")
        return await waiting, len(tries)

    assert asyncio.run(scene()) == ("a lease", 3)
