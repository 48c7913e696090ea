"""The wake service: its deaths, its socket, its slow and blocked endpoints."""

from __future__ import annotations

import os
import pty
import signal
import stat
import subprocess
import sys

import pytest
from wake.conftest import Daemon, Room, Tmux, until
from wake.test_patience import Seat
from wake.test_tmux import attach

from tessera.testing import DEATH
from tessera.wake.errors import NoService

TMUX_POINTS = ["wake.tmux.pasted", "wake.tmux.entered"]


@pytest.mark.parametrize("point", TMUX_POINTS)
def test_w13_death_at_the_keys(daemon: Daemon, tmux: Tmux, point: str) -> None:
    """W13: a service that dies between text and Enter presses Enter alone after its restart; one that dies
    after the Enter may deliver again, with the same id, but not the text. Nothing is typed twice into one
    composer.
    """
    pane, log = tmux.composer()
    daemon.start(TESSERA_CRASH_AT=point)
    attach(daemon, tmux, pane, "--bracketed", "--ack-mode", "injected")
    sent = daemon.send("k", "the text")
    assert daemon.process.wait(timeout=20) == DEATH
    daemon.process.communicate()
    daemon.start()
    until(lambda: daemon.message(sent["message_id"])["state"] == "injected", "the wake to arrive", 40)
    submitted = log.submitted()
    assert all(f"[end of {sent['message_id']}" in text for text in submitted)
    assert [text.count("the text") for text in submitted] == [1, 0][: len(submitted)]
    assert len(submitted) == (1 if point == "wake.tmux.pasted" else 2)


def test_w14_application_that_reads_nothing(daemon: Daemon) -> None:
    """W14: a terminal whose application has stopped reading costs its wakes attempts with a reason, and keeps
    nobody else waiting.
    """
    daemon.start()
    daemon.register("file", {"path": str(daemon.folder / "out.txt")}, repos=["web"])
    master, slave = pty.openpty()
    stopped = (
        "import os, signal, tty; tty.setraw(0); os.write(1, b'\\x1b[?2004h> '); "
        "os.kill(os.getpid(), signal.SIGSTOP)"
    )
    words = ("run", "--repo", "api", "--attempts", "1", "--", sys.executable, "-c", stopped)
    process = subprocess.Popen(
        daemon.command(*words), env=daemon.env, stdin=slave, stdout=slave, stderr=slave
    )
    try:
        until(lambda: daemon.client.call("endpoints", repo="api", live=True)["endpoints"], "the endpoint")
        until(lambda: b"> " in os.read(master, 4_096), "the application")
        sent = daemon.send("k", "x" * 8_000)
        other = daemon.send("k2", target_repo="web")
        daemon.until_state(other["message_id"], "awaiting_ack")
        message = daemon.until_state(sent["message_id"], "failed")
        assert message["last_failure_reason"] in ("composer_not_proven", "write_timeout")
    finally:
        process.kill()
        process.wait()
        os.close(slave)
        os.close(master)


def test_w16_one_daemon_of_many(daemon: Daemon) -> None:
    """W16: of ten that start at once one serves; the others say who holds the lock, and take nothing away."""
    crowd = [daemon.popen() for _ in range(10)]
    try:
        until(lambda: sum(one.poll() is None for one in crowd) == 1, "nine to give up")
        losers = [one for one in crowd if one.poll() is not None]
        assert [one.returncode for one in losers] == [1] * 9
        assert all("another wake service holds" in one.stderr.read() for one in losers)
        until(daemon.socket.exists, "the winner's socket")
        assert daemon.client.ping()["pid"] in [one.pid for one in crowd]
    finally:
        for one in crowd:
            one.kill()
            one.communicate()


@pytest.mark.parametrize("kind", ["file", "folder", "link", "long"])
def test_w16_what_is_no_socket_stays(daemon: Daemon, kind: str) -> None:
    """W16: a file, a folder or a link in the socket's place, and a path too long, are refused and left
    alone.
    """
    run = daemon.folder / "run"
    if kind == "long":
        daemon.env["TESSERA_WAKE_HOME"] = str(daemon.folder / ("x" * 110))
    else:
        run.mkdir(mode=0o700)
        {"file": lambda: daemon.socket.write_text("mine"), "folder": daemon.socket.mkdir,
         "link": lambda: daemon.socket.symlink_to("elsewhere")}[kind]()  # fmt: skip
    process = daemon.popen()
    _, said = process.communicate(timeout=20)
    assert process.returncode == 1
    assert ("longer than" if kind == "long" else "is not a socket") in said
    if kind != "long":
        assert os.path.lexists(daemon.socket)


def test_w16_stale_socket_is_taken_over(daemon: Daemon) -> None:
    """W16: a socket that a killed daemon left behind keeps no other from serving."""
    daemon.start()
    daemon.stop(signal.SIGKILL)
    assert daemon.socket.exists()
    with pytest.raises(NoService):
        daemon.client.ping()
    daemon.start()
    assert daemon.client.ping()["service"] == "tessera-wake"


def test_w16_socket_is_private_from_its_first_instant(daemon: Daemon) -> None:
    """W16: with umask 000, directory, socket, database and capture are the user's alone, and so is the
    lock.
    """
    before = os.umask(0)
    try:
        daemon.start()
    finally:
        os.umask(before)
    daemon.register("file", {"path": str(daemon.folder / "out.txt")})
    daemon.send("k")
    modes = {
        path.name: stat.S_IMODE(path.lstat().st_mode)
        for path in (daemon.folder / "run", daemon.socket, daemon.socket.with_name("wake.lock"),
                     daemon.folder / "state", daemon.folder / "state" / "capture.jsonl")
    }  # fmt: skip
    assert modes == {"run": 0o700, "wake.sock": 0o600, "wake.lock": 0o600, "state": 0o700,
                     "capture.jsonl": 0o600}  # fmt: skip


@pytest.mark.parametrize("seconds", [60, 1_200])
def test_w17_flood_at_a_blocked_endpoint(room: Room, seconds: int) -> None:
    """W17: fifty wakes from five clients at an endpoint where somebody types arrive afterwards in the
    order of their admission, each with one attempt.
    """
    seat = Seat(room)
    seat.keyboard.keys(b"draft", room.world.elapsed_us)
    sent = [room.send(f"k{n}", f"body {n}", client_id=f"c{n % 5}")["message_id"] for n in range(50)]
    for _ in range(seconds // 2):
        room.pass_seconds(2)
    assert not seat.typed
    seat.keyboard.keys(b"\r", room.world.elapsed_us)
    for _ in range(3):
        room.pass_seconds(2)
    assert seat.typed == sent
    receipts = [room.message(message_id) for message_id in sent]
    assert {(one["state"], one["total_attempts"]) for one in receipts} == {("injected", 1)}
