"""Traces: kept with the task from its enqueue to its submit, told to OpenTelemetry where that is wanted."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from service.running import Running, serving

import tessera
from tessera.names import HOW_TO_GET_OTEL

TRACE, OTHER = "0af7651916cd43dd8448eb211c80319c", "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT, SECOND = f"00-{TRACE}-b7ad6b7169203331-01", f"00-{OTHER}-00f067aa0ba902b7-01"


class Collector:
    """Whoever receives spans over OTLP."""

    def __init__(self) -> None:
        spans: list[Any] = []

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
                    spans.extend(span for scope in resource.scope_spans for span in scope.spans)
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self.spans = spans
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def env(self) -> dict[str, str]:
        """How a service or a worker is told of it."""
        url = f"http://127.0.0.1:{self.server.server_address[1]}"
        return {"TESSERA_TRACES": "on", "OTEL_EXPORTER_OTLP_ENDPOINT": url}

    def named(self, name: str) -> list[Any]:
        """The spans of a name, in the order of their start."""
        return sorted(
            (one for one in self.spans if one.name == name), key=lambda one: one.start_time_unix_nano
        )


@pytest.fixture
def collector() -> Iterator[Collector]:
    """A collector for one test."""
    made = Collector()
    yield made
    made.server.shutdown()
    made.server.server_close()


def said(span: Any) -> dict[str, Any]:
    """A span's attributes."""
    return {
        one.key: one.value.int_value if one.value.HasField("int_value") else one.value.string_value
        for one in span.attributes
    }


def in_trace(span: Any) -> str:
    """The trace that a span belongs to."""
    return str(span.trace_id.hex())


@contextmanager
def traced(folder: Path, collector: Collector) -> Iterator[Running]:
    """A service that tells the collector of everything by its end."""
    with serving(folder, **collector.env) as service:
        yield service
        assert service.stop() == 0


def enqueue(service: Running, trace: str | None = None, **fields: Any) -> str:
    """A task, in the trace of the request's header if there is one."""
    headers = {} if trace is None else {"traceparent": trace}
    reply = service.post("/v1/tasks", {"queue": "q", "kind": "k", "brief": {}, **fields}, headers=headers)
    assert reply.status == 201
    return str(reply.json["task_id"])


def test_a_task_keeps_its_trace(service: Running) -> None:
    """A task's trace is what it names, else what the request's header names; a malformed header counts as
    none. Every lease shows it, a heartbeat's answer too, and a second attempt's.
    """
    service.queue("q", backoff_base_seconds=0)
    for trace, fields in ((PARENT, {}), (SECOND, {"traceparent": PARENT}), ("nonsense", {}), (None, {})):
        task_id = enqueue(service, trace, **fields)
        lease = service.claim("q").json
        wanted = PARENT if fields or trace == PARENT else None
        assert (lease["task_id"], lease["traceparent"]) == (task_id, wanted)
        ask = {"task_id": task_id, "fencing_token": 1}
        assert service.post("/v1/tasks/heartbeat", ask).json["traceparent"] == wanted
        service.post("/v1/tasks/release", ask)
        assert service.claim("q").json["traceparent"] == wanted
        service.post("/v1/tasks/cancel", {"task_id": task_id, "reason": "done with"})


def test_children_and_requeued_tasks_are_of_the_same_trace(tmp_path: Path) -> None:
    """What comes of a task by split or requeue is in its trace."""
    with tessera.open(str(tmp_path / "s.db")) as store:
        store.define_queue("q", max_attempts=1)
        store.enqueue(queue="q", kind="k", brief={}, traceparent=PARENT)
        parent = store.claim("q", "w")
        assert parent is not None
        store.split(parent.task_id, parent.fencing_token, [{"brief": {}}])
        child = store.claim("q", "w")
        assert child is not None
        assert child.traceparent == PARENT
        store.submit(child.task_id, child.fencing_token, None, "a", ok=False, error="no")
        store.requeue(child.task_id)
        again = store.claim("q", "w")
        assert again is not None
        while again.task_id == parent.task_id:
            again = store.claim("q", "w")
            assert again is not None
        assert again.traceparent == PARENT


def test_a_call_over_mcp_names_its_trace(service: Running) -> None:
    """A task that is enqueued over MCP is of the trace in the call's `_meta`; a claim's result shows it."""
    service.queue("tools")
    with serving(service.store.parent, TESSERA_MCP_TOOLS="all") as own:
        task = {"queue": "tools", "kind": "k", "brief": {}}
        params = {"name": "enqueue", "arguments": task, "_meta": {"traceparent": PARENT}}
        assert not _tool(own, params)["isError"]
        lease = _tool(own, {"name": "claim", "arguments": {"queue": "tools", "worker": "w"}})
    assert lease["structuredContent"]["lease"]["traceparent"] == PARENT


def _tool(service: Running, params: dict[str, Any]) -> Any:
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    headers = {"accept": "application/json, text/event-stream", "mcp-protocol-version": "2025-11-25"}
    return service.post("/mcp", call, headers=headers).json["result"]


