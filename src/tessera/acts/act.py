"""What an act is made of, and who carries it out.

An act is a generator. It yields steps and is sent what came of each: a verb's answer, the next bytes of the
request's body, a computation's result; a step that is refused is thrown into it. So it knows no engine, no
socket, no clock and no thread, and between two of its steps nobody waits for it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from msgspec import Struct

from tessera.limits import OUTSIDE_AT_ONCE
from tessera.rules.grants import Caller
from tessera.storage.port import Engine, EngineOnLoop, Verb


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


class Rest(Struct, frozen=True):
    """Go on after so many seconds: something else has to happen first."""

    seconds: float


# Of their own, so that whoever waits for a network holds up no look; threads start when needed.
_OUTSIDE = ThreadPoolExecutor(OUTSIDE_AT_ONCE, thread_name_prefix="tessera-outside")

Step = Run | Look | Work | Take | Rest
Answer = TypeVar("Answer")
Act = Generator[Step, Any, Answer]


def carry_out(
    act: Act[Answer], engine: Engine, caller: Caller, take: Callable[[], Any] = bytes,
    rest: Callable[[float], None] | None = None,
) -> Answer:  # fmt: skip
    """Take an act's steps in this thread; `take` gives the body's next bytes, `rest` sleeps. Returns its
    answer.
    """

    def outcome(step: Step) -> Any:
        if isinstance(step, Run):
            return engine.submit(step.verb, caller, step.ask).result()
        if isinstance(step, Look):
            return engine.read(step.verb, caller, step.ask)
        if isinstance(step, Rest):
            assert rest is not None, "this act rests: say how"
            return rest(step.seconds)
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
    act: Act[Answer], engine: EngineOnLoop, caller: Caller, take: Callable[[], Awaitable[Any]] | None = None
) -> Answer:
    """The same on an event loop. If the task is cancelled, what was staged is left to the sweep."""

    def outcome(step: Step) -> Awaitable[Any]:
        if isinstance(step, Run):
            return engine.submit(step.verb, caller, step.ask)
        if isinstance(step, Look):
            return engine.read(step.verb, caller, step.ask)
        if isinstance(step, Rest):
            return asyncio.sleep(step.seconds)
        if isinstance(step, Take):
            assert take is not None, "this act takes bytes: say whose"
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
