"""A stage on which every row of the surface can be asked for what it is there for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from typing import Any
from urllib.parse import urlencode

from service.running import Reply, Running

from tessera.surface import SURFACE, Row

ROWS = {name: row for name, row in SURFACE.items() if row.path is not None}
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


def place(stage: Stage, row: Row) -> tuple[str, dict[str, Any]]:
    """A row's path, with the names in it, and the fields that travel beside."""
    fields = ASKS.get(row.name, lambda stage: {})(stage)
    fields.pop("_", None)
    path = row.path or ""
    for name in [name for name in fields if name.startswith("{")]:
        path = path.replace(name, fields.pop(name))
    return path, fields


def ask(stage: Stage, row: Row, key: str | None) -> Reply:
    """Ask a row with a key."""
    path, fields = place(stage, row)
    query = {**(fields if row.reads else {}), **({row.flag: "true"} if row.flag is not None else {})}
    path += f"?{urlencode(query)}" if query else ""
    headers = {"idempotency-key": f"key-{next(_numbers)}"} if row.name == "submit" else {}
    body = None if row.reads else fields.pop("bytes", fields)
    return stage.service.call(row.method, path, body, key=key, headers=headers)
