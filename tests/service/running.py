"""A real service for tests: its process, its log, its keys, and clients as plain as they come."""

from __future__ import annotations

import http.client
import io
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tessera

HOST = "127.0.0.1"
SERVE = [sys.executable, "-m", "tessera.cli.main", "serve"]


@dataclass
class Reply:
    """What came back."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body as a value."""
        return json.loads(self.body)

    @property
    def code(self) -> str:
        """The code of the problem that it must be."""
        assert self.headers["content-type"] == "application/problem+json"
        assert {"type", "title", "status", "detail", "code", "definite"} <= self.json.keys()
        assert self.json["status"] == self.status
        return str(self.json["code"])


@dataclass
class Running:
    """A service that answers at `port`."""

    port: int
    store: Path
    log: Path
    process: subprocess.Popen[str]
    admin: str = ""
    seen: list[bytes] = field(default_factory=list)  # every answer's head and body

    def call(
        self, method: str, path: str, body: Any = None, *, key: str | None = "admin",
        headers: Mapping[str, str] | None = None, timeout: float = 40,
    ) -> Reply:  # fmt: skip
        """One request on a connection of its own. A body that is no bytes is sent as JSON."""
        connection = http.client.HTTPConnection(HOST, self.port, timeout=timeout)
        try:
            return self.on(connection, method, path, body, key=key, headers=headers)
        finally:
            connection.close()

    def on(
        self, connection: http.client.HTTPConnection, method: str, path: str, body: Any = None, *,
        key: str | None = "admin", headers: Mapping[str, str] | None = None,
    ) -> Reply:  # fmt: skip
        """The same on a connection that is kept."""
        sent = {} if key is None else {"authorization": f"Bearer {self.admin if key == 'admin' else key}"}
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
            sent["content-type"] = "application/json"
        connection.request(method, path, body, {**sent, **(headers or {})})
        answer = connection.getresponse()
        reply = Reply(
            answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
        )
        self.seen.append(repr(sorted(reply.headers.items())).encode() + reply.body)
        return reply

    def post(self, path: str, body: Any = None, **more: Any) -> Reply:
        """POST a body."""
        return self.call("POST", path, body, **more)

    def get(self, path: str, **more: Any) -> Reply:
        """GET a path."""
        return self.call("GET", path, **more)

    def raw(self, data: bytes = b"", timeout: float = 30) -> socket.socket:
        """A bare connection on which these bytes have been sent."""
        bare = socket.create_connection((HOST, self.port), timeout=timeout)
        bare.sendall(data)
        return bare

    def key(self, **grant: Any) -> str:
        """A new key of this grant."""
        with tessera.open(str(self.store)) as store:
            return store.issue_key(**grant).key

    def queue(self, name: str, **settings: Any) -> str:
        """A queue of that name."""
        assert self.post("/v1/queues/define", {"name": name, **settings}).status == 200
        return name

    def enqueue(self, queue: str, **fields: Any) -> str:
        """A task on a queue."""
        reply = self.post("/v1/tasks", {"queue": queue, "kind": "k", "brief": {}, **fields})
        assert reply.status in (200, 201), reply.body
        return str(reply.json["task_id"])

    def claim(self, queue: str, **fields: Any) -> Reply:
        """A claim by a worker."""
        return self.post("/v1/tasks/claim", {"queue": queue, "worker": "w", **fields})

    def threads(self) -> int:
        """How many threads the process has."""
        return len(os.listdir(f"/proc/{self.process.pid}/task"))

    def memory_bytes(self) -> int:
        """How much memory the process holds."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+) kB", status)[1]) << 10

    def stop(self, number: int = signal.SIGTERM, timeout: float = 30) -> int:
        """Send a signal and wait for the end; the exit code."""
        self.process.send_signal(number)
        return self.process.wait(timeout)


def reply_on(bare: socket.socket | Answers) -> Reply:
    """The next answer on a bare connection."""
    answer = http.client.HTTPResponse(bare)
    answer.begin()
    return Reply(answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read())


class Answers:
    """The answers on a bare connection, one after the other, also where several have come at once."""

    def __init__(self, bare: socket.socket) -> None:
        self._file = _Kept(socket.SocketIO(bare, "r"))

    def makefile(self, _mode: str) -> io.BufferedReader:
        """What has come, for whoever reads one answer."""
        return self._file

    def next(self) -> Reply:
        """The next one."""
        return reply_on(self)

    def statuses(self, number: int) -> list[int]:
        """The statuses of the next ones."""
        return [self.next().status for _ in range(number)]

    def has_ended(self) -> bool:
        """Whether the server has closed the connection, and nothing is left."""
        return self._file.read(1) == b""


class _Kept(io.BufferedReader):
    def close(self) -> None:
        """Stay open for the next answer."""


@contextmanager
def serving(
    folder: Path, *options: str, port: int = 0, program: Sequence[str] = SERVE, **env: str
) -> Iterator[Running]:
    """A service on the store of a folder, ended hard if the test has not ended it."""
    store, log = folder / "store.db", folder / "log"
    with tessera.open(str(store)) as opened:
        admin = opened.issue_key(
            name="admin", scopes=["admin", "store"], effect_classes=["read", "write-internal", "write-repo"]
        ).key
    with log.open("a") as file:
        process = subprocess.Popen(
            [*program, "--store", str(store), "--port", str(port), *options], stdout=subprocess.PIPE,
            stderr=file, text=True, env={**os.environ, **env},
        )  # fmt: skip
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("http"), log.read_text()
        yield Running(int(line.rstrip().rpartition(":")[2]), store, log, process, admin)
    finally:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


class Aside(threading.Thread):
    """Something done beside the test; `result()` waits for it."""

    def __init__(self, act: Any, *args: Any, **named: Any) -> None:
        super().__init__(daemon=True)
        self._act = lambda: act(*args, **named)
        self._outcome: Any = None
        self.start()

    def run(self) -> None:
        """Do it, and keep what came of it."""
        try:
            self._outcome = self._act()
        except Exception as error:
            self._outcome = error

    def result(self, timeout: float = 40) -> Any:
        """What came of it."""
        self.join(timeout)
        assert not self.is_alive(), "it never ended"
        if isinstance(self._outcome, Exception):
            raise self._outcome
        return self._outcome
