"""Compare-and-set, for whatever keeps versions. Pure. (Specification §6.)"""

from __future__ import annotations

from tessera.errors import VersionConflict


def following(current: int | None, expected: int | None, what: str) -> int:
    """The version that a write makes, if the latest is the one that its writer expects; None expects that
    there is none. Otherwise `version_conflict` with the version that there is.
    """
    if current != expected:
        there = "does not exist" if current is None else f"is at version {current}"
        raise VersionConflict(f"the {what} {there}", current_version=current)
    return 1 if current is None else current + 1
