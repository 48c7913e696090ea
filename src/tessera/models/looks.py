"""Looks: counts, health, the log."""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from tessera import limits
from tessera.models.base import Answer, Document, Model


class QueueCounts(Answer, frozen=True):
    """How many tasks of a queue are in each state."""

    ready: int = 0
    leased: int = 0
    waiting: int = 0
    done: int = 0
    dead: int = 0
    cancelled: int = 0


class AskCounts(Model, frozen=True):
    """Whether to count the tasks themselves beside reading the counts."""

    recount: bool = False


class Counts(Answer, frozen=True):
    """Every queue's counts. With a recount, also that, and whether the two agree."""

    as_of: str
    queues: dict[str, QueueCounts]
    recount: dict[str, QueueCounts] | UnsetType = UNSET
    agree: bool | UnsetType = UNSET


class QueueHealth(Answer, frozen=True):
    """A queue's counts, and what is late in it."""

    ready: int
    leased: int
    waiting: int
    done: int
    dead: int
    cancelled: int
    oldest_ready_age_seconds: float | None
    expired_leases: int


class Health(Answer, frozen=True):
    """Whether the store answers, and what waits in it."""

    db_ok: bool
    version: str
    time: str
    reaper_last_run: str | None
    queues: dict[str, QueueHealth]


class ListEvents(Model, frozen=True):
    """A page of the log after a given `seq`."""

    after: Annotated[int, Meta(ge=0, le=limits.INTEGER_MAX)] = 0
    limit: Annotated[int, Meta(ge=1, le=limits.EVENTS_PAGE_MAX)] = limits.PAGE_DEFAULT
    follow: bool = False  # a service goes on telling, as server-sent events; a store at hand does not


class Event(Answer, frozen=True):
    """One line of the log. `data` never holds a brief, an input, an output, an error or a reason."""

    seq: int
    at: str
    type: str
    queue: str | None
    task_id: str | None
    worker: str | None
    fencing_token: int | None
    key_id: str | None
    data: Document


class Events(Answer, frozen=True):
    """A page of the log."""

    events: list[Event]
