"""Claims that wait, looks that wait, and who gets nothing any more."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from service.running import Aside, Running, serving

import tessera
from tessera.limits import CLAIMS_AT_ONCE


def eventually(holds: Callable[[], Any], seconds: float = 10) -> None:
    """Ask again until it holds."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it never came to hold"
        time.sleep(0.02)


def waiting(service: Running, queue: str, seconds: float = 20, **more: Any) -> Aside:
    """A claim that waits, well on its way."""
    aside = Aside(service.claim, queue, wait_seconds=seconds, **more)
    time.sleep(0.2)
    return aside


def test_an_empty_claim_says_when_to_come_back(service: Running) -> None:
    """204 carries the whole seconds until something falls due, 1 to 30, waited out or not."""
    service.queue("empty")
    assert service.claim("empty").headers["retry-after"] == "30"
    service.enqueue("empty", delay_seconds=7)
    reply = service.claim("empty", wait_seconds=0.2)

    assert (reply.status, reply.body) == (204, b"")
    assert 6 <= int(reply.headers["retry-after"]) <= 7


@pytest.mark.parametrize("path", ["claim", "claim-batch"])
def test_a_waiting_claim_gets_what_comes(service: Running, path: str) -> None:
    """A task that is enqueued goes to the claim that waits, at once."""
    service.queue(f"comes-{path}")
    body = {"queue": f"comes-{path}", "worker": "w", "wait_seconds": 20}
    aside = Aside(service.post, f"/v1/tasks/{path}", body)
    time.sleep(0.3)
    start = time.monotonic()
    task_id = service.enqueue(f"comes-{path}")
    reply = aside.result()

    assert time.monotonic() - start < 1
    lease = reply.json if path == "claim" else reply.json["leases"][0]
    assert (reply.status, lease["task_id"], lease["attempts"]) == (200, task_id, 1)


@pytest.mark.parametrize("how", ["released", "resumed", "retry", "lapse", "delay", "dependency", "unpaused",
                                 "another process"])  # fmt: skip
def test_whatever_makes_a_task_claimable_wakes(service: Running, how: str) -> None:
    """A waiting claim gets a task however it became claimable: by a verb, by time, by another process."""
    name = service.queue(
        f"wakes-{how.replace(' ', '-')}", backoff_base_seconds=1, heartbeat_seconds=1, miss_limit=1
    )
    acts = {
        "released": lambda: service.post("/v1/tasks/release", held),
        "retry": lambda: service.post(
            "/v1/tasks/submit", {**held, "ok": False}, headers={"idempotency-key": "retry"}
        ),
        "resumed": lambda: service.post("/v1/tasks/resume", {"task_id": held["task_id"], "input": 1}),
        "dependency": lambda: service.post("/v1/tasks/cancel", {"task_id": held["task_id"], "reason": "r"}),
        "unpaused": lambda: service.post("/v1/queues/resume", {"name": name}),
    }
    held: dict[str, Any] = {"task_id": service.enqueue(name), "fencing_token": 1}
    service.claim(name)
    if how == "resumed":
        service.post("/v1/tasks/park", {**held, "reason": "r"})
    if how == "dependency":
        service.enqueue(name, depends_on=[held["task_id"]])
    if how == "unpaused":
        service.post("/v1/queues/pause", {"name": name})
        service.enqueue(name)
    if how in ("delay", "another process"):
        service.post("/v1/tasks/cancel", {"task_id": held["task_id"], "reason": "r"})
    aside = waiting(service, name)
    if how == "delay":
        service.enqueue(name, delay_seconds=0.5)
    elif how == "another process":
        with tessera.open(str(service.store)) as store:
            store.enqueue(queue=name, kind="k", brief={})
    elif how in acts:
        assert acts[how]().status == 200
    assert aside.result(10).status == 200


def test_waiters_are_served_in_order_and_by_what_they_take(service: Running) -> None:
    """Of those that look for the same the first comes first; one that looks for another kind keeps waiting,
    and holds up nobody.
    """
    service.queue("order")
    other = waiting(service, "order", kinds=["other"])
    first, second = (waiting(service, "order", kinds=["k"]) for _ in range(2))
    one = service.enqueue("order")
    assert first.result(5).json["task_id"] == one
    assert second.is_alive()
    two = service.enqueue("order")
    assert second.result(5).json["task_id"] == two
    assert other.is_alive()
    service.enqueue("order", kind="other")
    assert other.result(5).json["kind"] == "other"


def test_a_batch_feeds_many_waiters(service: Running) -> None:
    """Forty tasks enqueued at once end forty waits, each with its own task."""
    service.queue("many")
    asides = [Aside(service.claim, "many", wait_seconds=20) for _ in range(40)]
    time.sleep(0.5)
    service.post("/v1/tasks/batch", {"tasks": [{"queue": "many", "kind": "k", "brief": {}}] * 40})

    assert len({aside.result(10).json["task_id"] for aside in asides}) == 40


def test_who_hung_up_claims_nothing(service: Running) -> None:
    """Claims whose clients have gone, waiting or just sent, leave no lease behind and no attempt of a task
    that came after.
    """
    service.queue("gone")
    body = json.dumps({"queue": "gone", "worker": "w", "wait_seconds": 20}).encode()
    head = (
        f"POST /v1/tasks/claim HTTP/1.1\r\nhost: h\r\nauthorization: Bearer {service.admin}\r\n"
        f"content-length: {len(body)}\r\n\r\n"
    ).encode()
    for _ in range(20):
        bare = service.raw(head + body)
        time.sleep(0.01)
        bare.close()
    stayed = waiting(service, "gone")
    task_id = service.enqueue("gone")

    assert stayed.result(5).json["task_id"] == task_id
    assert stayed.result().json["attempts"] == 1


