"""Every row of the surface, through the service: reachable, with its status, for whom it is meant."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from typing import Any
from urllib.parse import urlencode

import msgspec
import pytest
from service.running import Reply, Running

from tessera.surface import SURFACE, Row

ROWS = {name: row for name, row in SURFACE.items() if row.path is not None}
WITHOUT_KEY = {"health"}
ADMIN = {name for name, row in ROWS.items() if row.needs == "admin"}
ANY_KEY = {name for name, row in ROWS.items() if row.needs.startswith("any key")}
STORE = {name for name, row in ROWS.items() if row.needs == "key with store scope"}
AGENT = {name for name, row in ROWS.items() if row.needs.startswith("key with scope agent:runtime")}
WORKSPACE = {name for name, row in ROWS.items() if row.needs == "admin, or a key of the workspace"}
HOLDER = {name for name, row in ROWS.items() if row.needs.startswith("the key that claimed")}
_numbers = count(1)


@dataclass
class Stage:
    """A queue with a task in each state that a verb may want."""

    service: Running
    queue: str = ""
    worker_key: str = ""
    ids: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.queue = self.service.queue(f"stage-{next(_numbers)}", max_attempts=1)
        self.worker_key = self.service.key(queues=[self.queue])

    def ready(self) -> str:
        """A task to claim."""
        return self.service.enqueue(self.queue)

    def leased(self) -> str:
        """A task that the worker's key holds under token 1."""
        self.ready()
        body = {"queue": self.queue, "worker": "w"}
        return str(self.service.post("/v1/tasks/claim", body, key=self.worker_key).json["task_id"])

    def act(self, verb: str, body: dict[str, Any], **headers: str) -> Reply:
        """A verb of the worker's."""
        return self.service.post(f"/v1/tasks/{verb}", body, key=self.worker_key, headers=headers)

    def parked(self) -> str:
        """A task that waits for input."""
        task = self.leased()
        assert self.act("park", {"task_id": task, "fencing_token": 1, "reason": "why"}).status == 200
        return task

    def dead(self) -> str:
        """A task that has failed for good."""
        task = self.leased()
        key = {"idempotency-key": f"dead {task}".replace(" ", "-")}
        body = {"task_id": task, "fencing_token": 1, "ok": False, "error": "broken"}
        assert self.act("submit", body, **key).json["state"] == "dead"
        return task

    def job(self) -> str:
        """A model job under the worker's lease."""
        body = {"task_id": self.leased(), "fencing_token": 1, "job_id": f"job-{next(_numbers)}", "model": "m"}
        assert self.service.post("/v1/jobs", body, key=self.worker_key).status == 201
        return str(body["job_id"])

    def record(self) -> str:
        """The key of a record in the store `notes`."""
        key = f"record-{next(_numbers)}"
        assert self.service.post(f"/v1/stores/notes/records/{key}", {"value": 1}).status == 200
        return key

    def blob(self) -> str:
        """The hash of some bytes."""
        return str(self.service.post("/v1/blobs", self.queue.encode()).json["sha256"])

    def object(self) -> str:
        """The key of an object in the bucket `nouns`."""
        key = f"object-{next(_numbers)}"
        assert self.service.post(f"/v1/buckets/nouns/objects/{key}", b"bytes").status == 201
        return key

    def workspace(self) -> str:
        """A workspace of its own."""
        body = {"workspace_id": f"ws_{self.queue}", "name": "W"}
        assert self.service.post("/v1/lite/workspaces", body).status == 200
        return body["workspace_id"]

    def lite_task(self) -> dict[str, Any]:
        """What a task in the workspace is defined by; its queue, role and agent are there."""
        ws = {"workspace_id": self.workspace()}
        self.service.post("/v1/lite/queues", {**ws, "queue_id": self.queue})
        self.service.post("/v1/lite/roles", {**ws, "role_id": "role_r", "name": "R"})
        self.service.post("/v1/lite/agents", {**ws, "agent_id": "agt_a", "role_ids": ["role_r"]})
        task = {"queue_id": self.queue, "title": "T", "brief": "B", "required_role_id": "role_r"}
        return {**ws, **task}

    def lite_ready(self) -> str:
        """A task that the workspace's agent can win; the worker's key is then the workspace's."""
        if "lite" in self.ids:
            return self.ids["lite"]
        task = self.service.post("/v1/lite/tasks", self.lite_task()).json["task_id"]
        grant = {"scopes": ["agent:runtime"], "workspace_id": f"ws_{self.queue}"}
        self.worker_key = self.service.key(**grant)
        self.ids["lite"] = str(task)
        return self.ids["lite"]

    def lite_role(self) -> str:
        """A role that no other workspace has."""
        role = {"workspace_id": self.workspace(), "role_id": f"role_{next(_numbers)}", "name": "R"}
        assert self.service.post("/v1/lite/roles", role).status == 200
        return role["role_id"]

    def key_id(self) -> str:
        """A key that may be revoked."""
        return str(self.service.post("/v1/admin/keys", {}).json["grant"]["key_id"])


