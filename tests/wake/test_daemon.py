"""The service as a process: its socket's life, who may speak, how slow clients fare, how it ends."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from contextlib import suppress

import pytest
from wake.conftest import Daemon, until


def raw(daemon: Daemon, data: bytes) -> list[dict]:
    """Every answer to some bytes on one connection."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(15)
        connection.connect(str(daemon.socket))
        connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
        answers = b""
        with suppress(ConnectionResetError):  # who is refused unread gets that after the answer
            while more := connection.recv(65_536):
                answers += more
        return [json.loads(line) for line in answers.splitlines()]


def test_folder_that_others_may_enter_is_refused(daemon: Daemon) -> None:
    """A run directory with other rights than 0700 is refused, as is one behind a link."""
    (daemon.folder / "run").mkdir(mode=0o755)
    process = daemon.popen()
    _, said = process.communicate(timeout=20)
    assert (process.returncode, "0700" in said) == (1, True)


@pytest.mark.parametrize("way", ["removed", "replaced"])
def test_lost_socket_ends_the_service(daemon: Daemon, way: str) -> None:
    """A daemon whose socket was removed or replaced stops with exit code 3 and leaves the new one alone."""
    daemon.start()
    daemon.register("file", {"path": str(daemon.folder / "out.txt")})
    sent = daemon.send("k")
    daemon.socket.unlink()
    if way == "replaced":
        daemon.socket.write_text("somebody else's")
    assert daemon.process.wait(timeout=20) == 3
    daemon.process.communicate()
    assert daemon.socket.exists() == (way == "replaced")
    daemon.socket.unlink(missing_ok=True)
    daemon.start()
    assert daemon.message(sent["message_id"])["message_id"] == sent["message_id"]


def test_other_users_are_refused(daemon: Daemon) -> None:
    """Another user cannot connect, and one that holds a connection all the same is refused by its uid."""
    if os.geteuid() != 0:
        assert daemon.folder.stat().st_mode & 0o077 == 0
        return
    daemon.start()
    os.chmod(daemon.folder, 0o755)
    code = f"""
import os, socket, sys
own = socket.socket(socket.AF_UNIX)
if sys.argv[1] == "late":
    os.chmod({str(daemon.socket.parent)!r}, 0o711); os.chmod({str(daemon.socket)!r}, 0o666)
os.setgid(65534); os.setuid(65534)
try:
    own.connect({str(daemon.socket)!r})
except PermissionError:
    print("no way in"); sys.exit()
try:
    own.sendall(b'{{"op": "ping", "protocol": "0.1"}}\\n')
except BrokenPipeError:
    pass
print(own.makefile().readline())
"""
    said = [
        subprocess.run([sys.executable, "-c", code, when], capture_output=True, text=True, check=True).stdout
        for when in ("now", "late")
    ]  # fmt: skip
    assert said[0] == "no way in\n"
    assert json.loads(said[1])["error"]["code"] == "forbidden"


def test_answers_in_order_on_one_connection(daemon: Daemon) -> None:
    """Several requests on one connection are answered in order, each with its number; faults do not end
    it.
    """
    daemon.start()
    answers = raw(daemon, b'{"op":"ping","id":1}\nnonsense\n{"op":"nope","protocol":"0.1","id":"x"}\n'
                          b'{"op":"stats","protocol":"0.1","id":4}\n')  # fmt: skip
    assert [one.get("id") for one in answers] == [1, None, "x", 4]
    assert [one["ok"] for one in answers] == [True, False, False, True]
    assert [one["error"]["code"] for one in answers[1:3]] == ["invalid_json", "unknown_op"]


def test_a_line_without_end(daemon: Daemon) -> None:
    """A line over the limit is refused and the connection ends; the service goes on."""
    daemon.start()
    assert raw(daemon, b"x" * 140_000)[0]["error"]["code"] == "line_too_long"
    assert raw(daemon, b'{"op":"ping"}\n')[0]["ok"]


def test_silent_clients_slow_nobody(daemon: Daemon) -> None:
    """With thirty clients that say nothing, the median ping takes under ten milliseconds; beyond 64
    connections a client is told that the service is busy.
    """
    daemon.start()
    silent = [daemon.client.connect() for _ in range(30)]
    times = []
    for _ in range(21):
        begin = time.perf_counter()
        daemon.client.ping()
        times.append(time.perf_counter() - begin)
    assert sorted(times)[10] < 0.010
    silent += [daemon.client.connect() for _ in range(34)]
    answer = until(lambda: raw(daemon, b'{"op":"ping"}\n'), "an answer")[0]
    assert (answer["error"]["code"], answer["error"]["retryable"]) == ("busy", True)
    for one in silent:
        one.close()
    until(lambda: raw(daemon, b'{"op":"ping"}\n')[0]["ok"], "room for another client")


def test_sigterm_ends_cleanly(daemon: Daemon) -> None:
    """SIGTERM ends the service with exit code 0, nothing in its log but words, and no socket left."""
    daemon.start()
    code, said = daemon.stop()
    assert (code, daemon.socket.exists()) == (0, False)
    assert "Traceback" not in said


def test_handed_over_socket(daemon: Daemon) -> None:
    """A socket that a supervisor opened is served as it is: a client that connected before is answered."""
    (daemon.folder / "run").mkdir(mode=0o700)
    own = socket.socket(socket.AF_UNIX)
    own.bind(str(daemon.socket))
    own.listen(8)
    early = daemon.client.connect()
    early.sendall(b'{"op":"ping"}\n')
    starter = (
        "import os, sys; os.dup2(int(sys.argv[1]), 3); os.set_inheritable(3, True); "
        "os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS='1'); "
        "os.execv(sys.executable, [sys.executable, '-m', 'tessera.cli.main', 'wake', 'serve'])"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", starter, str(own.fileno())], env=daemon.env, pass_fds=[own.fileno()],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    daemon.process = process
    own.close()
    with early.makefile("rb") as lines:
        assert json.loads(lines.readline())["pid"] == process.pid
    early.close()
