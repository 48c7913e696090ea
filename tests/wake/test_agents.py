"""The agents' own ways: their command, their hooks, the tool over MCP, the file in a sandbox."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from wake.conftest import Daemon, Room, Tmux, until
from wake.test_tmux import attach, body_of

from tessera import agent_files
from tessera.errors import TesseraError
from tessera.wake import drops, install
from tessera.wake.errors import InvalidRequest, NotFound
from tessera.wake.text import frame

FAKE_CODEX = """#!{python}
import json, sys
with open({log!r}, "a") as log:
    log.write(json.dumps({{"event": "queued", "words": sys.argv[1:]}}) + "\\n")
sys.exit({code})
"""


def program(path: Path, code: int = 0) -> Path:
    """A stand-in for an agent's command, which logs its words; the log."""
    log = path.with_suffix(".log")
    path.write_text(FAKE_CODEX.format(python=sys.executable, log=str(log), code=code))
    path.chmod(0o755)
    return log


def words(log: Path) -> list[list[str]]:
    return [json.loads(line)["words"] for line in log.read_text().splitlines()] if log.exists() else []


def test_command_endpoint(room: Room) -> None:
    """A wake goes to an agent's command as one word, whole, and is never queued twice: what follows an
    unanswered one only waits again.
    """
    codex = room.folder / "codex"
    log = program(codex)
    target = {"command": [str(codex), "queue", "--thread=t1", "--message={text}"]}
    room.call("register", name="c", repos=["api"], kind="hook", target=target, harness="codex")
    sent = room.send(body="$(touch x); `id`\n--flag")
    room.step()
    room.pass_seconds(31)
    message = room.message(sent["message_id"])
    assert [one["reason"] for one in message["attempts"]] == [None, "already_queued"]
    ((_, thread, text),) = words(log)
    assert thread == "--thread=t1"
    assert body_of(text.removeprefix("--message=")) == "$(touch x); `id`\n--flag"


def test_command_that_fails(room: Room) -> None:
    """An exit code, a missing program and an owner that has ended are reasons, each kept."""
    codex = room.folder / "codex"
    program(codex, code=3)
    reasons = {}
    for name, command in (("fails", [str(codex), "{text}"]), ("missing", [str(room.folder / "none")])):
        endpoint = room.call("register", name=name, repos=["api"], kind="hook", target={"command": command},
                             delivery_max_attempts=1)  # fmt: skip
        sent = room.send(name, endpoint_id=endpoint["endpoint_id"])
        room.step()
        reasons[name] = room.message(sent["message_id"])["last_failure_reason"]
    assert reasons["fails"].startswith("command_exit_3")
    assert reasons["missing"].startswith("command_not_run")
    owner = subprocess.Popen(["sleep", "60"])
    room.call("register", name="owned", repos=["web"], kind="hook", target={"command": ["true"]},
              owner={"pid": owner.pid, "start": "another time"})  # fmt: skip
    owner.kill()
    owner.wait()
    assert room.call("endpoints", repo="web")["endpoints"][0]["live_reason"] == "owner_ended"


def test_command_reads_stdin(room: Room) -> None:
    """A command without a blank for the text gets it on stdin."""
    out = room.folder / "stdin.txt"
    target = {"command": ["sh", "-c", f"cat > {out}"]}
    room.call("register", name="c", repos=["api"], kind="hook", target=target)
    room.send(body="by stdin")
    room.step()
    assert body_of(out.read_text()) == "by stdin"


def test_prompt_hook_acknowledges(daemon: Daemon, tmux: Tmux) -> None:
    """The hook of the agent in a pane acknowledges the wake that its prompt holds, tells that it is busy,
    and later that it is idle; a quoted wake of another endpoint stays as it is.
    """
    daemon.start()
    pane, _ = tmux.composer()
    endpoint = attach(daemon, tmux, pane, "--harness", "claude")
    sent = daemon.send("k", "hello")
    daemon.until_state(sent["message_id"], "awaiting_ack")
    daemon.register("file", {"path": str(daemon.folder / "out.txt")}, name="other", repos=["web"])
    other = daemon.send("k2", target_repo="web")
    daemon.until_state(other["message_id"], "awaiting_ack")
    daemon.env |= {"TMUX": f"{tmux.socket},{tmux('display-message', '-p', '#{pid}')},0", "TMUX_PANE": pane}
    prompt = frame(sent["message_id"], "x", "y") + frame(other["message_id"], "x", "y")
    payload = {"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": prompt}
    ran = daemon.run("hook", "claude", given=json.dumps(payload))
    assert (ran.stdout, ran.stderr) == ("", "")
    message = daemon.message(sent["message_id"])
    assert (message["state"], message["ack_source"]) == ("acknowledged", "hook")
    assert daemon.message(other["message_id"])["state"] == "awaiting_ack"

    def activity() -> str:
        return daemon.client.call("endpoints", endpoint_id=endpoint)["endpoints"][0]["activity"]

    seen = [activity()]
    for event in ("PermissionRequest", "PostToolUse", "Stop"):
        daemon.run("hook", "claude", given=json.dumps({"hook_event_name": event}))
        seen.append(activity())
    assert seen == ["busy", "blocked", "busy", "idle"]