CLAIM = {"agent_id": "agt_a", "idempotency_key": "once"}


def _lease(stage: Stage, **more: Any) -> dict[str, Any]:
    return {"task_id": stage.leased(), "fencing_token": 1, **more}


def _submit(stage: Stage) -> dict[str, Any]:
    return {**_lease(stage), "output": {"a": 1}}


# What to ask of each verb so that it does something: the body, or the names in the path.
ASKS: dict[str, Callable[[Stage], dict[str, Any]]] = {
    "define_queue": lambda stage: {"name": stage.queue},
    "pause_queue": lambda stage: {"name": stage.queue},
    "resume_queue": lambda stage: {"name": stage.queue},
    "enqueue": lambda stage: {"queue": stage.queue, "kind": "k", "brief": {}},
    "enqueue_batch": lambda stage: {"tasks": [{"queue": stage.queue, "kind": "k", "brief": {}}]},
    "claim": lambda stage: {"queue": stage.queue, "worker": "w", "_": stage.ready()},
    "claim_batch": lambda stage: {"queue": stage.queue, "worker": "w", "limit": 2, "_": stage.ready()},
    "heartbeat": _lease,
    "submit": _submit,
    "submit_batch": lambda stage: {"submits": [{**_submit(stage), "idempotency_key": stage.queue}]},
    "split": lambda stage: _lease(stage, children=[{"brief": {}}]),
    "park": lambda stage: _lease(stage, reason="why"),
    "resume": lambda stage: {"task_id": stage.parked(), "input": {}},
    "release": _lease,
    "cancel": lambda stage: {"task_id": stage.ready(), "reason": "why"},
    "requeue": lambda stage: {"task_id": stage.dead()},
    "register_job": lambda stage: _lease(stage, job_id=f"job-{next(_numbers)}", model="m"),
    "update_job": lambda stage: {"{job_id}": stage.job(), "status": "completed"},
    "task": lambda stage: {"{task_id}": stage.ready()},
    "results": lambda stage: {"{task_id}": stage.dead()},
    "revoke_key": lambda stage: {"{key_id}": stage.key_id()},
    "issue_key": lambda stage: {"name": "another"},
    "put_record": lambda stage: {"{store}": "notes", "{key}": stage.queue, "value": 1},
    "put_records": lambda stage: {"writes": [{"store": "notes", "key": stage.queue, "value": 1}]},
    "get_record": lambda stage: {"{store}": "notes", "{key}": stage.record()},
    "record_history": lambda stage: {"{store}": "notes", "{key}": stage.record()},
    "list_records": lambda stage: {"{store}": "notes"},
    "publish_feed": lambda stage: {"{feed}": "news", "payload": {}},
    "poll_feed": lambda stage: {"{feed}": "news"},
    "put_blob": lambda stage: {"bytes": stage.queue.encode()},
    "get_blob": lambda stage: {"{sha256}": stage.blob()},
    "blob_meta": lambda stage: {"{sha256}": stage.blob()},
    "define_bucket": lambda stage: {"name": stage.queue},
    "put_object": lambda stage: {"{bucket}": "nouns", "{key}": stage.queue, "bytes": b"x"},
    "get_object": lambda stage: {"{bucket}": "nouns", "{key}": stage.object()},
    "object_meta": lambda stage: {"{bucket}": "nouns", "{key}": stage.object()},
    "object_history": lambda stage: {"{bucket}": "nouns", "{key}": stage.object()},
    "list_objects": lambda stage: {"{bucket}": "nouns"},
    "define_workspace": lambda stage: {"workspace_id": stage.workspace(), "name": "another"},
    "define_role": lambda stage: {"workspace_id": stage.workspace(), "role_id": "role_r", "name": "R"},
    "assign_queue": lambda stage: {"workspace_id": stage.workspace(), "queue_id": stage.queue},
    "define_agent": lambda stage: {"workspace_id": stage.workspace(), "agent_id": "agt_a"},
    "define_lite_task": lambda stage: stage.lite_task(),
    "workspace": lambda stage: {"{workspace_id}": stage.workspace()},
    "topic_messages": lambda stage: {"{role_id}": stage.lite_role()},
    "claim_next": lambda stage: {"{queue_id}": stage.queue, "_": stage.lite_ready(), **CLAIM},
    "claim_task": lambda stage: {"{task_id}": stage.lite_ready(), **CLAIM},
    "search_nouns": lambda stage: {"query": "notes"},
    "noun": lambda stage: {"{place}": "notes", "{key}": stage.record()},
    "read_noun": lambda stage: {"{place}": "nouns", "{key}": stage.object()},
    "match_reflex": lambda stage: {"query": "notes"},
}


