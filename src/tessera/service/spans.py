"""A service's verbs as spans of OpenTelemetry (extra `otel`). Loaded by a service that was told to trace, and
by no other. No span holds a key, a brief, an input, an output, an error or a reason.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from opentelemetry import trace
from opentelemetry.trace import Span, SpanKind, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from tessera.limits import LAST_SPANS_SECONDS
from tessera.models import Lease, Leases, Model
from tessera.names import VERSION
from tessera.traces import of_span

_W3C: Final = TraceContextTextMapPropagator()
_FAILED: Final = ("internal", "unavailable")  # outcomes that are the service's own failures


class Spans:
    """The tracer of one service."""

    def __init__(self) -> None:
        """Where spans go is said by OpenTelemetry's own variables, unless the program has set it up."""
        self._own = None
        if isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
            self._own = _exporting()
            trace.set_tracer_provider(self._own)
        self._tracer = trace.get_tracer("tessera", VERSION)

    @contextmanager
    def request(self, traceparent: str | None) -> Iterator[Span]:
        """A request, or a tool's call, from its start to its end; a child of what it says it belongs to."""
        carrier = {} if traceparent is None else {"traceparent": traceparent}
        with self._tracer.start_as_current_span(
            "request", context=_W3C.extract(carrier), kind=SpanKind.SERVER
        ) as span:
            yield span

    def here(self) -> str | None:
        """The context of the current span."""
        return of_span(trace.get_current_span())

    @staticmethod
    def traces_in(answer: Any) -> list[str]:
        """The traces of the tasks that an answer gives leases of."""
        leases = (
            answer.leases if isinstance(answer, Leases) else [answer] if isinstance(answer, Lease) else []
        )
        return [lease.traceparent for lease in leases if lease.traceparent is not None]

    def about(self, ask: Model, answer: Any, task_traces: list[str]) -> None:
        """Say of the current span what its verb was about, and link it to the traces of its tasks."""
        span = trace.get_current_span()
        for name in ("queue", "task_id"):
            value = getattr(ask, name, None) or getattr(answer, name, None)
            if isinstance(value, str):
                span.set_attribute(f"tessera.{name}", value)
        for traceparent in task_traces:
            link = trace.get_current_span(_W3C.extract({"traceparent": traceparent})).get_span_context()
            if link.is_valid:
                span.add_link(link)

    def came(self, verb: str | None, name: str, outcome: str, status: int | None = None) -> None:
        """Name the current span after its verb, or else as given, and say what it came to."""
        span = trace.get_current_span()
        span.update_name(name if verb is None else f"tessera.{verb}")
        if verb is not None:
            span.set_attribute("tessera.verb", verb)  # of one that was refused nothing else was told
        span.set_attribute("tessera.outcome", outcome)
        if status is not None:
            span.set_attribute("http.response.status_code", status)
        if outcome in _FAILED:
            span.set_status(StatusCode.ERROR)

    def close(self) -> None:
        """Send what is left, as far as whoever receives it takes it within LAST_SPANS_SECONDS.

        OpenTelemetry's own end takes up to half a minute with one that does not answer, and has no bound to
        set.
        """
        if self._own is not None:
            ending = threading.Thread(target=self._own.shutdown, name="tessera-last-spans", daemon=True)
            ending.start()
            ending.join(LAST_SPANS_SECONDS)


def _exporting() -> Any:
    """A provider that exports over OTLP, as its variables say."""
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import SERVICE_NAME, Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    named = "OTEL_SERVICE_NAME" in os.environ or SERVICE_NAME in os.environ.get(
        "OTEL_RESOURCE_ATTRIBUTES", ""
    )
    resource = Resource.create({} if named else {SERVICE_NAME: "tessera"})
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)  # `close` ends it, in bounded time
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return provider
