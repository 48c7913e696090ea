"""A service from start to end: what it refuses to start with, how it stops, and what a death leaves."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from service.load import Load
from service.running import SERVE, Aside, Running, reply_on, serving

import tessera

KILLS = 10 if os.environ.get("TESSERA_LONG") == "1" else 3


def refused(folder: Path, *options: str, **env: str) -> str:
    """What a service says that does not start: one line, and exit code 1."""
    ended = subprocess.run(
        [*SERVE, "--store", str(folder / "store.db"), *options], capture_output=True, text=True, timeout=30,
        env={**os.environ, **env}, check=False,
    )  # fmt: skip
    assert ended.returncode == 1
    assert ended.stdout == ""
    assert len(ended.stderr.splitlines()) == 1
    assert not (folder / "store.db").exists()
    return ended.stderr


@pytest.mark.parametrize(("name", "value"), [
    ("TESSERA_PORT", "http"), ("TESSERA_PORT", "65536"), ("TESSERA_CORS_ORIGINS", "*"),
    ("TESSERA_CORS_ORIGINS", "https://a.example, https://b.example/"), ("TESSERA_REAP_SECONDS", "0"),
    ("TESSERA_REAP_SECONDS", "61"), ("TESSERA_CLAIMS_PER_MINUTE", "-1"), ("TESSERA_LOG", "xml"),
    ("TESSERA_MAX_PENDING_CLAIMS", "0"), ("TESSERA_CLAIM_DEADLINE_SECONDS", "soon"),
    ("TESSERA_EDGE_SECRET", "short"),
])  # fmt: skip
def test_a_wrong_setting_stops_the_start(tmp_path: Path, name: str, value: str) -> None:
    """A setting that makes no sense is named in one line that does not repeat it; nothing is opened."""
    said = refused(tmp_path, **{name: value})

    assert name in said
    assert "Expected `" not in said or "got" not in said
    assert len(value) < 3 or value not in said.removeprefix("error: invalid_request: ")


def test_a_wrong_setting_says_what_is_right(tmp_path: Path) -> None:
    """One of several words is told with the others; what should be a number, that it is none; a wrong option
    of the command is named as it was given; a service serves no other.
    """
    assert "TESSERA_LOG: Not one of text, json" in refused(tmp_path, TESSERA_LOG="xml")
    assert "TESSERA_REAP_SECONDS: Not a number" in refused(tmp_path, TESSERA_REAP_SECONDS="soon")
    for text in ("*", "https://a.example/", "https://A.example", "a.example", "https://a.example:"):
        said = refused(tmp_path, TESSERA_CORS_ORIGINS=f"https://b.example, {text}")
        assert "TESSERA_CORS_ORIGINS: number 2 of the list: Expected an origin such as https://" in said
        assert "regex" not in said
    assert "without a port" in refused(tmp_path, TESSERA_MCP_HOSTS="a.example:80")
    assert "on the store's own machine" in refused(tmp_path, "--store", "http://127.0.0.1:8787")
    ended = subprocess.run(
        [*SERVE, "--port", "99999"], capture_output=True, text=True, timeout=30, check=False
    )  # fmt: skip
    assert ended.returncode == 2
    assert "--port" in ended.stderr


def test_an_open_address_needs_protection(tmp_path: Path) -> None:
    """An address that others can reach is refused without TLS, an edge secret or --insecure."""
    assert "--insecure" in refused(tmp_path, "--host", "0.0.0.0")
    with serving(tmp_path, "--host", "0.0.0.0", "--insecure") as running:
        assert running.get("/healthz").status == 200


def test_a_port_in_use_is_said(tmp_path: Path, service: Running) -> None:
    """A port that somebody has is one clear line, and no store is made."""
    assert "cannot be served" in refused(tmp_path, "--port", str(service.port))
    taken = refused(tmp_path, "--port", "0", TESSERA_METRICS_PORT=str(service.port))
    assert "TESSERA_METRICS_PORT" in taken
    assert "cannot be served" in taken


def test_figures_want_a_port_of_their_own(tmp_path: Path) -> None:
    """The figures' port cannot be the service's: that is one line which names the setting."""
    assert "TESSERA_METRICS_PORT" in refused(tmp_path, "--port", "9464", TESSERA_METRICS_PORT="9464")


def test_it_stops_in_order(own: Running) -> None:
    """On SIGTERM waiting claims get a retryable 503, new claims too, on open connections the rest is still
    answered once more, and the process ends with 0 and a store that recounts.
    """
    own.queue("q")
    own.enqueue("q", kind="other")
    waiting = Aside(own.claim, "q", kinds=["k"], wait_seconds=30)
    time.sleep(0.3)
    look = f"GET /v1/counts HTTP/1.1\r\nhost: h\r\nauthorization: Bearer {own.admin}\r\n\r\n".encode()
    kept = own.raw(look)
    assert reply_on(kept).status == 200
    ended = Aside(own.stop)
    refusal = waiting.result(5)
    kept.sendall(look)
    last = reply_on(kept)
    kept.close()

    assert (refusal.status, refusal.code, refusal.json["definite"]) == (503, "unavailable", True)
    assert int(refusal.headers["retry-after"]) >= 1
    assert (last.status, last.headers["connection"]) == (200, "close")
    assert ended.result() == 0
    with tessera.open(str(own.store)) as store:
        assert store.counts(recount=True).agree


def test_sigterm_under_load_leaves_no_request_without_an_answer(own: Running) -> None:
    """Eight clients under load when SIGTERM comes: each request ends with an answer, a retryable refusal, or
    a connection that was closed before it was read; what was answered is in the store, once.
    """
    load = Load(own, clients=8)
    load.start()
    load.reach(300)
    assert own.stop() == 0
    load.join()

    assert load.unexpected == []
    load.check(own.store)


def test_kill_under_load_loses_and_doubles_nothing(tmp_path: Path) -> None:
    """Eight clients under load, the service killed hard again and again and started on its port: every
    answered submit is stored once, every receipt holds, counts recount, and the work goes to its end.
    """
    port = 0
    for life in range(KILLS + 1):
        with serving(tmp_path, port=port) as own:
            port = own.port
            load = Load(own, clients=8, tasks=(KILLS + 1) * 500 if life == 0 else 0)
            load.start()
            load.reach(200)
            if life < KILLS:
                own.stop(signal.SIGKILL)
                load.stop()
                load.join()
                load.remember(tmp_path)
                continue
            load.finish()
            load.join()
            load.remember(tmp_path)
            assert load.unexpected == []
            load.check(own.store)


def test_the_first_claim_after_a_start_settles_first(tmp_path: Path) -> None:
    """Of three leases that were out when the service died two have lapsed: the first claim after the
    start settles its queue itself, gives none of them twice, and health shows the other queue's lapse.
    """
    path = tmp_path / "store.db"
    with tessera.open(str(path)) as store:
        for name in ("q", "other"):
            store.define_queue(name, heartbeat_seconds=1, miss_limit=1, backoff_base_seconds=0)
        store.define_queue("long")
        for name in ("q", "other", "long"):
            store.enqueue(queue=name, kind="k", brief={})
            assert store.claim(name, "before") is not None
    time.sleep(1.1)
    with serving(tmp_path, TESSERA_REAP_SECONDS="60") as own:
        lease = own.claim("q")
        health = own.get("/v1/health").json
        assert (lease.status, lease.json["fencing_token"], lease.json["failures"]) == (200, 2, 1)
        assert own.claim("long").status == 204
        assert health["queues"]["other"]["expired_leases"] == 1
        assert health["reaper_last_run"] is None


def test_the_reaper_runs_by_itself(tmp_path: Path) -> None:
    """Without any claim a lapse is settled and health says when the reaper was last there."""
    with serving(tmp_path, TESSERA_REAP_SECONDS="0.2") as own:
        own.queue("q", heartbeat_seconds=1, miss_limit=1)
        task_id = own.enqueue("q")
        own.claim("q")
        end = time.monotonic() + 10
        while own.get(f"/v1/tasks/{task_id}").json["failures"] == 0:
            assert time.monotonic() < end
            time.sleep(0.05)
        assert own.get("/v1/health").json["reaper_last_run"] is not None


def test_a_reaper_that_died_leaves_no_lock(tmp_path: Path) -> None:
    """Killed inside its reaper, the service starts again and reaps at once what was left."""
    with tessera.open(str(tmp_path / "store.db")) as store:
        store.define_queue("q", heartbeat_seconds=1, miss_limit=1)
        task_id = store.enqueue(queue="q", kind="k", brief={})
        store.claim("q", "w")
    with serving(tmp_path, TESSERA_REAP_SECONDS="0.2", TESSERA_CRASH_AT="settle.written") as own:
        assert own.process.wait(15) == 137
    with serving(tmp_path, TESSERA_REAP_SECONDS="0.2") as own:
        end = time.monotonic() + 10
        while own.get(f"/v1/tasks/{task_id}").json["failures"] == 0:
            assert time.monotonic() < end
            time.sleep(0.05)


def test_the_log_is_json_when_asked(tmp_path: Path) -> None:
    """Each line of a JSON log is an object with its instant; a request's names id, route and status."""
    with serving(tmp_path, TESSERA_LOG="json") as own:
        own.get("/v1/queues")
        own.get("/v1/queues", key=None)
        own.stop()
        lines = [json.loads(line) for line in own.log.read_text().splitlines()]

    asked = [line for line in lines if line.get("route") == "/v1/queues"]
    assert [(line["status"], line["code"]) for line in asked] == [(200, None), (401, "unauthorized")]
    assert all(line["at"].endswith("Z") for line in lines)


def test_a_connection_may_carry_many_requests_at_once(service: Running) -> None:
    """Requests sent before the answer to the one before are answered in order on one connection."""
    key = f"authorization: Bearer {service.admin}"
    pair = f"GET /healthz HTTP/1.1\r\nhost: h\r\n\r\nGET /v1/queues HTTP/1.1\r\nhost: h\r\n{key}\r\n\r\n"
    last = "GET /nothing HTTP/1.1\r\nhost: h\r\nconnection: close\r\n\r\n"
    text = b""
    with service.raw((pair * 20 + last).encode()) as bare:
        while data := bare.recv(65_536):
            text += data

    assert text.count(b"HTTP/1.1 200 OK") == 40
    assert text.count(b"HTTP/1.1 404") == 1
