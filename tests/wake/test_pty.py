"""The terminal that `tessera wake run` owns: wakes go in between the user's keys, never into them."""

from __future__ import annotations

import fcntl
import os
import pty
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wake.conftest import HERE, Daemon, Log, until
from wake.test_tmux import body_of, until_deferred

from tessera.wake import states
from tessera.wake.keyboard import ENTERED_MAX, Ended, Keyboard
from tessera.wake.text import frame

ID = "m_0123456789abcdef"


class Terminal:
    """A user at a terminal in which `tessera wake run` runs our composer."""

    def __init__(self, daemon: Daemon, *options: str, wake: tuple[str, ...] = ()) -> None:
        self.log = Log(daemon.folder / "pty.log")
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        words = ("run", "--repo", "api", "--ack-mode", "injected", *wake, "--", sys.executable,
                 str(HERE / "composer.py"), "--log", str(self.log.path), *options)  # fmt: skip
        self.process = subprocess.Popen(
            daemon.command(*words),
            env=daemon.env,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
        )
        os.close(slave)
        os.set_blocking(self.master, False)
        until(lambda: self.read() or self.log.events("start"), "the composer to start")

    def read(self) -> None:
        """Take what is shown, as a terminal does."""
        try:
            while os.read(self.master, 65_536):
                pass
        except OSError:
            pass

    def type(self, keys: bytes) -> None:
        os.write(self.master, keys)

    def until(self, look: Any, what: str, seconds: float = 20.0) -> Any:
        return until(lambda: self.read() or look(), what, seconds)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self.master)


@pytest.fixture
def terminal(daemon: Daemon) -> Iterator[Any]:
    made: list[Terminal] = []

    def make(*options: str, **settings: Any) -> Terminal:
        made.append(Terminal(daemon, *options, **settings))
        terminal = made[-1]

        def live() -> Any:
            return daemon.socket.exists() and daemon.client.call("endpoints", live=True)["endpoints"]

        terminal.until(live, "the endpoint")
        return terminal

    yield make
    for terminal in made:
        terminal.close()


@pytest.mark.parametrize("options", [(), ("--placeholder",), ("--chunks", "5")], ids=str)
def test_wakes_arrive(daemon: Daemon, terminal: Any, options: tuple[str, ...]) -> None:
    """A short wake and one of 8 KiB are each one submit, whole, also where the application reads in pieces or
    shows a stand-in.
    """
    daemon.start()
    user = terminal(*options)
    bodies = ["a\nb", "0123 \u4f60\n" * 800]
    for number, body in enumerate(bodies):
        sent = daemon.send(f"k{number}", body)
        message = user.until(
            lambda: (m := daemon.message(sent["message_id"]))["state"] != "pending" and m,  # noqa: B023
            "the wake",
        )
        assert (message["state"], message["total_attempts"]) == ("injected", 1)
    assert [body_of(text) for text in user.log.submitted()] == [body.rstrip("\n") for body in bodies]


def test_draft_and_keys_keep_a_wake_waiting(daemon: Daemon, terminal: Any) -> None:
    """While the user types, and while a draft stands, nothing is typed and no attempt counted; the wake
    follows the user's own submit.
    """
    daemon.start()
    user = terminal()
    user.type(b"merge only after")
    user.until(lambda: user.log.lines(), "the draft")
    sent = daemon.send("k", "the wake")
    until_deferred(daemon, sent["message_id"], "user_typing")
    message = user.until(lambda: until_deferred(daemon, sent["message_id"], "draft"), "the draft to be seen")
    assert message["attempt_count"] == 0
    user.type(b"\r")
    user.until(lambda: daemon.message(sent["message_id"])["state"] == "injected", "the wake")
    first, second = user.log.submitted()
    assert (first, body_of(second)) == ("merge only after", "the wake")


