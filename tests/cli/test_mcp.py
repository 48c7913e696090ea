"""`tessera mcp`: clients' files, and the tools over stdin and stdout."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from cli.conftest import Cli
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from service.running import serving

import tessera

TESSERA = [sys.executable, "-m", "tessera.cli.main"]
SERVICE = "http://127.0.0.1:8787"
MINE = '# mine\nmodel = "x" # stays\n\n[mcp_servers.other]\ncommand = "y"\n'


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    """The command line on a store that nobody makes."""
    return Cli(str(tmp_path / "store.db"))


def test_claudes_file_goes_in_and_out(cli: Cli, tmp_path: Path) -> None:
    """The entry starts the bridge, holds no key, is shown and asked for, goes in once, and out without a
    trace.
    """
    path = tmp_path / ".mcp.json"
    before = '{\n  "mcpServers": {"other": {"command": "y"}}\n}'
    path.write_text(before)
    path.chmod(0o640)
    words = ("mcp", "install", "claude", "--settings", str(path), "--store", SERVICE)
    asked = cli(*words, input="n\n", code=1)
    assert '+    "tessera": {' in asked.stderr
    assert path.read_text() == before
    cli(*words, input="y\n")
    made = json.loads(path.read_text())["mcpServers"]["tessera"]
    assert made["args"] == ["mcp", "stdio", "--store", SERVICE]
    assert made["env"] == {"TESSERA_KEY": "${TESSERA_KEY}"}
    assert path.stat().st_mode & 0o777 == 0o640
    assert "nothing to change" in cli(*words).stdout
    cli(*words, "--remove", "--yes")
    assert json.loads(path.read_text()) == json.loads(before)
    assert json.loads(cli(*words, "--remove", "--json").stdout) == {"path": str(path), "changed": False}


def test_codexs_file_goes_in_and_out(cli: Cli, tmp_path: Path) -> None:
    """A service is entered by its URL and the key's variable, a file by a program; comments stay, and nothing
    is left after removal.
    """
    path = tmp_path / "config.toml"
    path.write_text(MINE)
    words = ("mcp", "install", "codex", "--settings", str(path), "--yes")
    cli(*words, "--store", SERVICE)
    assert path.read_text().startswith(MINE)
    made = tomllib.loads(path.read_text())["mcp_servers"]
    assert (made["tessera"]["url"], made["other"]) == (f"{SERVICE}/mcp", {"command": "y"})
    assert made["tessera"]["bearer_token_env_var"] == "TESSERA_KEY"
    cli(*words, "--store", str(tmp_path / "a.db"), "--key-file", str(path))
    made = tomllib.loads(path.read_text())["mcp_servers"]["tessera"]
    assert made["args"] == ["mcp", "stdio", "--store", str(tmp_path / "a.db"), "--key-file", str(path)]
    cli(*words, "--remove")
    assert path.read_text() == MINE


def test_files_are_made_where_clients_look(tmp_path: Path) -> None:
    """Without a name, Claude's file is the folder's `.mcp.json`, Codex's that of CODEX_HOME."""
    env = {**os.environ, "CODEX_HOME": str(tmp_path / "codex")}
    for client in ("claude", "codex"):
        subprocess.run(
            [*TESSERA, "mcp", "install", client, "--yes"], cwd=tmp_path, env=env, check=True,
            capture_output=True,
        )  # fmt: skip
    made = json.loads((tmp_path / ".mcp.json").read_text())["mcpServers"]["tessera"]
    assert made["args"] == ["mcp", "stdio", "--store", str(tmp_path / "tessera.db")]
    assert tomllib.loads((tmp_path / "codex" / "config.toml").read_text())["mcp_servers"]["tessera"]
    assert (tmp_path / ".mcp.json").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("client", "content"),
    [
        ("claude", "{"), ("claude", "[]"), ("claude", '{"mcpServers": []}'), ("claude", "\xff"),
        ("codex", "[a"), ("codex", "mcp_servers = 1"), ("codex", 'mcp_servers = {tessera = {command = "x"}}'),
    ],
)  # fmt: skip
def test_files_that_are_not_understood_stay(cli: Cli, tmp_path: Path, client: str, content: str) -> None:
    """A file of another shape is refused, not overwritten."""
    path = tmp_path / "file"
    path.write_text(content, encoding="latin-1")
    refused = cli("mcp", "install", client, "--settings", str(path), "--yes", code=1)
    assert "invalid_request" in refused.stderr
    assert path.read_text(encoding="latin-1") == content
    cli("mcp", "install", client, "--settings", str(tmp_path / "new"), "--name", "a.b", "--yes", code=1)
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("door", ["file", "key", "service"])
@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_tools_over_stdio(tmp_path: Path, door: str, mode: str) -> None:
    """On a file, under a key or not, and on a service, the official client claims, is refused and submits."""
    with serving(tmp_path) as service:
        queue, key = service.queue("q"), service.key(queues=["q"])
        task_id = service.enqueue(queue)
        (tmp_path / "key").write_text(f"{key}\n")
        words = {
            "file": ["--store", str(service.store)],
            "key": ["--store", str(service.store), "--key-file", str(tmp_path / "key")],
            "service": ["--store", f"http://127.0.0.1:{service.port}"],
        }[door]
        command, *rest = [*TESSERA, "mcp", "stdio", *words]
        env = {**os.environ, "TESSERA_KEY": key}

        async def session() -> tuple[Any, Any, Any, Any]:
            server = stdio_client(StdioServerParameters(command=command, args=rest, env=env))
            async with Client(server, mode=mode) as client:
                given = {"queue": "q", "worker": "w"}
                refused = await client.call_tool("claim", {**given, "more": 1})
                lease = (await client.call_tool("claim", given)).structured_content["lease"]
                ended = {"task_id": task_id, "fencing_token": lease["fencing_token"], "idempotency_key": "k"}
                done = await client.call_tool("submit", {**ended, "output": [1]})
                empty = await client.call_tool("claim", {**given, "wait_seconds": 0.2})
                return refused, lease, done, empty

        refused, lease, done, empty = asyncio.run(session())
        assert json.loads(refused.content[0].text)["code"] == "invalid_request"
        assert lease["task_id"] == task_id
        assert (done.structured_content["state"], done.is_error) == ("done", False)
        assert empty.structured_content["lease"] is None
    with tessera.open(str(tmp_path / "store.db")) as store:
        assert [result.output for result in store.results(task_id)] == [[1]]


def test_stdio_without_the_sdk_says_what_to_install(tmp_path: Path) -> None:
    """Where the extra is missing, the command names it and ends with 1."""
    (tmp_path / "mcp").mkdir()
    (tmp_path / "mcp" / "__init__.py").write_text("raise ImportError('not here')")
    env = {**os.environ, "PYTHONPATH": str(tmp_path)}
    ran = subprocess.run([*TESSERA, "mcp", "stdio"], env=env, capture_output=True, text=True, check=False)
    assert ran.returncode == 1
    assert "tessera-swarm[mcp]" in ran.stderr


def test_an_entry_that_cannot_start(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the extra is missing, `install` says that what it enters does not start, and what to install."""
    words = ("mcp", "install", "claude", "--settings", str(tmp_path / "mcp.json"), "--yes")
    assert "warning" not in cli(*words).stderr
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    said = cli(*words, "--name", "other").stderr
    assert "warning: what is entered, `tessera mcp stdio`, does not start: install the extra" in said
    assert "warning" not in cli(*words, "--remove").stderr
