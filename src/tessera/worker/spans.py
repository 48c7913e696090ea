"""A handler's work as a span of OpenTelemetry, for a worker's program that uses it. Loaded by nobody else."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from opentelemetry import trace
from opentelemetry.trace import Span, SpanKind
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from tessera.models import Lease
from tessera.names import VERSION


@contextmanager
def working(lease: Lease) -> Iterator[Span]:
    """From the claim to the end of the lease, in the trace that the task was enqueued in."""
    carrier = {} if lease.traceparent is None else {"traceparent": lease.traceparent}
    context = TraceContextTextMapPropagator().extract(carrier)
    tracer = trace.get_tracer("tessera", VERSION)
    with tracer.start_as_current_span("tessera.work", context=context, kind=SpanKind.CONSUMER) as span:
        for name in ("queue", "kind", "task_id"):
            span.set_attribute(f"tessera.{name}", getattr(lease, name))
        span.set_attribute("tessera.attempt", lease.attempts)
        yield span
