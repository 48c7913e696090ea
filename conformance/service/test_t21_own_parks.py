"""T21: the key that parked a task may not resume it; a resume is recorded with its key."""

from __future__ import annotations

import pytest

from conformance.audit import audit
from conformance.bench import Bench
from conformance.raw import ask


@pytest.mark.parametrize("scopes", [[], ["admin"]])
def test_nobody_answers_their_own_park(bench: Bench, scopes: list[str]) -> None:
    """The parking key is 403, another key's answer counts and is in the log under its id; an admin key may
    answer itself.
    """
    queue, url = bench.queue(), bench.backend.url
    task_id = bench.enqueue(queue)
    grant = {"queues": [queue], "effect_classes": ["read"]}
    agent = bench.client.issue_key(scopes=scopes, **grant)
    person = bench.client.issue_key(**grant)
    lease = ask(url, "POST", "/v1/tasks/claim", agent.key, {"queue": queue, "worker": "agent"}).body
    handle = {"task_id": task_id, "fencing_token": lease["fencing_token"]}
    parked = ask(url, "POST", "/v1/tasks/park", agent.key, {**handle, "reason": "may I?"})
    assert (parked.status, parked.body["parked_by"]) == (200, agent.grant.key_id)
    answer = {"task_id": task_id, "input": {"approved": True}}
    own = ask(url, "POST", "/v1/tasks/resume", agent.key, answer)
    if not scopes:
        assert own.refuses(403, "forbidden"), own
        assert bench.state(task_id) == "waiting"
        own = ask(url, "POST", "/v1/tasks/resume", person.key, answer)
    assert (own.status, own.body["state"]) == (200, "ready")
    assert bench.last(task_id, "resumed").key_id == (agent if scopes else person).grant.key_id
    assert bench.claim(queue).inputs[-1].input == {"approved": True}
    audit(bench)
