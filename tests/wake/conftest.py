"""What tests of the wake room share: a registry, a service, a daemon in a process, a private tmux server."""

from __future__ import annotations

import asyncio
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tessera.testing import World
from tessera.wake.client import Client
from tessera.wake.gita import Registry
from tessera.wake.service import Service

HERE = Path(__file__).parent
PATIENCE_SECONDS = 20.0


def until(look: Callable[[], Any], what: str, seconds: float = PATIENCE_SECONDS) -> Any:
    """The first true answer; a failure that says what was waited for when none comes."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if answer := look():
            return answer
        select.select([], [], [], 0.02)
    raise AssertionError(f"waited {seconds} s for {what}")


def repositories(folder: Path, *names: str) -> Path:
    """A registry file as gita writes it, with a repository for each name."""
    rows = []
    for name in names:
        path = folder / "repos" / name
        (path / ".git").mkdir(parents=True, exist_ok=True)
        rows.append(f"{path},{name},,\r\n")
    registry = folder / "gita" / "repos.csv"
    registry.parent.mkdir(exist_ok=True)
    registry.write_text("".join(rows), newline="")
    return registry


class Room:
    """A service in this process on a scripted world. Every call runs on one event loop; no time passes
    unless the world is told.
    """

    def __init__(self, folder: Path, world: World) -> None:
        self.world = world
        self.folder = folder
        self.registry = repositories(folder, "api", "web")
        (folder / "state").mkdir(exist_ok=True)
        self._runner = asyncio.Runner()
        self.service = self.do(self._begin())

    async def _begin(self) -> Service:
        runtime = self.world.runtime()
        service = Service(self.folder / "state", Registry(self.registry, runtime), runtime)
        await service.start()
        return service

    def do(self, work: Any) -> Any:
        """Run a coroutine to its end."""
        return self._runner.run(work)

    def call(self, op: str, **fields: Any) -> dict[str, Any]:
        """One operation."""
        request = {"op": op, "protocol": "0.1", **fields}
        return self.do(self.service.handle(request))

    def send(self, key: str = "k1", body: str = "hello", **fields: Any) -> dict[str, Any]:
        """A wake for `api` from the operator."""
        asked = {"client_id": "c", "idempotency_key": key, "sender_repo": "operator", "target_repo": "api",
                 "body": body}  # fmt: skip
        return self.call("send", **{**asked, **fields})

    def file_endpoint(self, name: str = "f", **fields: Any) -> dict[str, Any]:
        """Register a file that takes wakes for `api`."""
        asked = {"name": name, "repos": ["api"], "kind": "file",
                 "target": {"path": str(self.folder / f"{name}.txt")}}  # fmt: skip
        return self.call("register", **{**asked, **fields})

    def message(self, message_id: str) -> dict[str, Any]:
        """A receipt."""
        return self.call("message", message_id=message_id)["message"]

    def step(self) -> None:
        """Do everything that is due, and wait for its writers."""

        async def step() -> None:
            await self.service.dispatcher.step()
            await self.service.dispatcher.idle()

        self.do(step())

    def pass_seconds(self, seconds: float) -> None:
        """Let time pass, then do what is due."""
        self.world.pass_seconds(seconds)
        self.step()

    def reopen(self) -> None:
        """Restart the service on the same files."""
        self.do(self.service.close())
        self.service = self.do(self._begin())

    def close(self) -> None:
        self.do(self.service.close())
        self._runner.close()


class Daemon:
    """`tessera wake serve` in a process of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.registry = repositories(folder, "api", "web")
        self.env = {
            **os.environ, "TESSERA_WAKE_HOME": str(folder / "run"),
            "TESSERA_WAKE_STATE": str(folder / "state"),
            "TESSERA_WAKE_GITA_DIR": str(self.registry.parent), "PYTHONWARNINGS": "error",
        }  # fmt: skip
        self.socket = folder / "run" / "wake.sock"
        self.client = Client(self.socket)
        self.process: subprocess.Popen[str] | None = None

    def command(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "tessera.cli.main", "wake", *words]

    def start(self, **env: str) -> subprocess.Popen[str]:
        """Start it and wait until it says that clients can connect."""
        self.process = self.popen(**env)
        line = self.process.stdout.readline()
        assert "listening" in line, line + self.process.stderr.read()
        return self.process

    def popen(self, **env: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self.command("serve"),
            env=self.env | env,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def run(self, *words: str, code: int = 0, given: str | None = None) -> subprocess.CompletedProcess[str]:
        """A command of `tessera wake` that must end with this exit code."""
        ran = subprocess.run(
            self.command(*words),
            env=self.env,
            text=True,
            capture_output=True,
            input=given,
            timeout=60,
            check=False,
        )
        assert ran.returncode == code, (ran.returncode, ran.stdout, ran.stderr)
        return ran

    def stop(self, number: int = signal.SIGTERM) -> tuple[int, str]:
        """End it; its exit code and what it logged."""
        process, self.process = self.process, None
        process.send_signal(number)
        _, stderr = process.communicate(timeout=PATIENCE_SECONDS)
        return process.returncode, stderr

    def send(self, key: str, body: str = "hello", **fields: Any) -> dict[str, Any]:
        asked = {"client_id": "c", "idempotency_key": key, "sender_repo": "operator", "target_repo": "api"}
        return self.client.call("send", **{**asked, "body": body, **fields})

    def register(self, kind: str, target: dict[str, Any], **fields: Any) -> dict[str, Any]:
        asked = {"name": "e", "repos": ["api"], "kind": kind, "target": target}
        return self.client.call("register", **{**asked, **fields})

    def message(self, message_id: str) -> dict[str, Any]:
        return self.client.call("message", message_id=message_id)["message"]

    def until_state(self, message_id: str, *wanted: str) -> dict[str, Any]:
        """The receipt once it has reached one of these states."""

        def look() -> Any:
            message = self.message(message_id)
            return message if message["state"] in wanted else None

        return until(look, f"{message_id} to be {wanted}")

    def close(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.communicate()


class Tmux:
    """A tmux server of our own, which ends with the test."""

    def __init__(self, folder: Path) -> None:
        self.socket = str(folder / "t")
        self.folder = folder
        self.count = 0

    def __call__(self, *words: str) -> str:
        ran = subprocess.run(
            ["tmux", "-u", "-S", self.socket, "-f", "/dev/null", *words],
            capture_output=True, text=True, timeout=10, check=False, env=os.environ | {"LC_ALL": "C.UTF-8"},
        )  # fmt: skip
        assert ran.returncode == 0, ran.stderr
        return ran.stdout.strip()

    def pane(self, *command: str, size: tuple[int, int] = (120, 40)) -> str:
        """A new session that runs a command; its pane's id."""
        self.count += 1
        width, height = map(str, size)
        return self(
            "new-session", "-d", "-x", width, "-y", height, "-s", f"s{self.count}", "-P", "-F", "#{pane_id}",
            *command,
        )  # fmt: skip

    def composer(self, *options: str, **settings: Any) -> tuple[str, Log]:
        """A pane with our composer, once it is drawn; and its log."""
        log = Log(self.folder / f"log{self.count}")
        pane = self.pane(
            sys.executable, str(HERE / "composer.py"), "--log", str(log.path), *options, **settings
        )
        until(lambda: log.events("start"), "the composer to start")
        return pane, log

    def screen(self, pane: str) -> str:
        return self("capture-pane", "-p", "-J", "-t", pane)

    def close(self) -> None:
        subprocess.run(["tmux", "-S", self.socket, "kill-server"], capture_output=True, check=False)


class Log:
    """What a target application has written down."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def lines(self) -> list[dict[str, Any]]:
        if not self.path.exists():
            return []
        return [json.loads(line) for line in self.path.read_text().split("\n") if line]

    def events(self, kind: str) -> list[dict[str, Any]]:
        return [line for line in self.lines() if line["event"] == kind]

    def submitted(self) -> list[str]:
        return [line["text"] for line in self.events("submit")]


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder with a short name, for sockets."""
    path = Path(tempfile.mkdtemp(prefix="tw"))
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def room(folder: Path, world: World) -> Iterator[Room]:
    room = Room(folder, world)
    yield room
    room.close()


@pytest.fixture
def daemon(folder: Path) -> Iterator[Daemon]:
    daemon = Daemon(folder)
    yield daemon
    daemon.close()


@pytest.fixture
def tmux(folder: Path) -> Iterator[Tmux]:
    tmux = Tmux(folder)
    yield tmux
    tmux.close()
