"""Figures of what runs beside a service, for its `/metrics`: the wakes of this user, where there are some."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from tessera.service.metrics import Gauge
from tessera.wake import Client, WakeError
from tessera.wake.folders import socket_path

PATIENCE_SECONDS = 0.5  # with a service of wakes that hangs: whoever reads figures waits for it


def of_wakes() -> Iterator[Gauge]:
    """What the wake service counts: nothing where none has ever run, only that it is down where one has."""
    path = socket_path()
    if not path.exists():
        return
    stats: dict[str, Any] = {}
    with suppress(WakeError):
        stats = Client(path, seconds=PATIENCE_SECONDS).call("stats")
    yield Gauge("tessera_wake_up", "Whether the wake service answers.", [({}, float(bool(stats)))])
    if stats:
        yield _by("tessera_wake_messages", "Wakes by state.", "state", stats["by_state"])
        yield _by("tessera_wake_endpoints", "Endpoints by state.", "state", stats["endpoints"])
        yield _by("tessera_wake_deferred", "Wakes that wait, by why.", "reason", stats["deferred"])
        says = "Attempts of the last hour, by what they came to."
        yield _by("tessera_wake_attempts_last_hour", says, "outcome", stats["attempts_1h"])
        oldest = (stats["oldest_pending_ms"] or 0) / 1_000
        says = "Age of the oldest wake that has not been delivered."
        yield Gauge("tessera_wake_oldest_pending_seconds", says, [({}, oldest)])


def _by(name: str, says: str, label: str, counted: dict[str, int]) -> Gauge:
    return Gauge(name, says, [({label: value}, number) for value, number in sorted(counted.items())])
