"""T01: keys are required, and open what they are for."""

from __future__ import annotations

import secrets

import pytest

from conformance.audit import audit
from conformance.bench import Bench
from conformance.raw import ask
from conformance.service.paths import LOOKS, WRITES


@pytest.mark.parametrize("path", [*WRITES, *LOOKS])
def test_nothing_is_answered_without_a_key(bench: Bench, path: str) -> None:
    """Without a key every path but health is 401."""
    method, body = ("POST", {}) if path in WRITES else ("GET", None)
    answer = ask(bench.backend.url, method, path, None, body)
    assert answer.refuses(401, "unauthorized"), answer
    assert ask(bench.backend.url, "GET", "/v1/health").status == 200


def test_a_wrong_key_is_no_key(bench: Bench) -> None:
    """A key that nobody issued, one cut short and one of another scheme are 401."""
    bench.queue()
    url, good = bench.backend.url, bench.backend.key
    unknown = ask(url, "GET", "/v1/counts", secrets.token_urlsafe(32))
    cut = ask(url, "GET", "/v1/counts", good[:-1])
    basic = ask(url, "GET", "/v1/counts", Authorization=f"Basic {good}")
    for answer in (unknown, cut, basic):
        assert answer.refuses(401, "unauthorized"), answer
    audit(bench)


def test_a_key_for_another_queue_is_refused(bench: Bench) -> None:
    """A key opens its own queue; of another one it can neither make, see, claim nor end a task."""
    ours, theirs = bench.queue(), bench.queue()
    task_id = bench.enqueue(theirs)
    key = bench.client.issue_key(queues=[ours], effect_classes=["read"]).key
    url = bench.backend.url
    spec = {"queue": theirs, "kind": "work", "brief": {}}
    for answer in (
        ask(url, "POST", "/v1/tasks", key, spec),
        ask(url, "GET", f"/v1/tasks/{task_id}", key),
        ask(url, "GET", f"/v1/tasks/{task_id}/results", key),
        ask(url, "POST", "/v1/tasks/claim", key, {"queue": theirs, "worker": "w"}),
        ask(url, "POST", "/v1/tasks/cancel", key, {"task_id": task_id, "reason": "mine"}),
    ):
        assert answer.refuses(403, "forbidden"), answer
    made = ask(url, "POST", "/v1/tasks", key, {**spec, "queue": ours})
    assert made.status == 201
    assert bench.state(made.body["task_id"]) == bench.state(task_id) == "ready"
    audit(bench)


def test_a_revoked_key_counts_no_more_at_once(bench: Bench) -> None:
    """The first request after a revocation is 401, also where the key was good a moment ago."""
    issued = bench.client.issue_key(queues=[bench.queue()], effect_classes=["read"])
    url = bench.backend.url
    assert ask(url, "GET", "/v1/counts", issued.key).status == 200
    bench.client.revoke_key(issued.grant.key_id)
    assert ask(url, "GET", "/v1/counts", issued.key).refuses(401, "unauthorized")
    audit(bench)


def test_a_key_travels_in_its_header_alone(bench: Bench) -> None:
    """A good key in the query string is 401, for it would end up in somebody's log."""
    queue = bench.queue()
    key = bench.client.issue_key(queues=[queue], effect_classes=["read"]).key
    url = bench.backend.url
    for name in ("key", "token", "api_key", "access_token"):
        assert ask(url, "GET", f"/v1/counts?{name}={key}").refuses(401, "unauthorized")
        assert ask(url, "GET", f"/v1/counts?{name}={key}", key).refuses(401, "unauthorized")
    audit(bench)
