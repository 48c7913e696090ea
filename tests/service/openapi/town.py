"""A service whose store holds something of everything, and keys of three kinds."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from service.running import Running, serving

QUEUE, KIND = "review", "code"
READY, LEASED = 80, 24
UNKNOWN = ("Bearer tessera_of_nobody", "Basic dXNlcjpwYXNz", "Bearer ", "")


@dataclass
class Town:
    """The service; what stands in it, by the names of fields; and the words of each kind of key."""

    service: Running
    known: dict[str, list[Any]]
    keys: dict[str, list[str]]


@contextmanager
def town(folder: Path) -> Iterator[Town]:
    """A town, whose service must not have met anything unforeseen by the end."""
    with serving(folder) as service:
        yield _filled(service)
        assert service.process.poll() is None
        assert "Traceback" not in service.log.read_text()


def _filled(service: Running) -> Town:
    service.queue(QUEUE, max_attempts=1)
    worker = service.key(name="worker", queues=[QUEUE], kinds=[KIND])
    leased = [_leased(service, worker) for _ in range(LEASED)]
    parked, dead, done = leased.pop(), leased.pop(), leased.pop()
    _act(service, worker, "park", {"task_id": parked, "fencing_token": 1, "reason": "why"})
    for task_id, ok in ((dead, False), (done, True)):
        _act(service, worker, "submit", {"task_id": task_id, "fencing_token": 1, "ok": ok}, task_id)
    job = {"task_id": leased[0], "fencing_token": 1, "job_id": "job-1", "model": "m"}
    assert service.post("/v1/jobs", job, key=worker).status == 201
    ready = [service.enqueue(QUEUE, kind=KIND) for _ in range(READY)]
    assert service.post("/v1/stores/notes/records/a-key", {"value": 1}).status == 200
    assert service.post("/v1/feeds/news", {"payload": 1}).status == 201
    blob = service.post("/v1/blobs", b"some bytes").json["sha256"]
    assert service.post("/v1/buckets/nouns/objects/a-key", b"some bytes").status == 201
    victim = service.post("/v1/admin/keys", {}).json["grant"]["key_id"]
    known = {
        "queue": [QUEUE], "queues": [[QUEUE]], "name": [QUEUE], "kind": [KIND], "kinds": [[KIND]],
        "task_id": [*leased, parked, dead, done, *ready[:8]], "fencing_token": [1], "job_id": ["job-1"],
        "store": ["notes"], "bucket": ["nouns"], "key": ["a-key"], "feed": ["news"], "sha256": [blob],
        "key_id": [victim], "expected_version": [1, 2], "version": [1], "effect_classes": [["read"]],
        "Range": ["bytes=0-3", "bytes=99-"], "If-None-Match": [f'"{blob}"'], "brief": [{}],
    }  # fmt: skip
    keys = {
        "admin": [f"Bearer {service.admin}"],
        "worker": [f"Bearer {worker}"],
        "none": [*UNKNOWN, f"Bearer {_expired(service)}"],
    }
    return Town(service, known, keys)


def _leased(service: Running, worker: str) -> str:
    task_id = service.enqueue(QUEUE, kind=KIND)
    body = {"queue": QUEUE, "worker": "w"}
    assert service.post("/v1/tasks/claim", body, key=worker).json["task_id"] == task_id
    return task_id


def _act(service: Running, key: str, verb: str, body: dict[str, Any], idempotency: str = "none") -> None:
    reply = service.post(f"/v1/tasks/{verb}", body, key=key, headers={"idempotency-key": idempotency})
    assert reply.status == 200, reply.body


def _expired(service: Running) -> str:
    secret = service.key(name="expired")
    beside = sqlite3.connect(service.store)
    with beside:
        beside.execute("update keys set expires_at = 1 where name = 'expired'")
    beside.close()
    return secret
