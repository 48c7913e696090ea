"""T11: an MCP client initializes, lists the tools, claims and submits."""

from __future__ import annotations

from typing import Any

import pytest
from mcp import Client

from conformance.audit import audit
from conformance.bench import Bench
from conformance.raw import ask
from conformance.tools import REVISIONS, SEVEN, problem, talk, use


@pytest.mark.parametrize("revision", REVISIONS)
def test_a_client_lists_claims_and_submits(bench: Bench, revision: str) -> None:
    """Seven tools with schemas that allow nothing unknown; a claim gives the lease, a submit its receipt, the
    same submit again the same receipt.
    """
    queue = bench.queue()
    task_id = bench.enqueue(queue, brief={"n": 1})

    async def act(client: Client) -> None:
        listed = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert set(listed) == SEVEN
        for tool in listed.values():
            assert tool.description
            assert tool.input_schema["additionalProperties"] is False
            assert tool.output_schema is not None
            assert tool.output_schema["additionalProperties"] is False
        claimed = await client.call_tool("claim", {"queue": queue, "worker": "w"})
        lease = claimed.structured_content["lease"]
        assert (lease["task_id"], lease["brief"], claimed.is_error) == (task_id, {"n": 1}, False)
        ended: dict[str, Any] = {
            "task_id": task_id, "fencing_token": lease["fencing_token"], "output": {"n": 2},
            "idempotency_key": bench.name(),
        }  # fmt: skip
        first, again = [(await client.call_tool("submit", ended)).structured_content for _ in range(2)]
        assert (first["state"], first["replayed"]) == ("done", False)
        assert again == {**first, "replayed": True}

    talk(bench.backend.url, bench.backend.key, revision, act)
    assert bench.state(task_id) == "done"
    audit(bench)


@pytest.mark.parametrize("revision", REVISIONS)
def test_an_empty_claim_is_a_result(bench: Bench, revision: str) -> None:
    """Without work a claim gives a null lease and when to come back."""
    result = use(bench.backend.url, bench.backend.key, revision, "claim", queue=bench.queue(), worker="w")
    assert not result.is_error
    assert result.structured_content["lease"] is None
    assert 1 <= result.structured_content["retry_after_seconds"] <= 30
    audit(bench)


@pytest.mark.parametrize("revision", REVISIONS)
def test_a_refusal_is_a_result_that_a_model_can_read(bench: Bench, revision: str) -> None:
    """An unknown argument is `invalid_request`, an old token `stale_lease`, both as problem documents."""
    url, key = bench.backend.url, bench.backend.key
    queue = bench.queue()
    task_id = bench.enqueue(queue)
    lease = bench.claim(queue)
    unknown = problem(use(url, key, revision, "claim", queue=queue, worker="w", more=1))
    assert (unknown["status"], unknown["code"]) == (400, "invalid_request")
    old = {"task_id": task_id, "fencing_token": lease.fencing_token + 1}
    stale = problem(use(url, key, revision, "heartbeat", **old))
    assert (stale["status"], stale["code"]) == (409, "stale_lease")
    audit(bench)


@pytest.mark.parametrize("revision", REVISIONS)
def test_a_claim_repeated_under_its_key_is_one_claim(bench: Bench, revision: str) -> None:
    """The same idempotency key gives the same lease while it lives, and the task counts one attempt."""
    queue = bench.queue()
    task_id = bench.enqueue(queue)
    given = {"queue": queue, "worker": "w", "idempotency_key": bench.name()}
    url, key = bench.backend.url, bench.backend.key
    first, again = (use(url, key, revision, "claim", **given).structured_content for _ in range(2))
    assert first == again
    assert bench.task(task_id).attempts == 1
    audit(bench)


def test_only_post_with_a_key_from_nowhere_else_is_answered(bench: Bench) -> None:
    """GET is 405; no key is 401; a good key from a page of another origin, or under another host, is 403."""
    bench.queue()
    url, key = bench.backend.url, bench.backend.key
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    taken = {"Accept": "application/json, text/event-stream"}
    assert ask(url, "GET", "/mcp", key).refuses(405, "method_not_allowed")
    assert ask(url, "POST", "/mcp", None, message, **taken).refuses(401, "unauthorized")
    page = ask(url, "POST", "/mcp", key, message, Origin="https://evil.example", **taken)
    assert page.refuses(403, "forbidden")
    assert ask(url, "POST", "/mcp", key, message, Host="evil.example", **taken).refuses(403, "forbidden")
    assert ask(url, "POST", "/mcp", key, message, **taken).status == 200
    audit(bench)
