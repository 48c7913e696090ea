"""Trace contexts (W3C): which one work belongs to, as it is passed on from program to program.

OpenTelemetry is never loaded here. Whoever has loaded it has a current span, and that is the context; else it
is the one that was given with the work.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

from tessera.names import TRACEPARENT_PATTERN

_FORM: Final = re.compile(TRACEPARENT_PATTERN)
_given: ContextVar[str | None] = ContextVar("tessera_traceparent", default=None)


def current() -> str | None:
    """The context that this program works in now, as a `traceparent`; None without one."""
    opentelemetry = sys.modules.get("opentelemetry.trace")
    if opentelemetry is not None:
        found = of_span(opentelemetry.get_current_span())
        if found is not None:
            return found
    return _given.get()


def of_span(span: Any) -> str | None:
    """The context of an OpenTelemetry span; None if it is no real one."""
    context = span.get_span_context()
    if not context.is_valid:
        return None
    return f"00-{context.trace_id:032x}-{context.span_id:016x}-{int(context.trace_flags):02x}"


def well_formed(traceparent: str | None) -> str | None:
    """A context that came from outside. One that is malformed counts as none: a trace is no reason to refuse
    work.
    """
    return traceparent if traceparent is not None and _FORM.match(traceparent) else None


@contextmanager
def carrying(traceparent: str | None) -> Iterator[None]:
    """Work in a context that was given with the work."""
    token = _given.set(traceparent)
    try:
        yield
    finally:
        _given.reset(token)
