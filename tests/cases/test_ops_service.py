"""Cases of group "ops" that take a service and its clients: pauses, hang-ups, slow answers."""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

import tessera
from tessera.errors import StaleLease
from tessera.library import Tessera
from tessera.runtime import instant_us
from tessera.testing import Service, serving
from tessera.worker import Worker

HANG_UPS = 1_000 if os.environ.get("TESSERA_LONG") else 100
PATIENCE_SECONDS = 30
HOLDER = """
import sys, tessera
with tessera.open(sys.argv[1]) as store:
    lease = store.claim("q", "holder")
    print(lease.task_id, lease.fencing_token, flush=True)
    sys.stdin.readline()
    for act in (lambda: store.heartbeat(lease.task_id, lease.fencing_token),
                lambda: store.submit(lease.task_id, lease.fencing_token, "late", "late")):
        try:
            act()
            print("done", flush=True)
        except tessera.TesseraError as refusal:
            print(refusal.code, flush=True)
"""


@pytest.fixture
def place(tmp_path: Path) -> Iterator[tuple[Tessera, Service, str]]:
    """A store's owner, its service, and a key for the queue `q`."""
    path = tmp_path / "store.db"
    with tessera.open(str(path)) as owner, serving(path, log=tmp_path / "log") as service:
        owner.define_queue("q", heartbeat_seconds=1, miss_limit=1, backoff_base_seconds=0, max_attempts=20)
        yield owner, service, owner.issue_key(queues=["q"]).key
        assert owner.counts(recount=True).agree
    assert "Traceback" not in (tmp_path / "log").read_text()


def request(service: Service, key: str, verb: str, body: dict[str, Any], **headers: str) -> bytes:
    """A request as its bytes."""
    content = json.dumps(body).encode()
    named = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
    head = (
        f"POST /v1/tasks/{verb} HTTP/1.1\r\nHost: {urlsplit(service.url).netloc}\r\n"
        f"Authorization: Bearer {key}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(content)}\r\n{named}\r\n"
    )
    return head.encode() + content


def hang_up(service: Service, data: bytes, chance: random.Random) -> None:
    """Send a part of a request, or all of it, and leave without hearing the answer."""
    parts = urlsplit(service.url)
    with socket.create_connection((parts.hostname, parts.port), PATIENCE_SECONDS) as bare:
        bare.sendall(data[: chance.choice([len(data), chance.randrange(len(data))])])


def test_o08_clients_that_hang_up(place) -> None:
    """O08: A client that hangs up anywhere in a submit or a split leaves all of it or none, holds nobody up,
    and leaves no connection behind.
    """
    owner, service, key = place
    chance, slowest = random.Random(8), 0.0
    owner.define_queue("q", heartbeat_seconds=600, miss_limit=10, lease_seconds=3_600)
    before = len(os.listdir(f"/proc/{service.process.pid}/fd"))
    with tessera.Client(service.url, key) as client:
        for number in range(HANG_UPS):
            client.enqueue(queue="q", kind="k", brief={})
            lease = client.claim("q", "w")
            handle = {"task_id": lease.task_id, "fencing_token": lease.fencing_token}
            once = f"once-{number}"
            if number % 2:
                data = request(service, key, "submit", {**handle, "output": number}, Idempotency_Key=once)
            else:
                children = [{"brief": {}, "queue": "q", "kind": "child"} for _ in range(3)]
                data = request(service, key, "split", {**handle, "children": children})
            hang_up(service, data, chance)
            start = time.monotonic()
            _finish(client, handle, once, number)
            slowest = max(slowest, time.monotonic() - start)
        for task in _all(owner):
            results = owner.results(task.task_id)
            assert len(results) == (task.state == "done")
            assert len(task.children) in (0, 3)
        assert slowest < 5
    end = time.monotonic() + PATIENCE_SECONDS
    while len(os.listdir(f"/proc/{service.process.pid}/fd")) > before + 2:
        assert time.monotonic() < end, "connections stay behind"
        time.sleep(0.05)


def _finish(client: Tessera, handle: dict[str, Any], once: str, number: int) -> None:
    """Hand the same in again: a replay, a first submit, or too late because the split came through."""
    try:
        client.submit(handle["task_id"], handle["fencing_token"], number, once)
    except StaleLease:
        task = client.task(handle["task_id"])
        assert (task.state, task.pending_children) == ("waiting", 3)
        for child in task.children:
            client.cancel(child, "enough")
        client.cancel(task.task_id, "enough")


