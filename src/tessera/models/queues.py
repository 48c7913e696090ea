"""Queues: settings in, settings out."""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from tessera import limits
from tessera.models.base import Answer, Model, Name


class QueueConfig(Answer, frozen=True):
    """A queue's settings. (Specification §4.)"""

    name: str
    heartbeat_seconds: int
    miss_limit: int
    lease_seconds: int
    max_attempts: int
    backoff_base_seconds: int
    backoff_cap_seconds: int
    weight: int
    paused: bool


Backoff = Annotated[int, Meta(ge=0, le=limits.BACKOFF_SECONDS_MAX)]


class DefineQueue(Model, frozen=True):
    """Settings to give a queue. One left out keeps its value, or gets the default on a new queue."""

    name: Name
    heartbeat_seconds: Annotated[int, Meta(ge=1, le=600)] | UnsetType = UNSET
    miss_limit: Annotated[int, Meta(ge=1, le=10)] | UnsetType = UNSET
    lease_seconds: Annotated[int, Meta(ge=1, le=3_600)] | UnsetType = UNSET
    max_attempts: Annotated[int, Meta(ge=1, le=20)] | UnsetType = UNSET
    backoff_base_seconds: Backoff | UnsetType = UNSET
    backoff_cap_seconds: Backoff | UnsetType = UNSET
    weight: Annotated[int, Meta(ge=1, le=limits.WEIGHT_MAX)] | UnsetType = UNSET
    paused: bool | UnsetType = UNSET


class QueueRef(Model, frozen=True):
    """Names a queue."""

    name: Name


class Queues(Answer, frozen=True):
    """A page of the queues, by name; `next` is the cursor of the page that follows, null at the end."""

    queues: list[QueueConfig]
    next: str | None
