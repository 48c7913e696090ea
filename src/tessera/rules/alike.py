"""Which claims look for the same tasks, and how many each may get. Pure."""

from __future__ import annotations

from tessera.models import Claim, ClaimBatch
from tessera.rules.grants import Caller


def looks(caller: Caller, ask: Claim) -> tuple[object, ...]:
    """What claims have in common that look at the same tasks."""
    return (
        caller.key_id, ask.queue, tuple(ask.queues or ()), tuple(ask.kinds or ()),
        tuple(ask.effect_classes or ()),
    )  # fmt: skip


def limit(ask: Claim) -> int:
    """How many tasks a claim may get."""
    return ask.limit if isinstance(ask, ClaimBatch) else 1
