"""Talking MCP to a service under test: with the official client, or message by message."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from service.running import HOST, Reply, Running

HANDSHAKE, STATELESS = "legacy", "2026-07-28"
MODES = (HANDSHAKE, STATELESS)
SEVEN = ["queues", "claim", "heartbeat", "submit", "split", "park", "resume"]
ACCEPT = {"accept": "application/json, text/event-stream"}
Act = Callable[[Client], Awaitable[Any]]


async def session(
    service: Running, act: Act, mode: str = STATELESS, key: str | None = None, **headers: str
) -> Any:
    """What `act` comes to with an official client of its own."""
    sent = {"authorization": f"Bearer {key or service.admin}", **headers}
    async with httpx2.AsyncClient(headers=sent, timeout=40) as http:
        transport = streamable_http_client(f"http://{HOST}:{service.port}/mcp", http_client=http)
        async with Client(transport, mode=mode) as client:
            return await act(client)


def talk(service: Running, act: Act, mode: str = STATELESS, key: str | None = None, **headers: str) -> Any:
    """The same for a test that is no coroutine."""
    return asyncio.run(session(service, act, mode, key, **headers))


def call(service: Running, tool: str, *, mode: str = STATELESS, key: str | None = None, **given: Any) -> Any:
    """One tool's result."""
    return talk(service, lambda client: client.call_tool(tool, given), mode, key)


def good(result: Any) -> Any:
    """What a tool gave; its text says the same as its structure."""
    assert not result.is_error, result.content
    assert json.loads(result.content[0].text) == result.structured_content
    return result.structured_content


def refused(result: Any) -> dict[str, Any]:
    """The problem that a tool gave, readable in its text, with the next step."""
    assert result.is_error
    assert result.structured_content is None
    problem: dict[str, Any] = json.loads(result.content[0].text)
    assert {"title", "status", "detail", "code", "definite", "next"} <= problem.keys()
    return problem


def post(service: Running, method: str, params: Any = None, *, key: str = "admin", **headers: str) -> Reply:
    """One message of the revisions with a handshake, by hand; a header's `_` is `-`."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}}
    return service.post("/mcp", message, key=key, headers={**ACCEPT, **named})


def hold(service: Running, queue: str, key: str | None = None) -> dict[str, Any]:
    """A lease on a task of a new queue."""
    service.queue(queue)
    service.enqueue(queue)
    lease: dict[str, Any] = good(call(service, "claim", key=key, queue=queue, worker="w"))["lease"]
    return lease


def of(lease: dict[str, Any], **more: Any) -> dict[str, Any]:
    """What a holder's tools want of its lease."""
    return {"task_id": lease["task_id"], "fencing_token": lease["fencing_token"], **more}
