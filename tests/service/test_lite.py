"""Workspaces and lite claims over HTTP: the contract's bodies, and doors that do not know of them."""

from __future__ import annotations

import time
from typing import Any

import pytest
from lite.workshop import SECRETS, Steps, furnish, next_of, put
from service import tools
from service.pages.browsing import Visitor
from service.running import Reply, Running, serving

import tessera
from tessera.client import Client
from tessera.models import Claimed
from tessera.testing import World

CLAIM = {"agent_id": "agt_ann", "idempotency_key": "once"}
WORKSPACES = (("ws_a", "drafts"), ("ws_b", "letters"))


@pytest.fixture(scope="module")
def keys(service: Running) -> dict[str, str]:
    """Two workspaces with three tasks each, a plain queue, and the keys of all sides."""
    service.queue("plain")
    service.enqueue("plain")
    with tessera.open(str(service.store)) as store:
        for name, queue in WORKSPACES:
            furnish(store, name, queue)
            for number in range(3):
                put(store, name, queue, task_id=f"{name}-{number}")
    agents = {name: service.key(scopes=["agent:runtime"], workspace_id=name) for name, _ in WORKSPACES}
    return {"plain": service.key(scopes=["store"]), "admin": service.admin, **agents}


def said(reply: Reply, *names: str) -> tuple[int, dict[str, str], bytes]:
    """An answer to the letter, without the names that were asked for and what no two answers share."""
    body, headers = reply.body, dict(reply.headers)
    for name in names:
        body = body.replace(name.encode(), b"NAME")
    for name in ("x-request-id", "content-length"):
        headers.pop(name, None)
    return reply.status, headers, body


def test_claim_next_as_the_contract_has_it(service: Running, keys: dict[str, str]) -> None:
    """The body and the answers of claim-next and of the direct claim, field by field."""
    reply = service.post("/v1/queues/drafts/claim-next", {**CLAIM, "lease_seconds": 60}, key=keys["ws_a"])
    won = reply.json
    assert (reply.status, won.pop("status")) == (200, "claimed")
    proof = won.pop("proof")
    assert proof.keys() == {
        "status", "topic_id", "sequence_number", "consensus_timestamp", "running_hash", "transaction_id",
    }  # fmt: skip
    assert {name: won[name] for name in ("task_id", "title", "brief", "input", "fencing_token")} == {
        "task_id": "ws_a-0", "title": SECRETS[0], "brief": SECRETS[1], "input": {"x": SECRETS[2]},
        "fencing_token": 1,
    }  # fmt: skip
    assert won["claim_id"].startswith("clm_")
    assert won["event_id"].startswith("evt_")
    assert won["lease_expires_at"].endswith("Z")
    held = {"task_id": won["task_id"], "fencing_token": won["fencing_token"]}
    assert service.post("/v1/tasks/heartbeat", held, key=keys["ws_a"]).status == 200
    other = {"agent_id": "agt_bob", "idempotency_key": "two"}
    direct = service.post("/v1/tasks/ws_a-0/claim", other, key=keys["ws_a"]).json
    assert direct["status"] == "missed"
    refused = {"status": "rejected", "retryable": False, "retry_after_seconds": None}
    again = service.post("/v1/queues/drafts/claim-next", CLAIM, key=keys["ws_a"]).json
    assert again == {**refused, "reason": "idempotency_conflict"}
    lacking = service.post("/v1/queues/drafts/claim-next", CLAIM, key=keys["plain"]).json
    assert lacking == {**refused, "reason": "unauthorized_scope"}


