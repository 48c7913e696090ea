"""The figures: who may read them, what they tell, and that they agree with the doctor."""

from __future__ import annotations

import dataclasses
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from lite.workshop import furnish
from msgspec import Struct
from prometheus_client.parser import text_string_to_metric_families
from service.running import Running, reply_on, serving

import tessera
from tessera import testing
from tessera.limits import SECOND_US
from tessera.models import Diagnosis, FileFigures, LateQueue, TimeFigures
from tessera.runtime import real_runtime

Figures = dict[tuple[str, frozenset[tuple[str, str]]], float]


def figures_of(text: str) -> Figures:
    """Every sample of a page, by name and labels."""
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def figures(service: Running) -> Figures:
    """What an admin reads."""
    reply = service.get("/metrics")
    assert reply.status == 200
    assert reply.headers["content-type"].startswith("text/plain")
    return figures_of(reply.body.decode())


def at(found: Figures, name: str, **labels: str) -> float:
    """One figure."""
    return found[name, frozenset(labels.items())]


@contextmanager
def open_to_this_machine(folder: Path, **env: str) -> Iterator[tuple[Running, str]]:
    """A service, and where its figures are to be had without a key."""
    with serving(folder, TESSERA_METRICS_PORT="0", **env) as service:
        service.get("/healthz")
        found = re.search(r"figures at (http://127\.0\.0\.1:\d+/metrics)", service.log.read_text())
        assert found is not None
        yield service, found[1]


def test_who_may_read_them(service: Running) -> None:
    """An admin's key may, under GET and HEAD; another key may not, nor nobody, nor a key in the query."""
    assert service.get("/metrics", key=None).code == "unauthorized"
    assert service.get("/metrics", key=service.key(scopes=["store"])).code == "scope_denied"
    assert service.get(f"/metrics?key={service.admin}", key=None).code == "unauthorized"
    assert service.post("/metrics", {}).code == "method_not_allowed"
    head = service.call("HEAD", "/metrics")
    assert (head.status, head.body) == (200, b"")
    assert b"tessera_build_info" in service.get("/metrics").body


def test_the_edge_comes_first(tmp_path: Path) -> None:
    """Behind an edge the figures, unlike health, are for requests that come by it."""
    with serving(tmp_path, TESSERA_EDGE_SECRET="edge-secret") as own:
        assert own.get("/healthz").status == 200
        assert own.get("/metrics").code == "forbidden"
        assert own.get("/metrics", headers={"x-edge-auth": "edge-secret"}).status == 200


def test_a_port_of_this_machine_needs_no_key(tmp_path: Path) -> None:
    """With TESSERA_METRICS_PORT there are figures on a port of 127.0.0.1, and nothing else there; a page
    whose name was made to point at this machine gets none.
    """
    with open_to_this_machine(tmp_path) as (service, url):
        service.queue("q")
        assert at(figures_of(httpx.get(url).text), "tessera_tasks", queue="q", state="ready") == 0
        assert httpx.get(url.replace("/metrics", "/v1/queues")).status_code == 404
        assert httpx.get(url, headers={"host": "rebound.example"}).status_code == 404
        assert httpx.post(url).status_code == 405
        with socket.create_connection((url.split("/")[2].partition(":")[0], httpx.URL(url).port)) as bare:
            bare.sendall(b"nothing\r\n\r\n")
            assert reply_on(bare).code == "invalid_request"
        assert service.stop(signal.SIGTERM) == 0


def test_workspaces_are_for_admins(tmp_path: Path) -> None:
    """The port that needs no key knows of no workspace's queue; an admin's key shows it."""
    with open_to_this_machine(tmp_path) as (service, url):
        service.queue("plain")
        with tessera.open(str(service.store)) as store:
            furnish(store, "ws_a", "drafts")
        anybody = httpx.get(url).text
        assert 'queue="plain"' in anybody
        assert "drafts" not in anybody
        assert at(figures(service), "tessera_tasks", queue="drafts", state="ready") == 0


