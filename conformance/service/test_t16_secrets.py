"""T16: no key appears in a response, a page or a log."""

from __future__ import annotations

from typing import Any

from conformance.audit import audit
from conformance.bench import Bench
from conformance.raw import Answer, ask

SHOWN_MAX = 8  # characters of a key that nobody may read anywhere


def test_a_key_is_shown_once_and_never_again(bench: Bench) -> None:
    """The answer that makes a key shows it; lists, the log and the grant of its revocation do not."""
    issued = bench.client.issue_key(queues=[bench.queue()], effect_classes=["read"])
    url, admin = bench.backend.url, bench.backend.key
    revoked = ask(url, "POST", f"/v1/admin/keys/{issued.grant.key_id}/revoke", admin, {})
    assert revoked.status == 200
    seen = [revoked, ask(url, "GET", "/v1/admin/keys", admin), *_all_events(bench)]
    assert seen[1].status == 200
    assert issued.grant.key_id in seen[1].text
    assert [answer for answer in seen if issued.key[:SHOWN_MAX] in answer.whole] == []
    audit(bench)


def test_a_key_sent_anywhere_comes_back_nowhere(bench: Bench) -> None:
    """A good key put where no key belongs is in no answer, no page, no event and no log."""
    queue = bench.queue()
    task_id = bench.enqueue(queue)
    key = bench.client.issue_key(queues=[queue], effect_classes=["read"]).key
    answers = [*_misplaced(bench.backend.url, key, queue, task_id), *_all_events(bench)]
    answers += [ask(bench.backend.url, "GET", page, key) for page in ("/board", "/healthz", "/v1/health")]
    assert {answer.status for answer in answers[:5]} <= {400, 401, 403, 404}
    found = [answer for answer in answers if key[:SHOWN_MAX] in answer.whole]
    assert found == []
    log = bench.backend.said()
    assert "/v1/tasks" in log  # it does log what was asked
    assert key[:SHOWN_MAX] not in log
    assert bench.backend.key[:SHOWN_MAX] not in log
    audit(bench)


def _misplaced(url: str, key: str, queue: str, task_id: str) -> list[Answer]:
    """Requests with a key in the query, the path, a field, a value that is refused, another header."""
    claim = {"queue": queue, "worker": "w"}
    return [
        ask(url, "GET", f"/v1/tasks?token={key}", key),
        ask(url, "GET", f"/v1/tasks/{key}", key),
        ask(url, "POST", "/v1/tasks/claim", key, {**claim, "api_key": key}),
        ask(url, "POST", "/v1/tasks/claim", key, {**claim, "kinds": [f"{key} "]}),
        ask(url, "POST", "/v1/tasks/claim", None, claim, X_Api_Key=key),
        ask(url, "POST", "/v1/tasks/claim", f"{key}x", claim),
        ask(url, "GET", f"/{key}", None, None, Cookie=f"key={key}", Referer=f"https://here.example/?{key}"),
        _tool(url, key, {**claim, "api_key": key}),
        _tool(url, key, {**claim, "kinds": [f"{key} "]}),
        ask(url, "GET", f"/v1/tasks/{task_id}", key),
    ]


def _tool(url: str, key: str, given: dict[str, Any]) -> Answer:
    """A tool's call, sent as it is."""
    params = {"name": "claim", "arguments": given}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    return ask(url, "POST", "/mcp", key, message, Accept="application/json, text/event-stream")


def _all_events(bench: Bench) -> list[Answer]:
    pages, after = [], 0
    while True:
        page = ask(bench.backend.url, "GET", f"/v1/events?after={after}&limit=10000", bench.backend.key)
        assert page.status == 200
        pages.append(page)
        if not page.body["events"]:
            return pages
        after = page.body["events"][-1]["seq"]
