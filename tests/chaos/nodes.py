"""Services on one store, each at an address that it keeps however often it dies."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

HOST = "127.0.0.1"
SERVE = [sys.executable, "-m", "tessera.cli.main", "serve"]


def free_port() -> int:
    """A port of the loopback that nobody has at this moment."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


class Node:
    """One `tessera serve`."""

    def __init__(self, name: str, store: str, folder: Path) -> None:
        self.name = name
        self.log = folder / f"{name}.log"
        self._store = store
        self._port = free_port()
        self._process: subprocess.Popen[str] | None = None
        self.start()

    @property
    def url(self) -> str:
        """Where it answers."""
        return f"http://{HOST}:{self._port}"

    @property
    def process(self) -> subprocess.Popen[str]:
        """The process that answers."""
        assert self._process is not None
        return self._process

    @property
    def pid(self) -> int:
        """Its number."""
        return self.process.pid

    def start(self) -> None:
        """Start, and return when it answers."""
        command = [*SERVE, "--store", self._store, "--port", str(self._port)]
        env = {name: value for name, value in os.environ.items() if not name.startswith("TESSERA_")}
        with self.log.open("a") as log:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, text=True,
                env={**env, "TESSERA_REAP_SECONDS": "0.5"},
            )  # fmt: skip
        assert self._process.stdout is not None
        assert self._process.stdout.readline().startswith("http"), self.log.read_text()

    def kill(self) -> None:
        """As the kernel does it when memory is short."""
        self.end(signal.SIGKILL)

    def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        """End it; its exit code."""
        assert self._process is not None
        self._process.send_signal(number)
        code = self._process.wait(60)
        assert self._process.stdout is not None
        self._process.stdout.close()
        return code

    def signal(self, number: signal.Signals) -> None:
        """Freeze it, or let it go on."""
        assert self._process is not None
        self._process.send_signal(number)

    def is_up(self) -> bool:
        """Whether its process lives."""
        return self._process is not None and self._process.poll() is None


class Worker:
    """One worker process, which asks any of the nodes and keeps a diary of what it was answered."""

    def __init__(self, name: str, nodes: list[Node], folder: Path) -> None:
        self.said: list[dict[str, Any]] = []
        self._diary = folder / f"{name}.diary"
        self._diary.touch()
        self._read = 0
        self._log = folder / f"{name}.log"
        with self._log.open("a") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "chaos.worker", name, str(self._diary), *(node.url for node in nodes)],
                stdin=subprocess.PIPE, stderr=log, cwd=Path(__file__).parents[1],
                env={**os.environ, "TESSERA_KEY": (folder / "key").read_text()},
            )  # fmt: skip

    def look(self) -> None:
        """Read on in its diary; a line that is not whole yet waits for the next look."""
        with self._diary.open("rb") as file:
            file.seek(self._read)
            whole = file.read().rpartition(b"\n")[0]
        if whole:
            self._read += len(whole) + 1
            self.said += [json.loads(line) for line in whole.splitlines()]

    def signal(self, number: signal.Signals) -> None:
        """Freeze it, or let it go on."""
        self._process.send_signal(number)

    def check(self) -> None:
        """It must not have failed."""
        assert self._process.poll() is None, self._log.read_text()

    def kill(self) -> None:
        """As the kernel does it when memory is short."""
        self._process.kill()
        self._leave()

    def stop(self) -> None:
        """Let it end what it is at; it must not have failed."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        assert self._leave() == 0, self._log.read_text()

    def _leave(self) -> int:
        assert self._process.stdin is not None
        code = self._process.wait(90)
        self._process.stdin.close()
        return code
