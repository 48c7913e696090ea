"""What a handler may answer instead of an output, and what it may raise to say more than "it failed"."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct


class Split(Struct, frozen=True):
    """Let these children be done first; the task comes back with their outputs on its lease."""

    children: Sequence[Mapping[str, Any]]


class Park(Struct, frozen=True):
    """Let the task wait for somebody's input, or for `resume_within` seconds. `input_schema` is a JSON Schema
    that the input must satisfy.
    """

    reason: str
    resume_within: float | None = None
    input_schema: Mapping[str, Any] | None = None


class Release(Struct, frozen=True):
    """Give the task back unharmed; nobody claims it before `delay_seconds` have passed."""

    delay_seconds: float = 0


Act = Split | Park | Release


class Stopped(Exception):
    """The worker was told to stop while a handler was at work. Raised on, it gives the task back unharmed."""


class Failed(Exception):
    """For a handler to raise: the attempt failed, and its error text is to be exactly this one's."""


class Unfit(Exception):
    """For a handler to raise: this machine cannot do the work, and trying others would help nobody. The task
    is given back unharmed, and the worker ends with this exception.
    """