def test_dialog_gets_no_enter(daemon: Daemon, terminal: Any) -> None:
    """An application that does not show the wake's id gets no Enter: the menu keeps its choice."""
    daemon.start()
    user = terminal("--dialog", wake=("--attempts", "1"))
    sent = daemon.send("k")
    user.until(lambda: daemon.message(sent["message_id"])["state"] == "failed", "the attempt to fail")
    assert daemon.message(sent["message_id"])["last_failure_reason"] == "composer_not_proven"
    assert not user.log.events("chosen")


def test_without_brackets_nothing_is_typed(daemon: Daemon, terminal: Any) -> None:
    """An application that asks for no bracketed paste gets nothing."""
    daemon.start()
    user = terminal("--no-brackets")
    sent = daemon.send("k", "a\nb")
    until_deferred(daemon, sent["message_id"], "no_bracketed_paste")
    assert not user.log.submitted()


def test_plain_gets_one_line(daemon: Daemon, terminal: Any) -> None:
    """Where the user said so, an application without bracketed paste gets a wake as one line, one submit."""
    daemon.start()
    user = terminal("--no-brackets", wake=("--plain",))
    sent = daemon.send("k", "a\nb")
    user.until(lambda: daemon.message(sent["message_id"])["state"] == "injected", "the wake")
    (text,) = user.until(user.log.submitted, "the submit")
    assert " \u23ce a \u23ce b \u23ce [end of" in text


def test_a_simple_question_gets_no_answer(daemon: Daemon) -> None:
    """A program that asks on a terminal in line mode, where the terminal itself would echo the wake, gets
    none.
    """
    daemon.start()
    master, slave = pty.openpty()
    asks = "import os; os.write(1, b'\\x1b[?2004hProceed? [Y/n] '); os.write(1, b'got ' + os.read(0, 99))"
    words = ("run", "--repo", "api", "--", sys.executable, "-c", asks)
    streams = {"stdin": slave, "stdout": slave, "stderr": slave}
    process = subprocess.Popen(daemon.command(*words), env=daemon.env, **streams)
    try:
        until(lambda: b"Proceed" in os.read(master, 4_096), "the question")
        until(lambda: daemon.client.call("endpoints", live=True)["endpoints"], "the endpoint")
        until_deferred(daemon, daemon.send("k")["message_id"], "line_mode")
        assert process.poll() is None
    finally:
        process.kill()
        process.wait()
        os.close(slave)
        os.close(master)


def test_restart_of_the_service(daemon: Daemon, terminal: Any) -> None:
    """A wrapper that was there before the service, or outlives it, takes wakes under the same endpoint
    again.
    """
    daemon.start()
    user = terminal()
    (before,) = daemon.client.call("endpoints", live=True)["endpoints"]
    daemon.stop(signal.SIGKILL)
    daemon.start()
    live = lambda: daemon.client.call("endpoints", live=True)["endpoints"]  # noqa: E731
    (after,) = user.until(live, "the endpoint to come back")
    assert after["endpoint_id"] == before["endpoint_id"]
    sent = daemon.send("k")
    user.until(lambda: daemon.message(sent["message_id"])["state"] == "injected", "the wake")


def test_end_of_the_command(daemon: Daemon) -> None:
    """The wrapper ends with its command's exit code and takes its endpoint along."""
    daemon.start()
    ran = daemon.run("run", "--repo", "api", "--", "sh", "-c", "echo $TESSERA_WAKE_ENDPOINT; exit 7", code=7)
    (endpoint,) = daemon.client.call("endpoints")["endpoints"]
    assert endpoint["state"] == "detached"
    assert ran.stdout.strip() == endpoint["endpoint_id"]
    assert "cannot run" in daemon.run("run", "--repo", "api", "--", "./no-such", code=127).stdout


