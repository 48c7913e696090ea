"""The inspector's command line, and with it the official client in TypeScript."""

from __future__ import annotations

import json
from typing import Any

from service.running import HOST, Running
from service.tools import SEVEN

from interop.mcp.conftest import Run

INSPECTOR = "inspector/clients/launcher/build/index.js"


def asked(run: Run, service: Running, method: str, *more: str, key: str | None = None) -> tuple[int, Any]:
    """What the inspector's exit code is, and what it prints."""
    ran = run(
        INSPECTOR, "--cli", f"http://{HOST}:{service.port}/mcp", "--transport", "http",
        "--header", f"Authorization: Bearer {key or service.admin}", "--method", method, *more,
    )  # fmt: skip
    return ran.returncode, json.loads(ran.stdout) if ran.stdout.startswith("{") else ran.stderr


def tool(run: Run, service: Running, name: str, **given: Any) -> tuple[int, Any]:
    """A tool's result."""
    words = [word for field, value in given.items() for word in ("--tool-arg", f"{field}={value}")]
    return asked(run, service, "tools/call", "--tool-name", name, *words)


def test_h04_it_finds_and_uses_the_tools(run: Run, service: Running) -> None:
    """H04: it lists exactly the seven tools, claims a task, hands in its result, and is told of a refusal."""
    task_id = service.enqueue("q", brief={"do": "it"})
    code, listed = asked(run, service, "tools/list")
    assert (code, [one["name"] for one in listed["tools"]]) == (0, SEVEN)

    code, claimed = tool(run, service, "claim", queue="q", worker="w")
    lease = claimed["structuredContent"]["lease"]
    assert (code, lease["task_id"], lease["brief"]) == (0, task_id, {"do": "it"})

    ended = {"task_id": task_id, "fencing_token": 1, "output": '{"a": 1}', "idempotency_key": "once"}
    code, submitted = tool(run, service, "submit", **ended)
    assert (code, submitted["structuredContent"]["state"]) == (0, "done")

    code, refused = tool(run, service, "heartbeat", task_id=task_id, fencing_token=1)
    assert code != 0
    assert json.loads(refused["content"][0]["text"])["code"] == "stale_lease"


def test_without_a_key_it_is_refused(run: Run, service: Running) -> None:
    """A wrong key gets no list of tools."""
    code, said = asked(run, service, "tools/list", key="tessera_of_nobody")

    assert code != 0
    assert "tools" not in said