def test_the_client_reads_every_answer(service: Running, keys: dict[str, str]) -> None:
    """Over HTTP the library gives the same models as on the store itself."""
    with Client(f"http://127.0.0.1:{service.port}", keys["ws_b"]) as store:
        won = store.claim_next("letters", "agt_ann", "c1")
        assert isinstance(won, Claimed)
        assert won.input == {"x": SECRETS[2]}
        assert store.claim_next("letters", "agt_ann", "c1") == won
        assert store.claim_next("letters", "agt_ann", "c1", lease_seconds=1).status == "rejected"
        assert store.claim_task(won.task_id, "agt_bob", "c2").status == "missed"
        assert [one.claim_id for one in store.claims().claims] == [won.claim_id]
        assert store.workspace("ws_b").queues == ["letters"]


PATHS: list[tuple[str, str, Any]] = [
    ("POST", "/v1/queues/{queue}/claim-next", CLAIM),
    ("POST", "/v1/tasks/{task}/claim", CLAIM),
    ("GET", "/v1/tasks/{task}", None),
    ("GET", "/v1/tasks/{task}/results", None),
    ("GET", "/v1/tasks?queue={queue}", None),
    ("GET", "/v1/tasks?after={task}", None),
    ("GET", "/v1/jobs?task_id={task}", None),
    ("POST", "/v1/tasks/claim", {"queue": "{queue}", "worker": "w"}),
    ("POST", "/v1/tasks/claim", {"queue": "{queue}", "worker": "w", "wait_seconds": 1}),
    ("POST", "/v1/tasks/claim-batch", {"queue": "{queue}", "worker": "w", "limit": 2}),
    ("POST", "/v1/tasks", {"queue": "{queue}", "kind": "lite", "brief": {}}),
    ("POST", "/v1/tasks/heartbeat", {"task_id": "{task}", "fencing_token": 1}),
    ("POST", "/v1/tasks/cancel", {"task_id": "{task}", "reason": "why"}),
    ("POST", "/v1/tasks/resume", {"task_id": "{task}", "input": 1}),
    ("POST", "/v1/jobs", {"task_id": "{task}", "fencing_token": 1, "job_id": "j", "model": "m"}),
]


@pytest.mark.parametrize(("method", "path", "body"), PATHS)
def test_doors_do_not_know(
    service: Running, keys: dict[str, str], method: str, path: str, body: dict[str, Any] | None
) -> None:
    """What is another's is answered in every byte like what does not exist."""
    for side in ("plain", "ws_b"):
        answers = []
        for queue, task in (("drafts", "ws_a-1"), ("nosuch", "none-1")):
            names = {"{queue}": queue, "{task}": task}
            filled = body and {name: names.get(str(value), value) for name, value in body.items()}
            where = path.format(queue=queue, task=task)
            answers.append(said(service.call(method, where, filled, key=keys[side]), queue, task))
        assert answers[0] == answers[1]


def test_looks_without_a_key(service: Running, keys: dict[str, str]) -> None:
    """Health and the board, which need no key, know of no workspace; the operator's page does."""
    assert list(service.get("/v1/health", key=None).json["queues"]) == ["plain"]
    with_key = service.get("/v1/counts", key=keys["admin"]).json["queues"]
    assert sorted(with_key) == ["drafts", "letters", "plain"]
    assert list(service.get("/v1/counts?recount=true", key=keys["plain"]).json["recount"]) == ["plain"]
    visitor = Visitor(service)
    board = visitor.http.get("/board").text
    visitor.close()
    assert "plain" in board
    assert "drafts" not in board
    assert "letters" not in board


def test_tools_do_not_know(service: Running, keys: dict[str, str]) -> None:
    """Over MCP a plain key lists and claims nothing of a workspace, and an agent's key only its own."""
    listed = tools.good(tools.call(service, "queues", key=keys["plain"]))["queues"]
    assert [one["name"] for one in listed] == ["plain"]
    listed = tools.good(tools.call(service, "queues", key=keys["ws_a"]))["queues"]
    assert [one["name"] for one in listed] == ["drafts"]
    problems = [
        tools.refused(tools.call(service, "claim", key=keys["plain"], queue=queue, worker="w"))
        for queue in ("drafts", "nosuch")
    ]
    assert [one["code"] for one in problems] == ["not_found", "not_found"]
    refusal = tools.refused(tools.call(service, "claim", key=keys["ws_a"], queue="drafts", worker="w"))
    assert refusal["code"] == "forbidden"