def test_they_tell_what_has_happened(own: Running) -> None:
    """Calls by verb and outcome, tasks by state, the age of the oldest, commits and syncs, what waits: each
    figure is what was done.
    """
    own.queue("q")
    own.queue("empty")
    tasks = [own.enqueue("q") for _ in range(3)]
    own.claim("q")
    own.post("/v1/tasks/submit", {"task_id": tasks[0], "fencing_token": 1}, headers={"idempotency-key": "a"})
    own.post("/v1/tasks/heartbeat", {"task_id": tasks[1], "fencing_token": 1})
    own.claim("empty")
    own.claim("none")
    own.post("/v1/tasks/claim", {"queue": 5})
    found = figures(own)

    def outcomes(verb: str) -> dict[str, float]:
        return {
            dict(labels)["outcome"]: value
            for (name, labels), value in found.items()
            if name == "tessera_verbs_total" and ("verb", verb) in labels and value
        }

    assert outcomes("enqueue") == {"ok": 3}
    assert outcomes("claim") == {"ok": 1, "empty": 1, "not_found": 1, "invalid_request": 1}
    assert outcomes("submit") == {"ok": 1}
    assert outcomes("heartbeat") == {"stale_lease": 1}
    assert at(found, "tessera_verb_seconds_count", verb="claim") == 3  # one never came to the engine
    assert at(found, "tessera_verb_seconds_bucket", verb="claim", le="+Inf") == 3
    assert 0 < at(found, "tessera_verb_seconds_sum", verb="claim") < 5
    states = {state: at(found, "tessera_tasks", queue="q", state=state) for state in ("ready", "done")}
    assert states == {"ready": 2, "done": 1}
    assert 0 < at(found, "tessera_oldest_ready_seconds", queue="q") < 60
    assert at(found, "tessera_http_answers_total", status="400") == 1
    assert at(found, "tessera_commit_verbs_sum") >= 8
    assert at(found, "tessera_sync_seconds_count") >= 5
    assert at(found, "tessera_claims_limit") == 24
    assert at(found, "tessera_claims_running") == at(found, "tessera_waiting") == 0
    assert at(found, "tessera_build_info", version=tessera.__version__) == 1
    assert at(found, "process_resident_memory_bytes") > 1 << 20


def test_tools_count_as_verbs(service: Running) -> None:
    """A verb that is called over MCP counts under its name like one over HTTP."""
    before = figures(service)
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "queues", "arguments": {}}}
    headers = {"accept": "application/json, text/event-stream", "mcp-protocol-version": "2025-11-25"}
    assert service.post("/mcp", call, headers=headers).status == 200
    labels = {"verb": "queues", "outcome": "ok"}
    key = ("tessera_verbs_total", frozenset(labels.items()))
    assert figures(service)[key] == before.get(key, 0) + 1


# Every figure of a diagnosis, by the name that it has on the page.
SHARED: dict[type[Struct], dict[str, str]] = {
    FileFigures: {"wal_bytes": "tessera_wal_bytes", "disk_free_bytes": "tessera_disk_free_bytes"},
    TimeFigures: {
        "clock_behind_seconds": "tessera_clock_behind_seconds",
        "reaped_seconds_ago": "tessera_reaped_ago_seconds",
        "late": "",  # a LateQueue of each queue
    },
    LateQueue: {
        "expired_leases": "tessera_expired_leases",
        "overdue_tasks": "tessera_overdue_tasks",
        "late_seconds": "tessera_late_seconds",
    },
}


def told_by(doctor: Diagnosis) -> Figures:
    """The figures of a diagnosis, as the page would have them."""
    assert doctor.times is not None
    told = [(one, {}) for one in (doctor.files, doctor.times) if one is not None]
    told += [(one, {"queue": queue}) for queue, one in doctor.times.late.items()]
    return {
        (name, frozenset(labels.items())): getattr(one, field)
        for one, labels in told
        for field, name in SHARED[type(one)].items()
        if name
    }


def test_the_doctor_agrees(tmp_path: Path) -> None:
    """Every figure that `tessera doctor` tells is on the page and the same there: what time alone changes
    lies between a diagnosis before and one after, all else is equal. A queue that the doctor does not name
    has nothing overdue there either.
    """
    assert all(set(names) == set(kind.__struct_fields__) for kind, names in SHARED.items())
    real = real_runtime()
    past = dataclasses.replace(real, now_us=lambda: real.now_us() - 100 * SECOND_US)
    with tessera.open(str(tmp_path / "store.db"), runtime=past) as store:
        store.define_queue("late", heartbeat_seconds=10, miss_limit=1)
        store.define_queue("well")
        for delay in (0, 0, 50):
            store.enqueue(queue="late", kind="k", brief={}, delay_seconds=delay)
        assert store.claim("late", "w")
        assert store.claim("late", "w")
        store.reap()
    with serving(tmp_path, TESSERA_REAP_SECONDS="60") as own:
        own.queue("busy")  # so that there is a log
        before = told_by(tessera.doctor(str(own.store)))
        found = figures(own)
        after = told_by(tessera.doctor(str(own.store)))

    assert at(before, "tessera_expired_leases", queue="late") == 2
    assert at(before, "tessera_overdue_tasks", queue="late") == 1
    assert at(before, "tessera_wal_bytes") > 0
    assert len(before) == 7
    for (name, labels), was in before.items():
        least, most = sorted((was, after[name, labels]))
        room = 1 << 30 if name == "tessera_disk_free_bytes" else 0  # others write to the disk too
        assert least - room <= found[name, labels] <= most + room, name
    for name in SHARED[LateQueue].values():
        assert at(found, name, queue="well") == 0


