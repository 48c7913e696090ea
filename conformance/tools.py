"""The tools of a service, asked by the official MCP client, with the handshake and without."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

SEVEN = {"queues", "claim", "heartbeat", "submit", "split", "park", "resume"}
REVISIONS = ("legacy", "2026-07-28")  # that of the handshake, and the stateless one


def talk(url: str, key: str, revision: str, act: Callable[[Client], Awaitable[Any]]) -> Any:
    """What comes of a conversation under a key."""

    async def talking() -> Any:
        async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {key}"}, timeout=60) as http:
            transport = streamable_http_client(f"{url.rstrip('/')}/mcp", http_client=http)
            async with Client(transport, mode=revision) as client:
                return await act(client)

    return asyncio.run(talking())


def use(url: str, key: str, revision: str, tool: str, **given: Any) -> Any:
    """One tool's result, as the client checked it against what the tool promises."""
    return talk(url, key, revision, lambda client: client.call_tool(tool, given))


def problem(result: Any) -> Any:
    """The problem document of a refusal, which a model must be able to read."""
    assert result.is_error, result
    return json.loads(result.content[0].text)
