"""What statements for the pages answer with."""

from __future__ import annotations

from tessera.rows.base import Row


class ParkedRow(Row, frozen=True):
    """A parked task on the list of those that somebody may answer."""

    task_id: str
    queue: str
    kind: str
    effect: int
    parks: int
    reason: str | None
    parked_at: int
    due: int | None


class Relative(Row, frozen=True):
    """A task of somebody's family; `place` is -2 for a parent, -1 for a dependency, 1 to 4 for descendants by
    generation, 9 for a dependent.
    """

    serial: int
    task_id: str
    queue: str
    kind: str
    state: int
    parent: int | None
    place: int


class EdgeRow(Row, frozen=True):
    """One task depends on another."""

    dependency: int
    dependent: int


class EventMark(Row, frozen=True):
    """A place in the log, and its instant."""

    seq: int
    at: int
