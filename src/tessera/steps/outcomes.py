"""A verb written for many callers gives each an answer, or a refusal as a value; to one it is raised."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tessera.errors import TesseraError


def refusal_or(decide: Callable[..., Any], *args: Any) -> Any:
    """What a decision comes to; a refusal as a value."""
    try:
        return decide(*args)
    except TesseraError as refusal:
        return refusal


def only(outcomes: Sequence[Any]) -> Any:
    """The only outcome; a refusal is raised."""
    (outcome,) = outcomes
    if isinstance(outcome, TesseraError):
        raise outcome
    return outcome
