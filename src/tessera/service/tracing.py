"""Whether a service traces, and what its spans are told. OpenTelemetry itself is met in `spans.py`, which
only a service that traces loads.
"""

from __future__ import annotations

from contextlib import suppress
from importlib import import_module
from typing import Any, Final

from tessera.errors import InvalidRequest, TesseraError
from tessera.models import Model
from tessera.names import HOW_TO_GET_OTEL
from tessera.service.own import HEALTHZ, METRICS, OPENAPI
from tessera.service.requests import Headers
from tessera.service.routes import Target
from tessera.settings import Settings
from tessera.steps import briefs
from tessera.storage.port import EngineOnLoop
from tessera.traces import well_formed

UNTRACED: Final = (HEALTHZ, METRICS, OPENAPI, "/docs", "/pages/")


def spans_of(settings: Settings) -> Any:
    """The service's `Spans`, or None if it does not trace. Refuses with `invalid_request` to trace without
    the extra.
    """
    if settings.traces == "off":
        return None
    try:
        return import_module("tessera.service.spans").Spans()
    except ImportError as error:
        raise InvalidRequest(f"TESSERA_TRACES: OpenTelemetry is missing: {HOW_TO_GET_OTEL}") from error


def is_traced(path: str) -> bool:
    """Whether a request for this path is a span: not one of a probe, or for what never changes."""
    return not path.startswith(UNTRACED)


def traceparent_of(headers: Headers) -> str | None:
    """The trace that a request says it belongs to."""
    value = headers.last(b"traceparent")
    return None if value is None else well_formed(value.decode("latin-1"))


async def tell(spans: Any, engine: EngineOnLoop, target: Target, ask: Model, answer: Any) -> None:
    """Tell the current span what its verb was about, with links to the traces of the tasks."""
    found: list[str] = spans.traces_in(answer)
    task_id = getattr(ask, "task_id", None)
    if not found and task_id is not None and not target.row.reads:
        with suppress(TesseraError):  # the verb is done: a store that closes now takes a link, not an answer
            trace = await engine.read(briefs.trace_of, task_id)
            found = [] if trace is None else [trace]
    spans.about(ask, answer, found)