@pytest.mark.parametrize("path", ["/v1/events", "/v1/events?follow=true", "/metrics"])
def test_what_tells_of_everything_is_for_admins(service: Running, keys: dict[str, str], path: str) -> None:
    """The log, followed or read, and the figures are refused to plain keys and to every workspace's."""
    for side in ("plain", "ws_a", "ws_b"):
        assert service.get(path, key=keys[side]).code == "scope_denied"


def test_pages_do_not_know(service: Running, keys: dict[str, str]) -> None:
    """Whoever signs in sees the parked tasks of their own side, and another's is no task to them."""
    lease = service.post(
        "/v1/queues/letters/claim-next", {"agent_id": "agt_ann", "idempotency_key": "park"}, key=keys["ws_b"]
    ).json
    held = {name: lease[name] for name in ("task_id", "fencing_token")}
    assert service.post("/v1/tasks/park", {**held, "reason": "may I?"}, key=keys["ws_b"]).status == 200
    other = service.key(scopes=["agent:runtime"], workspace_id="ws_b")
    for key, sees in ((keys["plain"], False), (keys["ws_a"], False), (other, True)):
        visitor = Visitor(service)
        visitor.sign_in(key)
        assert (lease["task_id"] in visitor.http.get("/work").text) is sees
        answers = [visitor.http.get(f"/work/tasks/{name}") for name in (lease["task_id"], "none-1")]
        visitor.close()
        assert [one.status_code for one in answers] == [200 if sees else 404, 404]
        assert (answers[0].text.replace(lease["task_id"], "none-1") == answers[1].text) is not sees


def test_recall_does_not_know(service: Running, keys: dict[str, str]) -> None:
    """An agent's key has no recall, and a plain key recalls nothing of a workspace's dead task."""
    with tessera.open(str(service.store)) as store:
        store.define_queue("letters", max_attempts=1)
        put(store, "ws_b", "letters", priority=9, brief="wind the tower clock", task_id="ws_b-dead")
        lease = store.claim_next("letters", "agt_bob", "die")
        assert isinstance(lease, Claimed)
        store.submit(lease.task_id, lease.fencing_token, None, "die", ok=False)
        assert store.task("ws_b-dead").state == "dead"
    for path in ("/v1/reflexes", "/v1/nouns"):
        asked = f"{path}?query=wind%20the%20tower%20clock"
        assert service.get(asked, key=keys["ws_a"]).code == "forbidden"
        found = service.get(asked, key=keys["plain"])
        assert (found.status, b"ws_b-dead" in found.body) == (200, False)


def test_a_service_finishes_what_was_left(tmp_path: Any) -> None:
    """A claim that won and was left by a process that died has its lease soon after a service runs."""
    world = World(now_us=int((time.time() - 300) * 1_000_000))
    with tessera.open(str(tmp_path / "store.db"), runtime=world.runtime()) as store:
        furnish(store)
        put(store)
        Steps(store, next_of(key="left")).until("settle_claim").die()
    with serving(tmp_path, TESSERA_REAP_SECONDS="1") as service:
        reply = service.get("/v1/tasks", timeout=40)
        until = time.monotonic() + 30
        while reply.json["tasks"][0]["state"] != "leased" and time.monotonic() < until:
            reply = service.get("/v1/tasks", timeout=40)
        assert reply.json["tasks"][0]["worker"] == "agt_ann"


def test_logs_hold_no_secret(service: Running, keys: dict[str, str]) -> None:
    """Neither a key nor a word of the work is in the service's log or in any answer that was refused."""
    log = service.log.read_text()
    for secret in (*keys.values(), *SECRETS):
        assert secret not in log
    assert "/v1/queues/{queue_id}/claim-next" in log
