"""What the library's methods take by name where a model has the rules: a type checker and an editor know
these names, the model checks the values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict


class QueueSettings(TypedDict, total=False):
    """The settings of a queue. (Specification §4.)"""

    heartbeat_seconds: int
    miss_limit: int
    lease_seconds: int
    max_attempts: int
    backoff_base_seconds: int
    backoff_cap_seconds: int
    weight: int
    paused: bool


class TaskFields(TypedDict, total=False):
    """A task to enqueue; `queue`, `kind` and `brief` are always needed. (Specification §5.2.)"""

    queue: str
    kind: str
    brief: Mapping[str, Any]
    effect_class: str
    priority: int
    task_id: str | None
    depends_on: Sequence[str]
    delay_seconds: float
    traceparent: str | None


class LiteTaskFields(TypedDict, total=False):
    """A task for a workspace's agents; the first five are always needed. (Contract §8.)"""

    workspace_id: str
    queue_id: str
    title: str
    brief: str
    required_role_id: str
    input: Any
    required_capabilities: Sequence[str]
    priority: int
    task_id: str | None
    depends_on: Sequence[str]


class GrantFields(TypedDict, total=False):
    """What a key may do. (Specification §7.)"""

    queues: Sequence[str]
    kinds: Sequence[str]
    effect_classes: Sequence[str]
    scopes: Sequence[str]
    days: int
    workspace_id: str | None


class KeyFields(GrantFields, total=False):
    """A key to make."""

    name: str | None
    approval: str | None
