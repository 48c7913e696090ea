"""T22 by `/work`: the page gives no more rights than the path behind it. A visitor without the rights sends
the very form that one with all rights was given.
"""

from __future__ import annotations

import pytest

from conformance.audit import audit
from conformance.bench import Bench
from conformance.raw import ask
from conformance.service.pages import Visitor

ADMIN = ["admin"]


@pytest.mark.parametrize(
    ("task", "held", "scopes", "may"),
    [
        ("write-internal", ["read"], [], False),
        ("write-internal", ["write-repo"], ADMIN, False),
        ("write-internal", ["write-internal"], [], True),
        ("write-repo", ["write-repo"], [], False),
        ("write-repo", ["write-internal"], ADMIN, False),
        ("write-repo", ["write-repo"], ADMIN, True),
    ],
)
def test_an_answer_by_the_page_needs_the_rights_of_the_work(
    bench: Bench, task: str, held: list[str], scopes: list[str], may: bool
) -> None:
    """A key without the task's effect class, or without `admin` where the work needs it, is not shown the
    task, and its answer is 403 and leaves it parked; one with both is shown it and resumes it.
    """
    queue, url = bench.queue(), bench.backend.url
    task_id = bench.enqueue(queue, effect_class=task)
    lease = bench.claim(queue)
    bench.client.park(lease.task_id, lease.fencing_token, "may I?")
    key = bench.client.issue_key(queues=[queue], effect_classes=held, scopes=scopes).key
    with Visitor(url, bench.backend.key) as everybody, Visitor(url, key) as visitor:
        form = everybody.answer_form(task_id)
        assert (f"/work/tasks/{task_id}" in visitor.page("/work")) == may
        assert visitor.status(f"/work/tasks/{task_id}") == (200 if may else 403)
        assert visitor.send(form, "yes") == (200 if may else 403)
    if may:
        assert bench.state(task_id) == "ready"
        assert bench.claim(queue).inputs[-1].input == "yes"
    else:
        assert (bench.state(task_id), bench.task(task_id).parks) == ("waiting", 1)
    audit(bench)


def test_nobody_answers_their_own_park_by_the_page(bench: Bench) -> None:
    """The key that parked a task neither finds it at `/work` nor may answer it there; another key may."""
    queue, url = bench.queue(), bench.backend.url
    own = bench.client.issue_key(queues=[queue])
    task_id = bench.enqueue(queue)
    lease = ask(url, "POST", "/v1/tasks/claim", own.key, {"queue": queue, "worker": "w"}).body
    park = {"task_id": task_id, "fencing_token": lease["fencing_token"], "reason": "may I?"}
    assert ask(url, "POST", "/v1/tasks/park", own.key, park).status == 200
    with Visitor(url, bench.backend.key) as other, Visitor(url, own.key) as visitor:
        form = other.answer_form(task_id)
        assert f"/work/tasks/{task_id}" not in visitor.page("/work")
        assert visitor.send(form, "yes") == 403
        assert bench.state(task_id) == "waiting"
        assert other.send(form, "yes") == 200
    assert bench.last(task_id, "resumed").key_id != own.grant.key_id
    assert bench.state(task_id) == "ready"
    audit(bench)