def test_stop_hook_reads_the_transcript(daemon: Daemon) -> None:
    """A wake that was taken up in the middle of a turn is acknowledged from the transcript at its end."""
    daemon.start()
    endpoint = daemon.register("file", {"path": str(daemon.folder / "out.txt")})
    sent = daemon.send("k")
    daemon.until_state(sent["message_id"], "awaiting_ack")
    transcript = daemon.folder / "transcript.jsonl"
    transcript.write_text("x" * 300_000 + json.dumps({"content": frame(sent["message_id"], "a", "b")}) + "\n")
    daemon.env["TESSERA_WAKE_ENDPOINT"] = endpoint["endpoint_id"]
    daemon.run(
        "hook", "claude", given=json.dumps({"hook_event_name": "Stop", "transcript_path": str(transcript)})
    )
    assert daemon.message(sent["message_id"])["state"] == "acknowledged"


def test_blocked_agent_is_left_alone(daemon: Daemon, tmux: Tmux) -> None:
    """While a hook says that somebody is being asked, nothing is typed, whatever the screen shows."""
    daemon.start()
    pane, log = tmux.composer()
    endpoint = attach(daemon, tmux, pane, "--harness", "codex", "--ack-mode", "injected")
    daemon.client.call("activity", endpoint_id=endpoint, event="permission")
    sent = daemon.send("k")
    until(lambda: daemon.message(sent["message_id"])["deferred_reason"] == "blocked", "the wake to wait")
    assert not log.submitted()
    daemon.client.call("activity", endpoint_id=endpoint, event="stop")
    daemon.until_state(sent["message_id"], "injected")


def test_codex_session_becomes_an_endpoint(daemon: Daemon) -> None:
    """A Codex session that starts in a known repository takes wakes through its own queue from then on."""
    bin_folder = daemon.folder / "bin"
    bin_folder.mkdir()
    log = program(bin_folder / "codex")
    daemon.env["PATH"] = f"{bin_folder}:{os.environ['PATH']}"
    daemon.start()
    start = {
        "hook_event_name": "SessionStart",
        "session_id": "thread-1",
        "cwd": str(daemon.folder / "repos" / "api"),
    }
    daemon.run("hook", "codex", given=json.dumps(start))
    (endpoint,) = daemon.client.call("endpoints", live=True)["endpoints"]
    assert (endpoint["kind"], endpoint["name"], endpoint["repos"]) == ("hook", "codex thread-1", ["api"])
    sent = daemon.send("k", "hello")
    daemon.until_state(sent["message_id"], "awaiting_ack")
    assert words(log)[0][:2] == ["queue", "--thread=thread-1"]
    prompt = {"hook_event_name": "UserPromptSubmit", "session_id": "thread-1", "prompt": words(log)[0][2]}
    daemon.run("hook", "codex", given=json.dumps(prompt))
    assert daemon.message(sent["message_id"])["state"] == "acknowledged"


@pytest.mark.parametrize(
    "given", ["", "[]", "nonsense", '{"hook_event_name": "Unknown"}', '{"hook_event_name": 7}']
)
def test_a_hook_never_fails(daemon: Daemon, given: str) -> None:
    """Whatever an agent sends, and without a service too, a hook ends well and says nothing."""
    ran = daemon.run("hook", "claude", given=given)
    assert (ran.stdout, ran.stderr) == ("", "")


