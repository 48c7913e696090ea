"""What every kind of endpoint does: say who it is, say whether it may be written to, write."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from tessera.wake import states
from tessera.wake.deliveries import Delivery
from tessera.wake.rows import MessageRow


@dataclass(frozen=True, slots=True)
class Standing:
    """Whether the endpoint is there: a state of `states.py`, and why it is not `live`."""

    state: str
    reason: str | None = None


HERE = Standing(states.LIVE)


@dataclass(frozen=True, slots=True)
class Result:
    """What came of a write: an outcome of `states.py`, and why it is not `written`."""

    outcome: str
    reason: str | None = None


class Gate(Protocol):
    """A writer's leave to go on; it asks before each step that the terminal sees."""

    async def typing(self) -> bool:
        """Store that text is about to be typed. False: the lease was lost, so it must not be."""
        ...

    async def typed(self) -> bool:
        """Store that the text stands there, and ask leave for the Enter."""
        ...

    def late(self) -> bool:
        """Whether the lease may be over before another step has ended."""
        ...


class Endpoint(Protocol):
    """One place."""

    async def identify(self) -> Standing:
        """Whether the thing that was registered is still the one that answers."""
        ...

    async def ready(self, message: MessageRow) -> str | None:
        """None, or why nothing may be typed now. Costs no attempt."""
        ...

    async def write(self, delivery: Delivery, gate: Gate) -> Result:
        """Type the wake and submit it, once."""
        ...
