"""What an act is made of, and who carries it out.

An act is a generator. It yields steps and is sent what came of each: a verb's answer, the next bytes of the
request's body, a computation's result; a step that is refused is thrown into it. So it knows no engine, no
socket and no thread, and between two of its steps nobody waits for it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol, TypeVar

from msgspec import Struct

from tessera.limits import OUTSIDE_AT_ONCE
from tessera.rules.grants import Caller
from tessera.storage.port import Engine, Verb


class Run(Struct, frozen=True):
    """Run a verb in a transaction; its answer is durable."""

    verb: Verb
    ask: Any


class Look(Struct, frozen=True):
    """Run a verb that only reads."""

    verb: Verb
    ask: Any


class Work(Struct, frozen=True):
    """Compute something that would hold up an event loop; `outside` if it may wait some seconds for somebody
    outside of this machine.
    """

    compute: Callable[[], Any]
    outside: bool = False


class Take(Struct, frozen=True):
    """Take the body's next bytes, as many as come; none means its end."""


# Of their own, so that whoever waits for a network holds up no look; threads start when needed.
_OUTSIDE = ThreadPoolExecutor(OUTSIDE_AT_ONCE, thread_name_prefix="tessera-outside")

Answer = TypeVar("Answer")
Act = Generator[Run | Look | Work | Take, Any, Answer]


class AsyncEngine(Protocol):
    """An engine on an event loop: answers are awaited."""

    def submit(self, verb: Verb, *args: Any) -> Awaitable[Any]:
        """Run a verb in a transaction."""

    def read(self, look: Verb, *args: Any) -> Awaitable[Any]:
        """Run a verb that only reads."""

    def compute(self, work: Callable[[], Any]) -> Awaitable[Any]:
        """Compute something in a thread."""


def carry_out(act: Act[Answer], engine: Engine, caller: Caller, take: Callable[[], Any]) -> Answer:
    """Take an act's steps in this thread; `take` gives the body's next bytes. Returns its answer."""

    def outcome(step: Run | Look | Work | Take) -> Any:
        if isinstance(step, Run):
            return engine.submit(step.verb, caller, step.ask).result()
        if isinstance(step, Look):
            return engine.read(step.verb, caller, step.ask)
        return step.compute() if isinstance(step, Work) else take()

    try:
        step = next(act)
        while True:
            try:
                came = outcome(step)
            except Exception as error:
                step = act.throw(error)
            else:
                step = act.send(came)
    except StopIteration as end:
        answer: Answer = end.value
        return answer
    finally:
        act.close()


async def carry_out_on_loop(
    act: Act[Answer], engine: AsyncEngine, caller: Caller, take: Callable[[], Awaitable[Any]]
) -> Answer:
    """The same on an event loop. If the task is cancelled, what was staged is left to the sweep."""

    def outcome(step: Run | Look | Work | Take) -> Awaitable[Any]:
        if isinstance(step, Run):
            return engine.submit(step.verb, caller, step.ask)
        if isinstance(step, Look):
            return engine.read(step.verb, caller, step.ask)
        if isinstance(step, Take):
            return take()
        if step.outside:
            return asyncio.get_running_loop().run_in_executor(_OUTSIDE, step.compute)
        return engine.compute(step.compute)

    try:
        step = next(act)
        while True:
            try:
                came = await outcome(step)
            except Exception as error:
                step = act.throw(error)
            else:
                step = act.send(came)
    except StopIteration as end:
        answer: Answer = end.value
        return answer
    finally:
        act.close()