def _all(owner: Tessera) -> list[Any]:
    page = owner.tasks("q", limit=1_000)
    found = list(page.tasks)
    while page.next:
        page = owner.tasks("q", limit=1_000, after=page.next)
        found += page.tasks
    return found


@contextmanager
def holder(service: Service, key: str) -> Iterator[subprocess.Popen[str]]:
    """A process that claims, waits for a line, then heartbeats and submits."""
    env = {**os.environ, "TESSERA_KEY": key}
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, service.url], env=env, text=True, stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:  # fmt: skip
        try:
            yield process
        finally:
            process.kill()


def test_o12_a_worker_that_was_stopped(place) -> None:
    """O12: A holder that stood still for longer than its lease is told `stale_lease` for whatever it does
    then, and changes nothing about the work of whoever took over.
    """
    owner, service, key = place
    task_id = owner.enqueue(queue="q", kind="k", brief={})
    with holder(service, key) as process, tessera.Client(service.url, key) as client:
        assert process.stdout.readline().split() == [task_id, "1"]
        process.send_signal(signal.SIGSTOP)
        lease = client.claim("q", "other", wait_seconds=20)
        owner.define_queue("q", heartbeat_seconds=600)
        client.heartbeat(lease.task_id, lease.fencing_token)
        process.send_signal(signal.SIGCONT)
        said, _ = process.communicate("go on\n", timeout=PATIENCE_SECONDS)
        receipt = client.submit(lease.task_id, lease.fencing_token, "mine", "mine")

    assert said.split() == ["stale_lease", "stale_lease"]
    assert (lease.task_id, lease.fencing_token, receipt.state) == (task_id, 2, "done")
    assert [result.output for result in owner.results(task_id)] == ["mine"]


def test_o12_a_service_that_was_stopped(place) -> None:
    """O12: When a service stood still for longer than the leases, a heartbeat that comes first is judged by
    the time it is now, and each task is claimed once more.
    """
    owner, service, key = place
    ids = {owner.enqueue(queue="q", kind="k", brief={}) for _ in range(5)}
    with tessera.Client(service.url, key) as client:
        held = client.claim_batch("q", "w", 5)
        deadline = max(lease.expires_at for lease in held)
        service.process.send_signal(signal.SIGSTOP)
        while owner.health().time <= deadline:
            time.sleep(0.02)
        service.process.send_signal(signal.SIGCONT)
        with pytest.raises(StaleLease):
            client.heartbeat(held[0].task_id, held[0].fencing_token)
        again = client.claim_batch("q", "w", 100)

    assert {lease.task_id for lease in again} == ids
    assert {(lease.fencing_token, lease.failures) for lease in again} == {(2, 1)}


def test_o13_answers_that_are_late(place) -> None:
    """O13: With answers that take half a second the worker's own idea of its lease's end is never later than
    the truth.
    """
    owner, service, key = place
    owner.define_queue("q", heartbeat_seconds=2, miss_limit=1)
    task_id, seen = owner.enqueue(queue="q", kind="k", brief={}), []
    with delayed(service.url, 0.5) as url, tessera.Client(url, key) as client:
        worker = Worker("q", client)

        @worker.handles()
        def work(lease, context):
            for _ in range(20):
                believed = context.seconds_left
                seen.append((believed, _seconds(owner.health().time, owner.task(task_id).expires_at)))
                context.wait(0.1)

        worker.run_once()

    assert seen[0][0] <= 1.5
    assert [pair for pair in seen if pair[0] > max(0, pair[1]) + 0.05] == []
    assert owner.task(task_id).state == "done"


def _seconds(earlier: str, later: str) -> float:
    return (instant_us(later) - instant_us(earlier)) / 1_000_000


@contextmanager
def delayed(url: str, seconds: float) -> Iterator[str]:
    """The same service by a way on which each answer takes so long."""
    parts, listener = urlsplit(url), socket.create_server(("127.0.0.1", 0))
    ends: list[socket.socket] = [listener]
    ways: list[threading.Thread] = []

    def carry(source: socket.socket, target: socket.socket, pause: float) -> None:
        with suppress(OSError):
            while data := source.recv(65_536):
                time.sleep(pause)
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)

    def accept() -> None:
        with suppress(OSError):
            while True:
                near, _ = listener.accept()
                far = socket.create_connection((parts.hostname, parts.port))
                ends.extend((near, far))
                for way in ((near, far, 0.0), (far, near, seconds)):
                    ways.append(threading.Thread(target=carry, args=way))
                    ways[-1].start()

    accepting = threading.Thread(target=accept)
    accepting.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        for end in ends:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        for way in (accepting, *ways):
            way.join()
        for end in ends:
            end.close()
