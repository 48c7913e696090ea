"""What the service counts of its own work, where the work is done. A few hundred nanoseconds a verb: whoever
reads the figures pays for putting them in shape (`exposition.py`).
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any, Final

from msgspec import Struct

from tessera.limits import SECOND_US
from tessera.models import Empty
from tessera.rules.histograms import Histogram

OK, EMPTY, GONE = "ok", "empty", "gone"  # outcomes beside the codes of refusals
VERB_BOUNDS_US: Final = tuple(
    int(seconds * SECOND_US)
    for seconds in (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
)


class Gauge(Struct, frozen=True):
    """What something that runs beside the service stands at, by labels, for its `/metrics`."""

    name: str  # in Prometheus's form, with its unit last
    says: str
    values: list[tuple[dict[str, str], float]]


def outcome_of(answer: Any) -> str:
    """What a verb that was not refused came to."""
    return EMPTY if isinstance(answer, Empty) else OK


class Metrics:
    """Counters of one service."""

    def __init__(self) -> None:
        self.outcomes: dict[tuple[str, str], int] = defaultdict(int)  # calls, by verb and outcome
        self.verbs: dict[str, Histogram] = {}  # microseconds in the engine, by verb
        self.answers: dict[int, int] = defaultdict(int)  # HTTP answers, by status; 0: nobody was there

    def took(self, verb: str, us: int) -> None:
        """A verb has come back from the engine after so many microseconds, the disk's among them."""
        histogram = self.verbs.get(verb)
        if histogram is None:
            histogram = self.verbs[verb] = Histogram(VERB_BOUNDS_US)
        histogram.add(us)

    def came(self, verb: str, outcome: str) -> None:
        """A call of a verb, by whichever door, has come to this."""
        self.outcomes[verb, outcome] += 1

    def answered(self, status: int) -> None:
        """A request has been answered."""
        self.answers[status] += 1