def ask(stage: Stage, row: Row, key: str | None) -> Reply:
    """Ask a row with a key."""
    fields = ASKS.get(row.name, lambda stage: {})(stage)
    fields.pop("_", None)
    path = row.path or ""
    for name in [name for name in fields if name.startswith("{")]:
        path = path.replace(name, fields.pop(name))
    query = {**(fields if row.reads else {}), **({row.flag: "true"} if row.flag is not None else {})}
    path += f"?{urlencode(query)}" if query else ""
    headers = {"idempotency-key": f"key-{next(_numbers)}"} if row.name == "submit" else {}
    body = None if row.reads else fields.pop("bytes", fields)
    return stage.service.call(row.method, path, body, key=key, headers=headers)


@pytest.mark.parametrize("name", ROWS)
def test_answers_whom_it_is_for(service: Running, name: str) -> None:
    """A row answers its status and its model to a key that has what the row needs."""
    stage, row = Stage(service), ROWS[name]
    if name in AGENT:
        stage.lite_ready()
    key = stage.worker_key if name in HOLDER | AGENT | {"claim", "claim_batch"} else service.admin

    reply = ask(stage, row, key)

    assert reply.status == row.status, reply.body
    assert reply.headers["x-content-type-options"] == "nosniff"
    if row.answer_body == "bytes":
        assert reply.body
        return
    assert reply.headers["content-type"] == "application/json"
    assert reply.headers["cache-control"] == "no-store"
    fields = msgspec.structs.fields(row.answer)
    tag = {row.answer.__struct_config__.tag_field} - {None}
    names = {one.name for one in fields if one.required} | tag, {one.name for one in fields} | tag
    assert names[0] <= reply.json.keys() <= names[1]


@pytest.mark.parametrize("name", ROWS)
def test_needs_a_key(service: Running, name: str) -> None:
    """Without a key, and with a wrong one, a row is `unauthorized`, before it looks at what is asked; only
    health is for everybody.
    """
    path = (ROWS[name].path or "").replace("{", "").replace("}", "")
    without = service.call(ROWS[name].method, path, key=None)
    wrong = service.call(ROWS[name].method, path, key="tessera_none")

    if name in WITHOUT_KEY:
        assert (without.status, wrong.status) == (200, 200)
        return
    assert (without.status, without.code) == (401, "unauthorized")
    assert without.headers["www-authenticate"] == "Bearer"
    assert wrong.code in ("unauthorized", "rate_limited")


@pytest.mark.parametrize("name", sorted(ADMIN))
def test_operators_rows_need_an_admin_key(service: Running, name: str) -> None:
    """What only operators may do is `scope_denied` to a key that covers everything else."""
    stage = Stage(service)

    reply = ask(stage, ROWS[name], service.key(effect_classes=["read", "write-internal"]))

    assert (reply.status, reply.code) == (403, "scope_denied")


@pytest.mark.parametrize("name", sorted(STORE))
def test_the_stores_rows_need_its_scope(service: Running, name: str) -> None:
    """What belongs to the store is `forbidden` to a key without the store scope, admin or not."""
    stage = Stage(service)

    for scopes in ([], ["admin"]):
        reply = ask(stage, ROWS[name], service.key(scopes=scopes))
        assert (reply.status, reply.code) == (403, "forbidden")


@pytest.mark.parametrize(
    "name", sorted(set(ROWS) - ADMIN - ANY_KEY - STORE - AGENT - WORKSPACE - WITHOUT_KEY)
)
def test_another_queues_key_is_forbidden(service: Running, name: str) -> None:
    """A key for another queue is `forbidden` whatever it would do to a task of this one."""
    stage = Stage(service)
    other = service.key(queues=["elsewhere"], scopes=["store"])

    reply = ask(stage, ROWS[name], other)

    if name == "submit_batch":
        (result,) = reply.json["results"]
        assert (result["status"], result["code"]) == (403, "forbidden")
        return
    assert (reply.status, reply.code) == (403, "forbidden")


@pytest.mark.parametrize("name", sorted(HOLDER - {"submit_batch"}))
def test_another_holder_is_denied(service: Running, name: str) -> None:
    """A key that covers the queue but did not claim the lease is `scope_denied`."""
    stage = Stage(service)

    reply = ask(stage, ROWS[name], service.key(queues=[stage.queue]))

    assert (reply.status, reply.code) == (403, "scope_denied")


def test_the_table_is_all_there_is(service: Running) -> None:
    """Every way to ask is a row, and every row with fields is asked for something here."""
    assert set(ASKS) <= set(ROWS)
    for name in set(ROWS) - set(ASKS):
        required = [one for one in msgspec.structs.fields(ROWS[name].ask) if one.required]
        assert required == [], name
