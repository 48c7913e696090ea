"""What an agent's own hooks tell the service: that a prompt was taken up, that a turn has ended, that
somebody is being asked. They run outside the agent's sandbox, so they are the way to acknowledge that
always works.

A hook never stands in an agent's way: it is quick, says nothing, and what it cannot tell it lets be.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from tessera.runtime import Runtime
from tessera.wake import gita
from tessera.wake.client import Client
from tessera.wake.endpoints.tmux import SHELLS
from tessera.wake.limits import TRANSCRIPT_BYTES_MAX
from tessera.wake.processes import name_of, parent_of, started
from tessera.wake.text import mentioned
from tessera.wake.wrapper import ENDPOINT_VARIABLE

EVENTS: Final = {
    "SessionStart": "session_start", "UserPromptSubmit": "prompt", "PermissionRequest": "permission",
    "PostToolUse": "tool", "Stop": "stop", "SessionEnd": "session_end",
}  # fmt: skip
ACK_SECONDS: Final = 600  # a turn may take long before the prompt that waits behind it is taken up


def tell(
    harness: str, payload: dict[str, Any], client: Client, environ: Mapping[str, str], runtime: Runtime
) -> list[str]:
    """Take in one hook's payload; the ids of the wakes that it acknowledged. A Codex session that lives in no
    endpoint yet becomes one: its queue.
    """
    event = EVENTS.get(str(payload.get("hook_event_name")))
    if event is None:
        return []
    endpoint_id = own_endpoint(harness, payload, client, environ)
    if endpoint_id is None and harness == "codex" and event == "session_start":
        endpoint_id = register_codex(payload, client, runtime)
    if endpoint_id is None:
        return []
    said = str(payload.get("prompt", "")) if event == "prompt" else ""
    if event == "stop":
        said = _tail(payload.get("transcript_path"))
    answer = client.call("activity", endpoint_id=endpoint_id, event=event, message_ids=mentioned(said)[-200:])
    found: list[str] = answer["acknowledged"]
    return found


def own_endpoint(
    harness: str, payload: dict[str, Any], client: Client, environ: Mapping[str, str]
) -> str | None:
    """The endpoint that this hook's agent lives in: the wrapper's, the one of its pane, or its session's."""
    if given := environ.get(ENDPOINT_VARIABLE):
        return given
    socket, _, rest = environ.get("TMUX", "").partition(",")
    server, pane = rest.split(",")[0], environ.get("TMUX_PANE")
    session = f"{harness} {payload.get('session_id')}"
    for one in client.call("endpoints")["endpoints"]:
        if one["state"] not in ("live", "stale"):
            continue
        target = one["target"]
        here = (target.get("socket"), target.get("server_pid"), target.get("pane")) == (socket, server, pane)
        if one["name"] == session or (one["kind"] == "tmux" and here):
            found: str = one["endpoint_id"]
            return found
    return None


def register_codex(payload: dict[str, Any], client: Client, runtime: Runtime) -> str | None:
    """A live Codex session takes wakes through its own queue: nothing is typed at all."""
    session, folder = payload.get("session_id"), payload.get("cwd")
    if not isinstance(session, str) or not isinstance(folder, str):
        return None
    repo = gita.Registry(gita.registry_path(), runtime).name_of(Path(folder))
    agent = next(_agents(), None)
    if repo is None or agent is None:
        return None
    command = ["codex", "queue", f"--thread={session}", "--message={text}"]
    answer = client.call(
        "register", name=f"codex {session}", repos=[repo], kind="hook", harness="codex", replace=True,
        target={"command": command, "cwd": folder}, ack_timeout_s=ACK_SECONDS,
        owner={"pid": agent, "start": started(agent)},
    )  # fmt: skip
    endpoint_id: str = answer["endpoint_id"]
    return endpoint_id


def _agents() -> Iterator[int]:
    """The processes above this one that are no shells: the first is the agent that called the hook."""
    pid: int | None = os.getppid()
    while pid is not None and pid > 1:
        if name_of(pid) not in SHELLS:
            yield pid
        pid = parent_of(pid)


def _tail(path: object) -> str:
    """The end of a session's transcript, if it can be read."""
    try:
        with open(str(path), "rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - TRANSCRIPT_BYTES_MAX))
            return file.read(TRANSCRIPT_BYTES_MAX).decode(errors="replace")
    except OSError:
        return ""
