"""The leases of a task, as its events tell of them. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from tessera.models import Event

_WITHIN: Final = frozenset({"heartbeat", "job_registered", "job_updated", "jobs_cancel_requested"})


class ToldLease(Struct, frozen=True):
    """One lease: who had it, from when, and how it ended; no end while it lives or beyond what was read."""

    fencing_token: int
    worker: str | None
    key_id: str | None
    claimed_at: str
    heartbeats: int = 0
    ended_at: str | None = None
    ended_by: str | None = None


def leases_of(events: Sequence[Event]) -> list[ToldLease]:
    """The leases that a stretch of a task's events tells of, in their order."""
    leases: dict[int, ToldLease] = {}
    for event in events:
        token = event.fencing_token
        if token is None:
            continue
        if event.type == "claimed":
            leases[token] = ToldLease(token, event.worker, event.key_id, event.at)
        elif (lease := leases.get(token)) is not None and lease.ended_at is None:
            if event.type == "heartbeat":
                leases[token] = replace(lease, heartbeats=lease.heartbeats + 1)
            elif event.type not in _WITHIN:
                leases[token] = replace(lease, ended_at=event.at, ended_by=event.type)
    return list(leases.values())