def test_who_hung_up_at_the_last_moment_gives_back(service: Running) -> None:
    """A client that hangs up right after asking holds up no task: the lease is given back, no failure
    counted.
    """
    service.queue("late")
    for _ in range(30):
        service.enqueue("late")
    body = json.dumps({"queue": "late", "worker": "w"}).encode()
    head = (
        f"POST /v1/tasks/claim HTTP/1.1\r\nhost: h\r\nauthorization: Bearer {service.admin}\r\n"
        f"content-length: {len(body)}\r\n\r\n"
    ).encode()
    for _ in range(30):
        service.raw(head + body).close()

    eventually(lambda: service.get("/v1/counts").json["queues"]["late"]["leased"] == 0)
    tasks = service.get("/v1/tasks?queue=late").json["tasks"]
    assert {task["failures"] for task in tasks} == {0}


def test_a_keyed_claim_survives_a_lost_answer(service: Running) -> None:
    """Under an idempotency key the lease of a client that hung up stays, and the same key gets it again."""
    service.queue("keyed")
    task_id = service.enqueue("keyed")
    body = {"queue": "keyed", "worker": "w", "wait_seconds": 5}
    replies = [
        service.post("/v1/tasks/claim", body, headers={"idempotency-key": "claim-1"}) for _ in range(2)
    ]

    assert [reply.json["task_id"] for reply in replies] == [task_id] * 2
    assert replies[1].json["attempts"] == 1


def test_pending_claims_are_bounded(tmp_path: Path) -> None:
    """Over the cap of waiting claims there is 429 with `Retry-After`, definite; heartbeats go on."""
    with serving(tmp_path, TESSERA_MAX_PENDING_CLAIMS="3") as own:
        own.queue("q")
        task_id = own.enqueue("q")
        own.claim("q")
        asides = [waiting(own, "q", 3) for _ in range(3)]
        refused = own.claim("q", wait_seconds=3)
        assert (refused.status, refused.code, refused.json["definite"]) == (429, "rate_limited", True)
        assert int(refused.headers["retry-after"]) >= 1
        assert own.post("/v1/tasks/heartbeat", {"task_id": task_id, "fencing_token": 1}).status == 200
        assert own.claim("q").status == 204
        assert {aside.result().status for aside in asides} == {204}


def test_a_claims_turn_has_a_deadline(tmp_path: Path) -> None:
    """While another process holds the store's lock the claims in the engine stand still; one that waits for
    its turn longer than the deadline gets 429 with `Retry-After`, definite, and the others their answers once
    the lock is free.
    """
    with serving(tmp_path, TESSERA_CLAIM_DEADLINE_SECONDS="0.5") as own:
        own.queue("q")
        own.get("/v1/queues")
        other = sqlite3.connect(own.store, isolation_level=None)
        other.execute("begin immediate")
        asides = [Aside(own.claim, "q") for _ in range(CLAIMS_AT_ONCE)]
        time.sleep(0.5)
        refused = own.claim("q")
        other.execute("rollback")
        other.close()

        assert (refused.status, refused.code, refused.json["definite"]) == (429, "rate_limited", True)
        assert int(refused.headers["retry-after"]) >= 1
        assert {aside.result().status for aside in asides} == {204}


def test_a_quota_is_the_operators_choice(tmp_path: Path) -> None:
    """With TESSERA_CLAIMS_PER_MINUTE a key has so many claims, then 429; another key has its own."""
    with serving(tmp_path, TESSERA_CLAIMS_PER_MINUTE="5") as own:
        own.queue("q")
        assert [own.claim("q").status for _ in range(6)] == [204] * 5 + [429]
        body = {"queue": "q", "worker": "w"}
        assert own.post("/v1/tasks/claim", body, key=own.key()).status == 204


def test_a_look_waits_for_a_tasks_end(service: Running) -> None:
    """`?wait=` answers when the task has ended, at once when it has already, and after its seconds when it
    has not.
    """
    service.queue("ends")
    task_id = service.enqueue("ends")
    assert service.get(f"/v1/tasks/{task_id}?wait=0.2").json["state"] == "ready"
    aside = Aside(service.get, f"/v1/tasks/{task_id}?wait=20")
    time.sleep(0.2)
    service.claim("ends")
    assert aside.is_alive()
    start = time.monotonic()
    done = {"task_id": task_id, "fencing_token": 1}
    service.post("/v1/tasks/submit", done, headers={"idempotency-key": "ends"})
    assert aside.result().json["state"] == "done"
    assert service.get(f"/v1/tasks/{task_id}?wait=20").json["state"] == "done"
    assert time.monotonic() - start < 2
    assert service.get("/v1/tasks/none?wait=20").code == "not_found"


def test_a_poll_waits_for_a_feed(service: Running) -> None:
    """`?wait=` on a feed answers when something is published, at once when there is more already, and empty
    after its seconds; a feed that nobody has published to may be waited for too.
    """
    empty = service.get("/v1/feeds/news?wait=0.2")
    assert (empty.status, empty.json["items"], empty.json["next"]) == (200, [], 0)
    aside = Aside(service.get, "/v1/feeds/news?wait=20")
    other = Aside(service.get, "/v1/feeds/other?wait=1")
    time.sleep(0.2)
    start = time.monotonic()
    assert service.post("/v1/feeds/news", {"payload": {"a": 1}}).status == 201
    assert [item["payload"] for item in aside.result().json["items"]] == [{"a": 1}]
    assert service.get("/v1/feeds/news?wait=20").json["next"] == 1
    assert time.monotonic() - start < 2
    assert other.result().json["items"] == []
    assert service.get("/v1/feeds/news?after=1&wait=0.1").json["items"] == []
