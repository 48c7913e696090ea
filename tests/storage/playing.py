"""Scenes on the event loop's engine."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from tessera.models import AskCounts, DefineQueue, Raw, TaskSpec
from tessera.rules.grants import OWNER
from tessera.runtime import Runtime
from tessera.storage.loop import LoopEngine
from tessera.testing import World
from tessera.verbs import looks
from tessera.verbs.define_queue import define_queue

SPEC = TaskSpec(queue="q", kind="k", brief=Raw(b'{"a":1}'))
Scene = Callable[[LoopEngine], Awaitable[Any]]


def play(tmp_path: Path, runtime: Runtime, scene: Scene) -> Any:
    """Play a scene on a new engine with one queue."""

    async def main() -> Any:
        engine = LoopEngine(str(tmp_path / "s.db"), runtime, asyncio.get_running_loop())
        try:
            await engine.submit(define_queue, OWNER, DefineQueue(name="q"))
            answer = await scene(engine)
            counts = await engine.read(looks.counts, OWNER, AskCounts(recount=True))
            assert counts.agree
            return answer
        finally:
            engine.close()

    return asyncio.run(main())


def commits(world: World) -> int:
    """How many transactions were committed so far."""
    return world.reached.count("commit.written")