def test_a_store_on_postgresql_has_figures_too(dsn: str) -> None:
    """Of a store on PostgreSQL there is everything but what a file has."""
    with tessera.open(dsn) as store, testing.serving(dsn) as service:
        store.define_queue("q")
        headers = {"authorization": f"Bearer {store.issue_key(scopes=['admin']).key}"}
        task = {"queue": "q", "kind": "k", "brief": {}}
        assert httpx.post(f"{service.url}/v1/tasks", json=task, headers=headers).status_code == 201
        found = figures_of(httpx.get(f"{service.url}/metrics", headers=headers).text)

    assert at(found, "tessera_tasks", queue="q", state="ready") == 1
    assert at(found, "tessera_verbs_total", verb="enqueue", outcome="ok") == 1
    assert at(found, "tessera_commit_verbs_sum") >= 1
    assert at(found, "tessera_sync_seconds_count") >= 1
    assert at(found, "tessera_sync_seconds_sum") > 0
    assert at(found, "tessera_expired_leases", queue="q") == 0
    assert ("tessera_wal_bytes", frozenset()) not in found


def test_what_alerts_count_is_there_from_the_start(tmp_path: Path) -> None:
    """A counter that an alert watches is at 0 before anything has happened, so that its first rise is seen;
    and of every queue it is told whether it is paused.
    """
    with serving(tmp_path) as own:
        own.queue("paused", paused=True)
        own.queue("open")
        found = figures(own)
    for why in ("quota", "full", "late"):
        assert at(found, "tessera_claims_refused_total", why=why) == 0
    for verb, outcome in (("heartbeat", "stale_lease"), ("submit", "stale_lease"), ("enqueue", "internal")):
        assert at(found, "tessera_verbs_total", verb=verb, outcome=outcome) == 0
    assert at(found, "tessera_queue_paused", queue="paused") == 1
    assert at(found, "tessera_queue_paused", queue="open") == 0


@pytest.fixture
def wakes(tmp_path: Path) -> Iterator[dict[str, str]]:
    """A wake service, and the environment that leads to it."""
    env = {"TESSERA_WAKE_HOME": str(tmp_path / "wake"), "TESSERA_WAKE_STATE": str(tmp_path / "state")}
    command = [sys.executable, "-m", "tessera.cli.main", "wake", "serve"]
    process = subprocess.Popen(command, env={**os.environ, **env}, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    process.stdout.readline()
    yield env
    process.terminate()
    process.communicate()


def test_wakes_are_told_of_where_they_run(tmp_path: Path, wakes: dict[str, str]) -> None:
    """Beside a wake service its figures are on the page; nothing is said of one that never ran."""
    with serving(tmp_path, **wakes) as own:
        found = figures(own)
    assert at(found, "tessera_wake_up") == 1
    assert at(found, "tessera_wake_endpoints", state="live") == 0
    with serving(tmp_path, TESSERA_WAKE_HOME=str(tmp_path / "none")) as own:
        assert not any(name.startswith("tessera_wake") for name, _ in figures(own))


def test_what_the_dashboard_and_the_alerts_name_is_there(tmp_path: Path, wakes: dict[str, str]) -> None:
    """Every figure that a file under deploy/ asks for is one that the page gives."""
    with serving(tmp_path, **wakes) as own:
        own.queue("q")
        own.claim("q")
        own.post("/v1/admin/reap", {})
        text = own.get("/metrics").body.decode()
    given = {name for name, _ in figures_of(text)} | set(re.findall(r"^# TYPE (\w+)", text, re.MULTILINE))
    deploy = Path(__file__).parents[2] / "deploy"
    files = [deploy / "grafana" / "tessera.json", deploy / "prometheus" / "alerts.yml"]
    asked = {name for file in files for name in re.findall(r"\b(?:tessera|process)_\w+", file.read_text())}

    assert len(asked) > 15
    assert asked - given == set()