@pytest.mark.parametrize("harness", ["claude", "codex"])
def test_hooks_go_in_and_out(daemon: Daemon, harness: str) -> None:
    """Installing adds our hooks beside others, shows it first, is done once, and is undone without a
    trace.
    """
    path = daemon.folder / "settings.json"
    before = {"model": "x", "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "beep"}]}]}}
    path.write_text(json.dumps(before))
    path.chmod(0o640)
    asked = daemon.run("install-hooks", harness, "--settings", str(path), given="n\n", code=1)
    assert f'+            "command": "{install.command(harness)}"' in asked.stderr
    assert json.loads(path.read_text()) == before
    daemon.run("install-hooks", harness, "--settings", str(path), "--yes")
    after = json.loads(path.read_text())
    assert len(after["hooks"]["Stop"]) == 2
    assert "UserPromptSubmit" in after["hooks"]
    assert path.stat().st_mode & 0o777 == 0o640
    again = daemon.run("install-hooks", harness, "--settings", str(path))
    assert "nothing to change" in again.stdout
    daemon.run("install-hooks", harness, "--settings", str(path), "--yes", "--remove")
    assert json.loads(path.read_text()) == before


@pytest.mark.parametrize("content", ["{", "[]", '{"hooks": []}', '{"hooks": {"Stop": {}}}'])
def test_settings_that_are_not_understood_stay(folder: Path, content: str) -> None:
    """Settings of another shape are refused, not overwritten."""
    path = folder / "settings.json"
    path.write_text(content)
    with pytest.raises(TesseraError) as refused:
        install.installed(agent_files.json_object(path), "claude")
    assert refused.value.code == "invalid_request"
    assert path.read_text() == content


def test_tool_over_mcp(daemon: Daemon) -> None:
    """The official client finds one tool and acknowledges with it; an unknown wake is an error it can
    read.
    """
    from mcp import Client, StdioServerParameters
    from mcp.client.stdio import stdio_client

    daemon.start()
    daemon.register("file", {"path": str(daemon.folder / "out.txt")})
    sent = daemon.send("k")
    command, *rest = daemon.command("mcp")

    async def session() -> tuple[list[str], Any, Any, Any]:
        server = stdio_client(StdioServerParameters(command=command, args=rest, env=daemon.env))
        async with Client(server) as client:
            tools = [tool.name for tool in (await client.list_tools()).tools]
            asked = {"message_id": sent["message_id"], "note": "got it"}
            good = await client.call_tool("wake_ack", asked)
            unknown = await client.call_tool("wake_ack", {"message_id": "m_0000000000000000"})
            wrong = await client.call_tool("wake_ack", {"message_id": "anything"})
            return tools, good, unknown, wrong

    tools, good, unknown, wrong = asyncio.run(session())
    assert tools == ["wake_ack"]
    assert not good.is_error
    assert unknown.is_error
    assert "not_found" in str(unknown.content)
    assert wrong.is_error
    message = daemon.message(sent["message_id"])
    assert (message["ack_source"], message["ack_note"]) == ("mcp", "got it")


def test_file_in_the_workspace_acknowledges(daemon: Daemon) -> None:
    """A file named like the wake in its repository acknowledges it and goes; links, other names and other
    repositories' wakes do not count.
    """
    daemon.start()
    daemon.register("file", {"path": str(daemon.folder / "out.txt")})
    daemon.register("file", {"path": str(daemon.folder / "web.txt")}, name="w", repos=["web"])
    sent, other = daemon.send("k"), daemon.send("k2", target_repo="web")
    api = daemon.folder / "repos" / "api"
    strange = drops.leave(api, other["message_id"])
    (api / ".tessera" / "acks" / "m_ffffffffffffffff").symlink_to("/etc/passwd")
    left = drops.leave(api, sent["message_id"])
    message = daemon.until_state(sent["message_id"], "acknowledged")
    assert (message["ack_source"], message["ack_by"]) == ("file", "api")
    until(lambda: not left.exists(), "the file to go")
    assert strange.exists()
    assert daemon.message(other["message_id"])["state"] == "awaiting_ack"


def test_acknowledging_in_a_sandbox(daemon: Daemon, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no socket may be opened, `wake ack` leaves the file instead and says so; without a service it
    says that there is none.
    """
    daemon.run("ack", "m_0123456789abcdef", code=1)
    daemon.start()
    code = """
import errno, socket
class Kept(socket.socket):
    def connect(self, path):
        raise PermissionError(errno.EPERM, "Operation not permitted")
socket.socket = Kept
from tessera.cli.main import main
main(["wake", "ack", "m_0123456789abcdef"])
"""
    ran = subprocess.run(
        [sys.executable, "-c", code], env=daemon.env, cwd=daemon.folder, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert (ran.returncode, ran.stdout) == (0, "m_0123456789abcdef left\n"), ran.stderr
    assert (daemon.folder / ".tessera" / "acks" / "m_0123456789abcdef").exists()


def test_acknowledgements_of_nothing(room: Room) -> None:
    """An unknown wake cannot be acknowledged, and a note has its limit in bytes."""
    room.file_endpoint()
    sent = room.send()
    with pytest.raises(NotFound):
        room.call("ack", message_id="m_0000000000000000")
    with pytest.raises(InvalidRequest):
        room.call("ack", message_id=sent["message_id"], note="\u00e9" * 257)
    assert room.call("ack", message_id=sent["message_id"], note="\u00e9" * 256, by="me")["already"] is False
