"""T22: resuming takes the task's effect class, and `admin` for what reaches a repository or the public, over
HTTP and over MCP. The part for pages stands with them.
"""

from __future__ import annotations

import pytest

from conformance.audit import audit
from conformance.bench import Bench
from conformance.raw import ask
from conformance.tools import problem, use

ADMIN = ["admin"]


RIGHTS = pytest.mark.parametrize(
    ("task", "held", "scopes", "refusal"),
    [
        ("write-internal", ["read"], [], "scope_denied"),
        ("write-internal", ["write-repo"], ADMIN, "scope_denied"),
        ("write-internal", ["write-internal"], [], None),
        ("write-repo", ["write-repo"], [], "scope_denied"),
        ("write-repo", ["write-internal"], ADMIN, "scope_denied"),
        ("write-repo", ["write-repo"], ADMIN, None),
    ],
)


@RIGHTS
def test_an_answer_needs_the_rights_of_the_work(
    bench: Bench, task: str, held: list[str], scopes: list[str], refusal: str | None
) -> None:
    """A key without the task's effect class, or without `admin` where the work needs it, is 403 and the task
    stays parked; one with both resumes it.
    """
    queue, url = bench.queue(), bench.backend.url
    task_id = bench.enqueue(queue, effect_class=task)
    lease = bench.claim(queue)
    bench.client.park(lease.task_id, lease.fencing_token, "may I?")
    key = bench.client.issue_key(queues=[queue], effect_classes=held, scopes=scopes).key
    answer = ask(url, "POST", "/v1/tasks/resume", key, {"task_id": task_id, "input": 1, "park": 1})
    if refusal is None:
        assert (answer.status, answer.body["state"]) == (200, "ready")
    else:
        assert answer.refuses(403, refusal), answer
        assert (bench.state(task_id), bench.task(task_id).parks) == ("waiting", 1)
    audit(bench)


def test_an_answer_needs_the_queue(bench: Bench) -> None:
    """A key for another queue is 403 `forbidden`, whatever else it may do."""
    queue, other = bench.queue(), bench.queue()
    task_id = bench.enqueue(queue)
    lease = bench.claim(queue)
    bench.client.park(lease.task_id, lease.fencing_token, "may I?")
    key = bench.client.issue_key(queues=[other], effect_classes=["read"], scopes=ADMIN).key
    answer = ask(bench.backend.url, "POST", "/v1/tasks/resume", key, {"task_id": task_id, "input": 1})
    assert answer.refuses(403, "forbidden"), answer
    audit(bench)


@RIGHTS
def test_an_answer_by_a_tool_needs_the_same_rights(
    bench: Bench, task: str, held: list[str], scopes: list[str], refusal: str | None
) -> None:
    """The tool `resume` is refused and allowed as the request is."""
    queue, url = bench.queue(), bench.backend.url
    task_id = bench.enqueue(queue, effect_class=task)
    lease = bench.claim(queue)
    bench.client.park(lease.task_id, lease.fencing_token, "may I?")
    key = bench.client.issue_key(queues=[queue], effect_classes=held, scopes=scopes).key
    result = use(url, key, "2026-07-28", "resume", task_id=task_id, input=1, park=1)
    if refusal is None:
        assert result.structured_content["state"] == "ready"
    else:
        assert (problem(result)["status"], problem(result)["code"]) == (403, refusal)
        assert (bench.state(task_id), bench.task(task_id).parks) == ("waiting", 1)
    audit(bench)
