"""Asking the wake service: one connection for each operation, so that a restart of it needs no ceremony."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tessera.wake import folders
from tessera.wake.errors import MissingCapability, NoService, ProtocolMismatch, from_wire
from tessera.wake.limits import CLIENT_SECONDS_MAX, LINE_BYTES_MAX
from tessera.wake.protocol import PROTOCOL, REQUIRED


class Client:
    """The service behind a socket, by default the one of this user."""

    def __init__(self, path: str | Path | None = None, *, seconds: float = CLIENT_SECONDS_MAX) -> None:
        self.path = Path(path) if path is not None else folders.socket_path()
        self._seconds = seconds
        self._greeted = False

    def call(self, op: str, **fields: Any) -> dict[str, Any]:
        """The answer's fields. The first call of a client asks first whether the service speaks the same
        major version and has what is required, and sends nothing else if not. Raises the refusal as a
        WakeError.
        """
        if not self._greeted:
            self.ping()
        return self._ask(op, fields)

    def ping(self) -> dict[str, Any]:
        """Who answers; refuses another major version and a missing capability."""
        answer = self._ask("ping", {})
        offered = answer.get("protocols") or [answer.get("protocol")]
        majors = {str(one).split(".")[0] for one in offered}
        if PROTOCOL.split(".")[0] not in majors:
            raise ProtocolMismatch(f"the service speaks {', '.join(map(str, offered))}, this is {PROTOCOL}")
        if missing := [one for one in REQUIRED if one not in answer.get("capabilities", [])]:
            raise MissingCapability(f"the service lacks {', '.join(missing)}", missing=missing)
        self._greeted = True
        return answer

    def follow(self, **fields: Any) -> Iterator[dict[str, Any]]:
        """The service's events as they happen, from `after` on, until it hangs up."""
        if not self._greeted:
            self.ping()
        with self.connect() as connection, connection.makefile("rb") as lines:
            connection.sendall(request_line("subscribe", fields))
            yield _answer(lines.readline())
            connection.settimeout(None)
            for line in lines:
                yield json.loads(line)

    def connect(self) -> socket.socket:
        """A connection; raises NoService when there is none to be had."""
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.settimeout(self._seconds)
        try:
            connection.connect(str(self.path))
        except OSError as error:
            connection.close()
            raise NoService(
                f"no wake service answers at {self.path} ({error.strerror}): "
                "start it with `tessera wake serve`",
                errno=error.errno,
            ) from error
        return connection

    def _ask(self, op: str, fields: dict[str, Any]) -> dict[str, Any]:
        try:
            with self.connect() as connection, connection.makefile("rb") as lines:
                connection.sendall(request_line(op, fields))
                return _answer(lines.readline(LINE_BYTES_MAX + 1))
        except OSError as error:
            raise NoService(f"the wake service at {self.path} did not answer: {error}") from error


def request_line(op: str, fields: dict[str, Any]) -> bytes:
    """One request as it travels; fields that are None are left out."""
    given = {name: value for name, value in fields.items() if value is not None}
    return json.dumps({"op": op, "protocol": PROTOCOL, **given}, separators=(",", ":")).encode() + b"\n"


def _answer(line: bytes) -> dict[str, Any]:
    if not line.endswith(b"\n"):
        raise NoService("the wake service hung up before it answered")
    answer: dict[str, Any] = json.loads(line)
    if not answer.get("ok"):
        raise from_wire(answer.get("error") or {})
    return answer
