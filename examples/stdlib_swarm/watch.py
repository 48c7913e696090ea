"""What happens in the store, seen from outside: counts, who holds what, and the turns of the story."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Final

from examples.stdlib_swarm.swarm import Swarm
from tessera.library import Tessera
from tessera.models import Event, QueueCounts, TaskView

PAGE: Final = 10_000  # events a look reads at most
STALL_SECONDS: Final = 120  # twice the longest lease


@dataclass(frozen=True, slots=True)
class Look:
    """One glance at the store."""

    seconds: float
    expected: int
    queues: dict[str, QueueCounts]
    doing: dict[str, str]  # worker -> what it has a lease on
    news: list[str]  # what has happened since the last look

    @property
    def done(self) -> int:
        """How many tasks are done."""
        return sum(counts.done for counts in self.queues.values())

    @property
    def unfinished(self) -> int:
        """How many tasks have not ended."""
        return sum(counts.ready + counts.leased + counts.waiting for counts in self.queues.values())


class Stalled(Exception):
    """The counts have stood still for so long that something must be wrong."""


class Watcher:
    """Looks at the store again and again, and tells what is worth telling from its log."""

    def __init__(self, owner: Tessera, swarm: Swarm, expected: int) -> None:
        self._owner = owner
        self._swarm = swarm
        self._expected = expected
        self._start = time.monotonic()
        self._seq = 0
        self._lapsed: set[str] = set()
        self._notes: list[str] = []
        # When the counts last changed, and to what.
        self._moved: tuple[float, dict[str, QueueCounts]] = (0.0, {})

    def look(self) -> Look:
        """What the store says now."""
        leased = {task.worker: label(task) for task in self._owner.tasks(state="leased").tasks}
        look = Look(
            seconds=time.monotonic() - self._start,
            expected=self._expected,
            queues=self._owner.counts().queues,
            doing={worker: leased.get(worker, "") for worker in self._swarm.workers},
            news=self._news(),
        )
        self._refuse_standstill(look)
        return look

    def note(self, sentence: str) -> None:
        """Have the next look tell something that the store cannot know."""
        self._notes.append(sentence)

    def _refuse_standstill(self, look: Look) -> None:
        since, queues = self._moved
        if look.queues != queues:
            self._moved = look.seconds, look.queues
        elif look.seconds - since > STALL_SECONDS:
            raise Stalled(f"nothing has moved for {STALL_SECONDS} s")

    def _news(self) -> list[str]:
        notes, self._notes = self._notes, []
        events = self._owner.events(after=self._seq, limit=PAGE)
        self._seq = events[-1].seq if events else self._seq
        return notes + [sentence for event in events if (sentence := self._sentence(event))]

    def _sentence(self, event: Event) -> str:
        """The log tells of everything; these are the turns of the story."""
        match event.type:
            case "submitted" if not event.data["ok"]:
                return f"{event.worker} failed at {self._label(event)}; it will be tried again"
            case "parked":
                return f"{self._label(event)} is parked: it waits for the reviewer"
            case "resumed":
                return f"the reviewer has answered; {self._label(event)} goes on"
            case "lease_lapsed":
                self._lapsed.add(event.task_id or "")
                return (
                    f"the lease of {event.worker} on {self._label(event)} lapsed, token {event.fencing_token}"
                )
            case "claimed" if event.task_id in self._lapsed:
                return f"{event.worker} takes {self._label(event)} over, token {event.fencing_token}"
            case "dead_lettered":
                return f"{self._label(event)} is given up"
            case _:
                return ""

    def _label(self, event: Event) -> str:
        assert event.task_id is not None
        return label(self._owner.task(event.task_id))


def label(task: TaskView) -> str:
    """A task in a word or two."""
    match task.kind:
        case "file":
            return str(task.brief["file"])
        case "imports":
            return f"imports of {task.brief['package']}"
        case "package":
            return f"package {task.brief['package']}"
        case kind:
            return kind
