"""What a commit is told as, to whoever waits for work or for an event."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tessera.names import EVENT_TYPES
from tessera.storage.port import News
from tessera.storage.prepared import Prepared


def news_of(
    queue_numbered: Prepared, ready: Iterable[int], events: Iterable[tuple[Any, ...]], foreign: bool
) -> News:
    """The news of what one transaction has gathered: queues by number, lines of the log as stored."""
    return News(
        ready=frozenset(queue_numbered.one({"queue": queue}).name for queue in ready),
        events=[(EVENT_TYPES[event[1]], event[3]) for event in events],
        foreign=foreign,
    )
