"""A service with its owner and an admin's key, and a stand-in that answers as a test tells it to."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import tessera
from tessera.library import Tessera
from tessera.testing import Service, serving

GRANT = {"effect_classes": ["read", "write-internal", "write-repo"], "scopes": ["admin", "store"]}


@pytest.fixture(autouse=True)
def _no_key_around(monkeypatch: pytest.MonkeyPatch) -> None:
    """No key of the environment reaches a test."""
    monkeypatch.delenv("TESSERA_KEY", raising=False)
    monkeypatch.delenv("TESSERA_STORE", raising=False)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("service") / "store.db"


@pytest.fixture(scope="module")
def owner(path: Path) -> Iterator[Tessera]:
    """The store as its owner has it, on the service's machine."""
    with tessera.open(str(path)) as owner:
        yield owner


@pytest.fixture(scope="module")
def service(path: Path, owner: Tessera) -> Iterator[Service]:
    """A service for a module."""
    with serving(path, log=path.with_name("log")) as service:
        yield service


@pytest.fixture(scope="module")
def key(owner: Tessera) -> str:
    return owner.issue_key(**GRANT).key


@pytest.fixture
def client(service: Service, key: str) -> Iterator[tessera.Client]:
    with tessera.Client(service.url, key) as client:
        yield client


@dataclass
class StandIn:
    """A peer that takes one request a connection, keeps it, and does the next thing it was told to: send
    these bytes, or hang up (None). The last thing is done again and again.
    """

    url: str
    acts: list[bytes | None] = field(default_factory=list)
    requests: list[bytes] = field(default_factory=list)

    def heads(self, name: str) -> list[str]:
        """The value of a header in each request."""
        found = []
        for request in self.requests:
            lines = request.split(b"\r\n\r\n")[0].decode().split("\r\n")[1:]
            headers = {line.split(": ")[0].lower(): line.split(": ", 1)[1] for line in lines}
            found.append(headers.get(name, ""))
        return found


def _read(connection: socket.socket) -> bytes:
    text = b""
    while b"\r\n\r\n" not in text:
        text += connection.recv(65_536)
    head, _, body = text.partition(b"\r\n\r\n")
    lengths = [
        int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-l")
    ]
    while len(body) < sum(lengths):
        body += connection.recv(65_536)
    return head + b"\r\n\r\n" + body


@pytest.fixture
def stand_in() -> Iterator[StandIn]:
    listener = socket.create_server(("127.0.0.1", 0))
    peer = StandIn(f"http://127.0.0.1:{listener.getsockname()[1]}")

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                peer.requests.append(_read(connection))
                act = peer.acts.pop(0) if len(peer.acts) > 1 else peer.acts[0]
                if act is not None:
                    connection.sendall(act)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    yield peer
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    thread.join()


def reply(status: int, body: bytes = b"", *, kind: str = "application/json", **headers: str) -> bytes:
    """An answer for the stand-in to send."""
    named = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
    head = f"HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n{named}"
    return f"{head}Connection: close\r\n\r\n".encode() + body


@pytest.fixture
def answer() -> Callable[..., bytes]:
    return reply
