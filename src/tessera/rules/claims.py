"""Who may win what. Pure: roles and capabilities in, an answer out. (Contract §8.)"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final, Literal

RESERVED, CLAIMED, MISSED, VOID = range(4)
CLAIM_STATES: Final = ("reserved", "claimed", "missed", "void")


def eligible_roles(assigned: Collection[str], asked: Sequence[str] | None) -> frozenset[str]:
    """The roles that an agent claims in: those it has, of those that it asks for, left out all."""
    return frozenset(assigned) if asked is None else frozenset(assigned) & frozenset(asked)


def meets(
    role_id: str, needed: Collection[str], roles: Collection[str], capabilities: Collection[str]
) -> Literal["role_not_assigned", "missing_capability"] | None:
    """What an agent lacks for a task; None: nothing."""
    if role_id not in roles:
        return "role_not_assigned"
    return None if set(needed) <= set(capabilities) else "missing_capability"
