"""`tessera wake run`: a command in a terminal of ours, with the user at its keys and the service on a
line.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pty
import select
import signal
import socket
import struct
import sys
import termios
import tty
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from tessera.runtime import Runtime
from tessera.wake import protocol
from tessera.wake.client import Client, request_line
from tessera.wake.errors import EndpointGone, Forbidden, NotFound, WakeError
from tessera.wake.keyboard import Ended, Keyboard
from tessera.wake.limits import HEARTBEAT_SECONDS
from tessera.wake.processes import started

READ_BYTES: Final = 65_536
TICK_SECONDS: Final = 0.02  # while a wake is typed
REST_SECONDS: Final = 1.0
AGAIN_US: Final = 2_000_000  # between two tries to reach the service
ENDPOINT_VARIABLE: Final = "TESSERA_WAKE_ENDPOINT"


class ServiceLine:
    """The connection to the service, made anew whenever it is gone."""

    def __init__(self, client: Client, fields: dict[str, Any], runtime: Runtime) -> None:
        self._client, self._fields, self._runtime = client, fields, runtime
        self._registered: dict[str, Any] | None = None
        self._next_us = 0
        self._beat_us = 0
        self._waiting = b""
        self.connection: socket.socket | None = None

    @property
    def endpoint_id(self) -> str | None:
        """The endpoint that the service knows this terminal by."""
        return self._registered["endpoint_id"] if self._registered else None

    def keep(self) -> None:
        """Connect if there is no connection and it is time to try; else say that we are here."""
        now = self._runtime.elapsed_us()
        if self.connection is None and now >= self._next_us:
            self._next_us = now + AGAIN_US
            with contextlib.suppress(WakeError, OSError, ValueError):
                self._connect()
        elif self.connection is not None and now >= self._beat_us:
            self._beat_us = now + HEARTBEAT_SECONDS * 1_000_000
            self.say({"op": "heartbeat"})

    def _connect(self) -> None:
        if self._registered is None:
            own = {"pid": os.getpid(), "start": started(os.getpid())}
            self._registered = self._client.call("register", **self._fields, kind="pty", owner=own,
                                                 target={"pid": os.getpid()})  # fmt: skip
        connection = self._client.connect()
        try:
            ids = {name: self._registered[name] for name in ("endpoint_id", "resume_token")}
            connection.sendall(request_line("attach", ids))
            answer = b""
            while not answer.endswith(b"\n"):
                more = connection.recv(1)  # to the line's end and not beyond
                if not more:
                    raise OSError("hung up")
                answer += more
            told = json.loads(answer)
            if not told.get("ok"):
                if told["error"]["code"] in (EndpointGone.code, NotFound.code, Forbidden.code):
                    self._registered = None
                raise OSError("refused")
        except BaseException:
            connection.close()
            raise
        connection.setblocking(False)
        self.connection, self._waiting = connection, b""

    def heard(self) -> Iterator[dict[str, Any]]:
        """What the service has said since."""
        assert self.connection is not None
        try:
            data = self.connection.recv(READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.drop()
            return
        *lines, self._waiting = (self._waiting + data).split(b"\n")
        for line in lines:
            with contextlib.suppress(WakeError):
                yield protocol.parse(line)

    def say(self, line: dict[str, Any]) -> None:
        """Tell the service; one that does not listen is let go."""
        if self.connection is None:
            return
        try:
            self.connection.sendall(protocol.line_of(line))
        except OSError:
            self.drop()

    def drop(self) -> None:
        """The connection is gone."""
        if self.connection is not None:
            self.connection.close()
            self.connection = None

    def end(self) -> None:
        """The terminal ends: so does its endpoint."""
        self.drop()
        if self._registered is not None:
            with contextlib.suppress(WakeError):
                self._client.call("detach", endpoint_id=self.endpoint_id, reason="ended",
                                  resume_token=self._registered["resume_token"])  # fmt: skip


def run(
    command: Sequence[str], client: Client, fields: dict[str, Any], runtime: Runtime, *, plain: bool = False
) -> int:
    """Run the command until it ends; its exit code, 128 more than the signal's number if one ended it. Works
    without a service, and takes wakes as soon as there is one.
    """
    line = ServiceLine(client, fields, runtime)
    line.keep()
    pid, master = pty.fork()
    if pid == 0:
        try:
            _ignore_no_signal()
            if line.endpoint_id is not None:
                os.environ[ENDPOINT_VARIABLE] = line.endpoint_id
            os.execvp(command[0], list(command))  # noqa: S606 - the user's own command
        except OSError as error:
            os.write(2, f"tessera: cannot run {command[0]}: {error.strerror}\n".encode())
            os._exit(127)
    with _raw_terminal(), _signals(pid, master):
        Wrapper(master, line, Keyboard(plain=plain), runtime).loop()
    line.end()
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return code if code >= 0 else 128 - code


class Wrapper:
    """The loop between user, application and service."""

    def __init__(self, master: int, line: ServiceLine, keyboard: Keyboard, runtime: Runtime) -> None:
        self._master, self._line, self._keyboard, self._runtime = master, line, keyboard, runtime
        self._out = b""  # what waits to be written to the application
        self._stdin_open = True
        os.set_blocking(master, False)

    def loop(self) -> None:
        """Until the application has closed its terminal."""
        while True:
            self._line.keep()
            connection = self._line.connection
            reads: list[Any] = [self._master]
            reads += [0] if self._stdin_open else []
            reads += [connection] if connection is not None else []
            wait = TICK_SECONDS if self._keyboard.injection is not None else REST_SECONDS
            readable, writable, _ = select.select(reads, [self._master] if self._out else [], [], wait)
            if self._master in readable and not self._from_application():
                return
            if 0 in readable:
                self._from_user()
            if connection is not None and connection in readable:
                for said in self._line.heard():
                    self._from_service(said)
            if writable:
                self._write()
            self._go_on()

    def _from_application(self) -> bool:
        try:
            data = os.read(self._master, READ_BYTES)
        except BlockingIOError:
            return True
        except OSError:  # EIO: the last process of the terminal has ended
            return False
        self._keyboard.shown(data)
        while data:
            data = data[os.write(1, data) :]
        return True

    def _from_user(self) -> None:
        data = os.read(0, READ_BYTES)
        self._stdin_open = bool(data)
        self._out += self._keyboard.keys(data, self._runtime.elapsed_us()) if data else b""

    def _from_service(self, said: dict[str, Any]) -> None:
        now, message_id = self._runtime.elapsed_us(), str(said.get("message_id"))
        self._keyboard.line_mode = _line_mode(self._master)
        if said.get("event") == "look":
            reason = "output_waits" if self._out else self._keyboard.why_not(message_id, now)
            self._line.say({"op": "look_result", "message_id": message_id, "reason": reason})
        elif said.get("event") == "inject":
            lease_id, text = str(said["lease_id"]), str(said["text"])
            self._act(self._keyboard.begin(message_id, lease_id, text, int(said["within_ms"]), now))

    def _go_on(self) -> None:
        stepped = self._keyboard.step(self._runtime.elapsed_us(), flushed=not self._out)
        if stepped is not None:
            self._act(stepped)

    def _act(self, what: bytes | Ended) -> None:
        if isinstance(what, bytes):
            self._out += what
            return
        self._line.say({"op": "inject_result", "lease_id": what.lease_id, "outcome": what.outcome,
                        "reason": what.reason})  # fmt: skip
        if self._keyboard.injection is None:
            self._out += self._keyboard.release()

    def _write(self) -> None:
        with contextlib.suppress(BlockingIOError):
            self._out = self._out[os.write(self._master, self._out[:1_024]) :]


def _ignore_no_signal() -> None:
    """The command starts with the signals of a new terminal: `nohup` or a shell's `&` were said to us, we end
    it by a hang-up, and its user by Ctrl-C.
    """
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)


def _line_mode(master: int) -> bool:
    """Whether a terminal edits and echoes lines by itself, as it does for programs that ask simple
    questions.
    """
    try:
        return bool(termios.tcgetattr(master)[3] & (termios.ICANON | termios.ECHO))
    except termios.error:
        return False


@contextlib.contextmanager
def _raw_terminal() -> Iterator[None]:
    """Our own terminal, if there is one, hands every key through while the command runs."""
    if not os.isatty(0):
        yield
        return
    before = termios.tcgetattr(0)
    tty.setraw(0)
    try:
        yield
    finally:
        termios.tcsetattr(0, termios.TCSADRAIN, before)


@contextlib.contextmanager
def _signals(pid: int, master: int) -> Iterator[None]:
    """The command's window is as large as ours, and what would end us ends it. Under `nohup` a hang-up is
    nothing to us.
    """

    def resize(*_: object) -> None:
        if os.isatty(0):
            size = fcntl.ioctl(0, termios.TIOCGWINSZ, struct.pack("HHHH", 0, 0, 0, 0))
            fcntl.ioctl(master, termios.TIOCSWINSZ, size)

    def end(*_: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGHUP)

    resize()
    handlers: dict[signal.Signals, Callable[..., None]] = {signal.SIGWINCH: resize, signal.SIGTERM: end}
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        handlers[signal.SIGHUP] = end
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        sys.stdout.flush()
