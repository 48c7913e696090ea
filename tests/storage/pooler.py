"""The least that a pooler of connections to PostgreSQL could do: it says who it is by a number of its own,
and lends its connections by the transaction, or to each client one of its own.
"""

from __future__ import annotations

import os
import socket
import struct
import threading
from contextlib import suppress
from types import TracebackType
from typing import Self

import psycopg

_ENDS = {b"Q", b"S"}  # what a client sends last before it waits: a simple query, a synchronisation
_TOLD = (
    "server_version", "server_encoding", "client_encoding", "DateStyle", "TimeZone", "integer_datetimes",
    "standard_conforming_strings", "in_hot_standby", "default_transaction_read_only",
)  # fmt: skip


class Pooler:
    """One for a database, until its context ends. Its clients use no encryption, and name no password. Once
    it is full, whoever comes is greeted, and then waits.
    """

    def __init__(self, dsn: str, *, by_the_transaction: bool, port: int = 0) -> None:
        self.is_full = self._is_over = False
        self.kept_waiting = threading.Event()
        self._dsn = dsn
        self._connections: list[psycopg.Connection[tuple[object, ...]]] = []
        self._ends: list[socket.socket] = []
        self._shared = self._server() if by_the_transaction else None
        self._lent = threading.Lock()
        self._listening = socket.create_server(("127.0.0.1", port))
        self.port: int = self._listening.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def dsn(self) -> str:
        """Where it answers."""
        return f"postgresql://whoever@127.0.0.1:{self.port}/?sslmode=disable&gssencmode=disable"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:  # fmt: skip
        self._is_over = True
        self._close()

    def _close(self) -> None:
        for end in (self._listening, *self._ends):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()
        for connection in list(self._connections):
            connection.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                self._ends.append(client)
                if self.is_full and self._shared is None:
                    self._keep_waiting(client)
                    continue
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _keep_waiting(self, client: socket.socket) -> None:
        with suppress(OSError, EOFError):
            _exactly(client, struct.unpack("!I", _exactly(client, 4))[0] - 4)
            told = [_made(b"S", f"{name}\0off\0".encode()) for name in _TOLD[-2:]]  # else it would be asked
            client.sendall(b"".join([_made(b"R", b"\0\0\0\0"), *told, _made(b"Z", b"I")]))
            self.kept_waiting.set()

    def _server(self) -> tuple[socket.socket, bytes]:
        """A connection to the server, to be talked on directly; and what a client of it is greeted with."""
        connection = psycopg.connect(
            self._dsn, sslmode="disable", gssencmode="disable", application_name="tessera"
        )
        self._connections.append(connection)
        end = socket.socket(fileno=os.dup(connection.pgconn.socket))
        end.setblocking(True)
        self._ends.append(end)
        told = [(name, connection.info.parameter_status(name)) for name in _TOLD]
        greeting = [_made(b"R", b"\0\0\0\0")]
        greeting += [_made(b"S", f"{name}\0{value}\0".encode()) for name, value in told if value is not None]
        greeting += [_made(b"K", struct.pack("!II", 424_242, 1)), _made(b"Z", b"I")]
        return end, b"".join(greeting)

    def _serve(self, client: socket.socket) -> None:
        with client, suppress(OSError, EOFError, psycopg.Error):
            _exactly(client, struct.unpack("!I", _exactly(client, 4))[0] - 4)  # who it says it is
            server, greeting = self._shared or self._server()
            if self._is_over:  # whoever came last is not left waiting
                self._close()
                return
            client.sendall(greeting)
            while True:
                asked, kind = b"", b""
                while kind not in _ENDS:
                    kind, message = _message(client)
                    if kind == b"X":
                        return
                    asked += message
                with self._lent:
                    server.sendall(asked)
                    while kind != b"Z":
                        kind, message = _message(server)
                        client.sendall(message)


def _made(kind: bytes, body: bytes) -> bytes:
    return kind + struct.pack("!I", 4 + len(body)) + body


def _message(end: socket.socket) -> tuple[bytes, bytes]:
    head = _exactly(end, 5)
    return head[:1], head + _exactly(end, struct.unpack("!I", head[1:])[0] - 4)


def _exactly(end: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        if not (more := end.recv(size - len(data))):
            raise EOFError
        data += more
    return data
