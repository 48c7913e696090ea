"""The order in which a verb refuses, when several things are wrong at once. (Contract §2.)"""

from __future__ import annotations

import json
from typing import Any

import pytest
from verbs.bench import LAPSE, Bench
from verbs.refusals import refused, refused_after_lapse

VERBS = ()
# For each verb of a lease: its arguments after the task and the token, and the same with a bad body.
LEASE_VERBS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "heartbeat": ({}, {"spare": 1}),
    "submit": ({"output": 1, "idempotency_key": "i"}, {"output": 1, "idempotency_key": ""}),
    "split": ({"children": [{"brief": {}}]}, {"children": [{"brief": []}]}),
    "park": ({"reason": "r"}, {"reason": "é" * 5_000}),
    "release": ({}, {"delay_seconds": -1}),
    "register_job": ({"job_id": "j", "model": "m"}, {"job_id": "j", "model": ""}),
}


@pytest.fixture
def stocked(bench: Bench) -> Bench:
    """A task `t` of one kind, held under a key that covers it."""
    bench.queue("other")
    key = bench.key()
    bench.enqueue(task_id="t", effect_class="read")
    key.claim("q", "w")
    return bench


def call(store: Any, verb: str, task_id: str, token: object, *, bad: bool = False) -> Any:
    """A verb of a lease, by its JSON: well formed, or with a bad body."""
    fields = LEASE_VERBS[verb][bad]
    ask = {"task_id": task_id, "fencing_token": token, **fields}
    return store._door.call(verb, json.dumps(ask).encode())


@pytest.mark.parametrize("verb", LEASE_VERBS)
def test_the_key_then_the_body_then_the_task(stocked: Bench, verb: str) -> None:
    """A key that does not count comes before a bad body, that before an unknown task, then the grant."""
    nobody, stranger = stocked.store.as_key("nobody's"), stocked.key(queues=["other"])
    refused(stocked, "unauthorized", call, nobody, verb, "none", 9, bad=True)
    refused(stocked, "invalid_request", call, stranger, verb, "none", 9, bad=True)
    refused(stocked, "invalid_request", call, stranger, verb, "t", 1, bad=True)
    refused(stocked, "not_found", call, stranger, verb, "none", 9)


@pytest.mark.parametrize("verb", LEASE_VERBS)
def test_the_grant_then_the_lease(stocked: Bench, verb: str) -> None:
    """The queue and the kind come before the token, a wrong token before the lease's owner."""
    elsewhere, kinds = stocked.key(queues=["other"]), stocked.key(kinds=["x"])
    for key in (elsewhere, kinds):
        refused(stocked, "forbidden", call, key, verb, "t", 1)
        refused(stocked, "forbidden", call, key, verb, "t", 9)
    other = stocked.key()
    refused(stocked, "stale_lease", call, other, verb, "t", 9)
    refused(stocked, "scope_denied", call, other, verb, "t", 1)


@pytest.mark.parametrize("verb", LEASE_VERBS)
def test_the_owner_then_the_lapse(stocked: Bench, verb: str) -> None:
    """Whose lease it is comes before whether it is live: a stranger's call does not even settle a lapse."""
    stocked.world.pass_seconds(LAPSE)
    refused(stocked, "scope_denied", call, stocked.key(), verb, "t", 1)
    refused_after_lapse(stocked, "stale_lease", call, stocked.store, verb, "t", 1)


def test_a_resume(stocked: Bench) -> None:
    """Body, task, queue and kind, effect class, state, whose park, which park, and then the schema."""
    stocked.store.park("t", 1, "r", input_schema={"type": "string"})
    reader = stocked.key(effect_classes=["write-internal"])
    stranger, plain = stocked.key(queues=["other"]), stocked.key()
    refused(stocked, "invalid_request", stranger.resume, "none", float("nan"))
    refused(stocked, "not_found", stranger.resume, "none", 1)
    refused(stocked, "forbidden", stranger.resume, "t", 1)
    refused(stocked, "scope_denied", reader.resume, "t", 1)
    ready = stocked.enqueue()
    refused(stocked, "scope_denied", reader.resume, ready, 1)
    refused(stocked, "invalid_state", plain.resume, ready, 1)
    refused(stocked, "invalid_state", plain.resume, "t", 1, 2)
    refused(stocked, "invalid_request", plain.resume, "t", 1, 1)


def test_an_enqueue(stocked: Bench) -> None:
    """Body, queue, queue and kind, effect class, then the task's id, then what it depends on."""
    stranger, plain = stocked.key(queues=["other"]), stocked.key(queues=["q"], kinds=["k"])
    stocked.enqueue("other", task_id="far")
    task = {"queue": "q", "kind": "k", "brief": {}}
    refused(stocked, "invalid_request", stranger.enqueue, **{**task, "queue": "none", "brief": []})
    refused(stocked, "not_found", stranger.enqueue, **{**task, "queue": "none"})
    refused(stocked, "forbidden", stranger.enqueue, **task, effect_class="public", task_id="far")
    broad = {**task, "effect_class": "public", "task_id": "far", "depends_on": ["far", "none"]}
    refused(stocked, "scope_denied", plain.enqueue, **broad)
    refused(stocked, "idempotency_conflict", plain.enqueue, **{**broad, "effect_class": "read"})
    refused(stocked, "forbidden", plain.enqueue, **task, depends_on=["none", "far"])
    refused(stocked, "not_found", plain.enqueue, **task, depends_on=["none"])


def test_a_cancel_and_a_claim(stocked: Bench) -> None:
    """Body, existence, queue and kind, effect class, and last the state."""
    stranger = stocked.key(queues=["other"])
    refused(stocked, "invalid_request", stranger.cancel, "none", "é" * 5_000)
    refused(stocked, "not_found", stranger.cancel, "none", "r")
    refused(stocked, "forbidden", stranger.cancel, "t", "r")
    refused(stocked, "scope_denied", stocked.key(effect_classes=["write-repo"]).cancel, "t", "r")
    refused(stocked, "invalid_request", stranger.claim, "none", "")
    refused(stocked, "not_found", stranger.claim, "none", "w")
    refused(stocked, "forbidden", stranger.claim, "q", "w", ["k"], ["public"])