def test_one_trace_leads_from_enqueue_to_submit(tmp_path: Path, collector: Collector) -> None:
    """Every verb is a span with its outcome. The enqueue is a child of the request's trace and the task is
    of the enqueue; claim, heartbeat and submit link to the task's trace, and no span holds what was sent.
    """
    with traced(tmp_path, collector) as service:
        service.queue("q")
        task_id = enqueue(service, PARENT, brief={"secret": "brief-text"})
        lease = service.claim("q").json
        assert lease["traceparent"].split("-")[1] == TRACE
        ask = {"task_id": task_id, "fencing_token": 1, "output": "output-text"}
        service.post("/v1/tasks/submit", ask, headers={"idempotency-key": "k"})
        service.claim("q")
        service.claim("none")
        for path in ("/healthz", "/metrics", "/openapi.json", "/docs"):
            assert service.get(path).status == 200
    assert not any(span.name.startswith("GET") for span in collector.spans)
    (made,) = collector.named("tessera.enqueue")
    claimed, empty, unknown = collector.named("tessera.claim")
    (submitted,) = collector.named("tessera.submit")

    assert in_trace(made) == TRACE
    assert made.parent_span_id.hex() == "b7ad6b7169203331"
    assert lease["traceparent"] == f"00-{TRACE}-{made.span_id.hex()}-01"
    for span in (claimed, submitted):
        assert in_trace(span) != TRACE
        assert [link.trace_id.hex() for link in span.links] == [TRACE]
        assert said(span)["tessera.task_id"] == task_id
    assert [said(one)["tessera.outcome"] for one in (claimed, empty, unknown)] == ["ok", "empty", "not_found"]
    assert {said(one)["tessera.verb"] for one in (claimed, empty, unknown)} == {"claim"}
    assert said(claimed)["http.response.status_code"] == 200
    told = b"".join(span.SerializeToString() for span in collector.spans)
    assert not any(word in told for word in (b"brief-text", b"output-text", service.admin.encode()))


def test_a_collector_that_hangs_does_not_keep_the_service(tmp_path: Path) -> None:
    """A service ends in time although whoever should receive its spans takes the connection and says
    nothing.
    """
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with serving(tmp_path, TESSERA_TRACES="on", OTEL_EXPORTER_OTLP_ENDPOINT=url) as service:
            service.queue("q")
            assert service.stop(timeout=9) == 0  # a second for open connections, two for the spans


def test_a_tool_is_a_span_too(tmp_path: Path, collector: Collector) -> None:
    """A tool's call is a span of its verb, a child of the trace in its `_meta`."""
    with traced(tmp_path, collector) as service:
        service.queue("q")
        _tool(service, {"name": "queues", "arguments": {}, "_meta": {"traceparent": PARENT}})
    (span,) = collector.named("tessera.queues")
    assert in_trace(span) == TRACE
    assert said(span)["tessera.outcome"] == "ok"


WORKER = """
import sys, tessera
{setup}
worker = tessera.Worker("q", sys.argv[1])
@worker.handles()
def work(lease, context):
    context.store.enqueue(queue="later", kind="k", brief={{}})
    return {{}}
worker.run_once()
{end}
"""
SETUP = """
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
trace.set_tracer_provider(provider)
"""


@pytest.mark.parametrize("with_otel", [False, True])
def test_a_worker_passes_the_trace_on(tmp_path: Path, collector: Collector, with_otel: bool) -> None:
    """What a worker does for a task is in the task's trace, whether or not its program uses OpenTelemetry:
    the submit, and whatever its handler enqueues. If it does, the handler is a span of that trace; if it
    does not, nothing of OpenTelemetry is loaded.
    """
    end = "provider.shutdown()" if with_otel else "assert not any('opentelemetry' in m for m in sys.modules)"
    program = WORKER.format(setup=SETUP if with_otel else "", end=end)
    with traced(tmp_path, collector) as service:
        service.queue("q")
        service.queue("later")
        task_id = enqueue(service, PARENT)
        env = {**collector.env, "TESSERA_KEY": service.admin, "PATH": "/usr/bin:/bin"}
        url = f"http://127.0.0.1:{service.port}"
        subprocess.run([sys.executable, "-W", "error", "-c", program, url], env=env, check=True, timeout=60)
        later = service.claim("later").json
    (submitted,) = collector.named("tessera.submit")

    assert in_trace(submitted) == TRACE
    assert later["traceparent"].split("-")[1] == TRACE
    worked = collector.named("tessera.work")
    assert [in_trace(span) for span in worked] == [TRACE] * with_otel
    if with_otel:
        assert submitted.parent_span_id == worked[0].span_id
        assert said(worked[0])["tessera.task_id"] == task_id
        assert said(worked[0])["tessera.outcome"] == "done"


def test_what_is_not_asked_for_is_not_loaded(tmp_path: Path) -> None:
    """A service that does not trace loads nothing of OpenTelemetry; one that is told to trace without the
    extra does not start, and says what is missing.
    """
    telling = [sys.executable, "-X", "importtime", "-m", "tessera.cli.main", "serve"]
    with serving(tmp_path, program=telling) as service:
        service.queue("q")
        service.claim("q")
        loaded = service.log.read_text()
    assert "tessera.service.tracing" in loaded
    assert "opentelemetry" not in loaded
    program = (
        "import sys; sys.modules['opentelemetry'] = None\\n"
        "from tessera.cli.main import main; sys.argv[1:] = ['serve', '--port', '0']; main()"
    ).replace("\\n", "\n")
    env = {"TESSERA_TRACES": "on", "TESSERA_STORE": str(tmp_path / "other.db"), "PATH": "/usr/bin:/bin"}
    ran = subprocess.run(
        [sys.executable, "-c", program], env=env, capture_output=True, text=True, timeout=60, check=False
    )
    assert (ran.returncode, HOW_TO_GET_OTEL in ran.stderr) == (1, True)
    assert not (tmp_path / "other.db").exists()
