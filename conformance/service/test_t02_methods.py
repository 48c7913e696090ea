"""T02: writes are POST-only; any other method on a write path is 405 and changes nothing."""

from __future__ import annotations

import pytest

from conformance.audit import audit
from conformance.bench import Bench
from conformance.raw import ask
from conformance.service.paths import READ_TOO, WRITES

METHODS = ("GET", "PUT", "PATCH", "DELETE")


@pytest.mark.parametrize("path", WRITES)
def test_only_a_post_writes(bench: Bench, path: str) -> None:
    """Another method on a write path is 405, says which method is right, and leaves a task as it was."""
    task_id = bench.enqueue(bench.queue())
    about = {"task_id": task_id, "reason": "no", "queue": bench.queues[0], "worker": "w"}
    before = bench.task(task_id), len(bench.log())
    for method in METHODS:
        if method == "GET" and path in READ_TOO:
            assert ask(bench.backend.url, method, path, bench.backend.key).status in (200, 404)
            continue
        answer = ask(bench.backend.url, method, path, bench.backend.key, about)
        assert answer.refuses(405, "method_not_allowed"), answer
        assert "POST" in answer.headers["Allow"]
        assert (method in answer.headers["Allow"]) is False
    assert (bench.task(task_id), len(bench.log())) == before
    audit(bench)


def test_a_write_in_a_query_does_nothing(bench: Bench) -> None:
    """A GET that carries a write's fields in its query is 405 like any other, and claims nothing."""
    queue = bench.queue()
    task_id = bench.enqueue(queue)
    path = f"/v1/tasks/claim?queue={queue}&worker=w"
    assert ask(bench.backend.url, "GET", path, bench.backend.key).refuses(405, "method_not_allowed")
    assert ask(bench.backend.url, "HEAD", path, bench.backend.key).status == 405
    assert bench.state(task_id) == "ready"
    audit(bench)


def test_looks_take_no_post(bench: Bench) -> None:
    """A POST where there is only something to look at is 405, and names GET."""
    bench.queue()
    for path in ("/v1/counts", "/v1/health", "/v1/events"):
        answer = ask(bench.backend.url, "POST", path, bench.backend.key, {})
        assert answer.refuses(405, "method_not_allowed"), answer
        assert "GET" in answer.headers["Allow"]
    audit(bench)