def test_a_terminal_under_nohup_ends_with_its_command(daemon: Daemon) -> None:
    """`nohup` keeps a hang-up from the terminal, and SIGTERM still ends it, with the command, which starts
    with the signals that any program of a terminal starts with.
    """
    words = ("run", "--repo", "api", "--", "sh", "-c", "grep SigIgn /proc/$$/status; read line")
    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    process = subprocess.Popen(["nohup", *daemon.command(*words)], env=daemon.env, **streams)
    try:
        ignored = int(process.stdout.readline().removeprefix(b"SigIgn:"), 16)
        assert ignored & 0x7FFFFFFF == 0  # those that are no real-time signals
        process.send_signal(signal.SIGHUP)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.2)
        process.terminate()
        assert process.wait(20) == 128 + signal.SIGHUP
    finally:
        process.kill()
        process.communicate()


def test_wake_is_never_typed_twice() -> None:
    """A wake whose text stands in the composer gets an Enter alone once it is seen, and no other one is typed
    beside it.
    """
    keyboard = Keyboard()
    keyboard.shown(b"\x1b[?2004h> ")
    text = frame(ID, "api", "hello")
    typed = keyboard.begin(ID, "l1", text, 10_000, 0)
    assert typed == b"\x1b[200~" + text.encode() + b"\x1b[201~"
    keyboard.step(1, flushed=True)
    assert keyboard.step(1_600_000, flushed=True) == Ended("l1", states.STAGED, "composer_not_proven")
    assert keyboard.why_not("m_ffffffffffffffff", 9_000_000) == states.DRAFT
    assert keyboard.begin(ID, "l2", text, 10_000, 9_000_000) == b""
    keyboard.shown(b"\x1b[2m[Tessera wake\x1b[1C" + ID.encode())
    assert keyboard.step(9_100_000, flushed=True) is None
    assert keyboard.step(9_300_000, flushed=True) == b"\r"
    assert keyboard.step(9_400_000, flushed=True) == Ended("l2", states.WRITTEN)
    assert keyboard.why_not("m_ffffffffffffffff", 20_000_000) is None


def test_a_wake_whose_answer_was_lost_is_not_typed_again() -> None:
    """A service that died before it heard that a wake was typed asks anew, and is told; a repeat is another
    text and is typed, and so is a wake from long ago.
    """
    keyboard = Keyboard(plain=True)
    text = frame(ID, "api", "hello")

    def typed(message_id: str, what: str, at_us: int) -> bool:
        begun = keyboard.begin(message_id, "l", what, 10_000, at_us)
        if begun == Ended("l", states.WRITTEN):
            return False
        keyboard.shown(b"[Tessera wake " + message_id.encode())
        steps = [keyboard.step(at_us + later * 200_000, flushed=True) for later in range(1, 5)]
        assert Ended("l", states.WRITTEN) in steps
        return True

    assert typed(ID, text, 0)
    assert not typed(ID, text, 2_000_000)
    assert typed(ID, frame(ID, "api", "hello", delivery=2, repeat=True), 4_000_000)
    for number in range(ENTERED_MAX):
        other = f"m_{number:016x}"
        assert typed(other, frame(other, "api", "x"), 6_000_000 + number * 2_000_000)
    assert typed(ID, frame(ID, "api", "hello", delivery=2, repeat=True), 900_000_000)


def test_keys_during_a_wake_are_held() -> None:
    """What the user types while a wake goes in follows it, in order."""
    keyboard = Keyboard()
    keyboard.shown(b"\x1b[?2004h")
    keyboard.begin(ID, "l1", "[x]", 10_000, 0)
    assert keyboard.keys(b"abc", 10) == b""
    assert keyboard.keys(b"\x7fd", 20) == b""
    keyboard.injection = None
    assert keyboard.release() == b"abc\x7fd"
    assert keyboard.draft == 3


@given(st.lists(st.binary(max_size=12), max_size=12))
def test_any_keys(pieces: list[bytes]) -> None:
    """Whatever is pressed goes on unchanged, and after Enter and quiet nothing counts as a draft."""
    keyboard = Keyboard(plain=True)
    assert b"".join(keyboard.keys(piece, 0) for piece in pieces) == b"".join(pieces)
    assert keyboard.draft >= 0
    keyboard.keys(b"\r", 0)
    assert keyboard.why_not(ID, 10_000_000) is None
