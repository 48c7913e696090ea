"""Which trace work belongs to, as the library passes it on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from opentelemetry import trace
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags

import tessera
from tessera import traces
from tessera.library import Tessera
from tessera.models import Claim, Raw, TaskBatch, TaskSpec
from tessera.rules.tracing import of_tasks

GIVEN = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
OTHER = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00"
PLAIN = TaskSpec(queue="q", kind="k", brief=Raw(b"{}"))
NAMED = TaskSpec(queue="q", kind="k", brief=Raw(b"{}"), traceparent=OTHER)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Tessera]:
    """A store with one queue."""
    with tessera.open(str(tmp_path / "s.db")) as opened:
        opened.define_queue("q")
        yield opened


def claimed(store: Tessera) -> str | None:
    """The trace of the next task."""
    lease = store.claim("q", "w")
    assert lease is not None
    return lease.traceparent


def test_tasks_keep_the_trace_that_they_name() -> None:
    """A trace that came from outside is given to tasks that name none, alone or in a batch; nothing else
    changes, and without one nothing at all.
    """
    claim = Claim(worker="w", queue="q")
    batch = of_tasks(TaskBatch(tasks=[PLAIN, NAMED]), GIVEN)

    assert getattr(of_tasks(PLAIN, GIVEN), "traceparent", None) == GIVEN
    assert of_tasks(NAMED, GIVEN) is NAMED
    assert isinstance(batch, TaskBatch)
    assert [task.traceparent for task in batch.tasks] == [GIVEN, OTHER]
    assert of_tasks(claim, GIVEN) is claim
    assert of_tasks(PLAIN, None) is PLAIN


@pytest.mark.parametrize("text", [None, "", "00-0-0-0", GIVEN.upper(), f"{GIVEN}\n", f" {GIVEN}"])
def test_what_is_malformed_counts_as_none(text: str | None) -> None:
    """A trace context that is no W3C `traceparent` is nobody's."""
    assert traces.well_formed(text) is None
    assert traces.well_formed(GIVEN) == GIVEN


def test_the_library_passes_on_what_it_was_given(store: Tessera) -> None:
    """What is enqueued while work goes on in a trace is of that trace; before and after it is of none."""
    store.enqueue(queue="q", kind="k", brief={})
    with traces.carrying(GIVEN):
        store.enqueue(queue="q", kind="k", brief={})
        store.enqueue_batch([{"queue": "q", "kind": "k", "brief": {}, "traceparent": OTHER}])
    store.enqueue(queue="q", kind="k", brief={})

    assert [claimed(store) for _ in range(4)] == [None, GIVEN, OTHER, None]


def test_the_current_span_counts_more(store: Tessera) -> None:
    """In a program that uses OpenTelemetry the current span is the trace, whatever was given before."""
    context = SpanContext(0x1234, 0x56, is_remote=False, trace_flags=TraceFlags(1))
    with traces.carrying(GIVEN), trace.use_span(NonRecordingSpan(context)):
        store.enqueue(queue="q", kind="k", brief={})
    with traces.carrying(GIVEN):
        store.enqueue(queue="q", kind="k", brief={})

    assert [claimed(store) for _ in range(2)] == [f"00-{0x1234:032x}-{0x56:016x}-01", GIVEN]
