"""Ctrl-C wherever the interpreter lets it in: whoever stands in line with the interrupted thread goes on."""

from __future__ import annotations

import dis
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from tessera.errors import Unavailable
from tessera.models import AskCounts, DefineQueue, Raw, TaskSpec
from tessera.rules.grants import OWNER
from tessera.runtime import real_runtime
from tessera.storage import direct, meeting, readers
from tessera.storage.direct import DirectEngine
from tessera.verbs import looks
from tessera.verbs.define_queue import define_queue
from tessera.verbs.enqueue import enqueue

SPEC = TaskSpec(queue="q", kind="k", brief=Raw(b"{}"))
# A signal's handler runs behind these: when a function begins, a call has returned, a loop goes back.
LETS_IN = frozenset({"RESUME", "CALL", "CALL_FUNCTION_EX", "JUMP_BACKWARD"})
PATIENCE = 10.0


class Interrupt:
    """Raises KeyboardInterrupt at the nth place where one could come in some modules' code."""

    def __init__(self, *modules: Any, place: int) -> None:
        self._files = {module.__file__ for module in modules}
        self._before: dict[int, str] = {}  # each frame's last instruction
        self._left = place

    @property
    def came(self) -> bool:
        """Whether there were so many places."""
        return self._left <= 0

    def trace(self, frame: FrameType, event: str, arg: object) -> Any:
        """What `sys.settrace` calls."""
        if event == "call":
            frame.f_trace_opcodes = frame.f_code.co_filename in self._files
            return self.trace if frame.f_trace_opcodes else None
        if event == "opcode":
            last = self._before.get(id(frame))
            self._before[id(frame)] = dis.opname[frame.f_code.co_code[frame.f_lasti]]
            if last is not None and (last in LETS_IN or "JUMP_BACKWARD" in last):
                self._left -= 1
                if self._left == 0:
                    raise KeyboardInterrupt
        elif event == "return":
            self._before.pop(id(frame), None)
        return self.trace


@contextmanager
def traced(interrupt: Interrupt) -> Iterator[None]:
    """This thread runs under it; an interrupt ends the block."""
    before = sys.gettrace()
    sys.settrace(interrupt.trace)
    try:
        yield
    except KeyboardInterrupt:
        pass
    finally:
        sys.settrace(before)


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[DirectEngine]:
    """An engine with one queue."""
    engine = DirectEngine(str(tmp_path / "s.db"), real_runtime())
    engine.submit(define_queue, OWNER, DefineQueue(name="q")).result()
    yield engine
    engine.close()


class Round:
    """Three threads meet while a fourth leads: first the one that is interrupted, then two that enqueue."""

    def __init__(self, engine: DirectEngine) -> None:
        self._engine = engine
        self._started, self._go_on = threading.Event(), threading.Event()
        self.outcomes: list[Any] = []

    def play(self, interrupt: Interrupt) -> None:
        """All of it; fails if anybody is left waiting."""
        others = [threading.Thread(target=self._enqueue, daemon=True) for _ in range(2)]
        helpers = [
            threading.Thread(target=self._engine.submit, args=(self._lead,), daemon=True),
            threading.Thread(target=self._let_come, args=(others,), daemon=True),
        ]
        helpers[0].start()
        self._started.wait(PATIENCE)
        helpers[1].start()
        with traced(interrupt):
            self._engine.submit(_nothing)
        if not self._go_on.is_set():  # interrupted before it stood in line: then another one stands there
            threading.Thread(target=self._engine.submit, args=(_nothing,), daemon=True).start()
        for thread in [*helpers, *others]:
            thread.join(PATIENCE)
            assert not thread.is_alive(), "somebody waits for ever"

    def _lead(self, tx: Any, runtime: Any) -> None:
        self._started.set()
        self._go_on.wait(PATIENCE)

    def _let_come(self, others: list[threading.Thread]) -> None:
        self._until_in_line(1)
        for thread in others:
            thread.start()
        self._until_in_line(3)
        self._go_on.set()

    def _until_in_line(self, number: int) -> None:
        pause = threading.Event()
        for _ in range(int(PATIENCE / 0.0002)):
            if len(self._engine._meeting) >= number:
                return
            pause.wait(0.0002)

    def _enqueue(self) -> None:
        try:
            self.outcomes.append(self._engine.submit(enqueue, OWNER, SPEC).result())
        except Unavailable as refusal:
            self.outcomes.append(refusal)


def _nothing(tx: Any, runtime: Any) -> None:
    """A verb."""


def test_whoever_leads_is_interrupted(engine: DirectEngine) -> None:
    """Wherever an interrupt meets the thread that works for others, these are answered or told that nothing
    was done for them, whoever comes next is served, and counts agree.
    """
    ready, place, came = 0, 0, True
    while came:
        place += 1
        round_, interrupt = Round(engine), Interrupt(direct, meeting, place=place)
        round_.play(interrupt)
        came = interrupt.came
        refusals = [one for one in round_.outcomes if isinstance(one, Unavailable)]
        counts = engine.read(looks.counts, OWNER, AskCounts(recount=True))
        assert counts.agree
        least = ready + 2 - len(refusals)
        ready = counts.queues["q"].ready
        assert least <= ready <= least + sum(not refusal.definite for refusal in refusals)
    assert place > 50


def test_whoever_looks_is_interrupted(engine: DirectEngine) -> None:
    """Wherever an interrupt meets a look, the next looks are answered."""
    place, came = 0, True
    while came:
        place += 1
        interrupt = Interrupt(readers, place=place)
        with traced(interrupt):
            engine.read(looks.counts, OWNER, AskCounts())
        came = interrupt.came
        assert engine.read(looks.counts, OWNER, AskCounts(recount=True)).agree, f"at place {place}"
    assert place > 10
