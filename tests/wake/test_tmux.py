"""Delivery into real panes of a private tmux server: the right text submitted once, or nothing typed and
a reason kept.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from wake.conftest import HERE, Daemon, Log, Tmux, until

from tessera.wake.text import sanitise

LONG = os.environ.get("TESSERA_LONG") == "1"


def attach(daemon: Daemon, tmux: Tmux, pane: str, *options: str) -> str:
    """Register a pane; the endpoint's id."""
    words = ("attach", "--repo", "api", "--pane", pane, "--tmux-socket", tmux.socket, "--name", pane)
    return daemon.run(*words, *options).stdout.strip()


def until_deferred(daemon: Daemon, message_id: str, reason: str) -> dict[str, Any]:
    """The receipt once it says that its endpoint is not ready for this reason."""

    def look() -> Any:
        message = daemon.message(message_id)
        return message if message["deferred_reason"] == reason else None

    return until(look, f"{message_id} to wait because of {reason}")


def body_of(text: str) -> str:
    """The body of a framed wake."""
    return text.split("\n", 1)[1].rsplit("\n", 1)[0]


HARD = [
    "x", "x\n", "x\r\n", "a\nb", "a\n\n", "C-m", "Up Up Enter", "Tab", "-l", "-R --", ";", "a;",
    "!echo hi", "@README",
    "/quit", "#", "$HOME `id` \\", "#{pane_id}", "\u00e9\u4f60\u597d \U0001f469\u200d\U0001f4bb e\u0301",
    "\x1b[201~\rrm -rf x\r", "\x1b]0;title\x07 \x03 \x04 \x1b\x1b \x00 \u202e \u009b31m",
    "\t\tindented\n  more  ",
]  # fmt: skip


def test_hard_bodies(daemon: Daemon, tmux: Tmux) -> None:
    """Bodies that look like keys, options, commands or escapes arrive as text, whole, in one submit each,
    and no key but the Enter reaches the application.
    """
    daemon.start()
    pane, log = tmux.composer()
    attach(daemon, tmux, pane, "--bracketed", "--ack-mode", "injected")
    for number, body in enumerate(HARD):
        sent = daemon.send(f"k{number}", body)
        daemon.until_state(sent["message_id"], "injected")
    assert [body_of(text) for text in log.submitted()] == [sanitise(body) for body in HARD]
    assert not log.events("key")
    assert not log.events("escape")


def test_hidden_cursor_and_suggestion(daemon: Daemon, tmux: Tmux) -> None:
    """A composer that draws its own cursor and shows a faint suggestion counts as empty."""
    daemon.start()
    pane, log = tmux.composer("--hidden-cursor")
    attach(daemon, tmux, pane, "--harness", "claude", "--ack-mode", "injected")
    daemon.until_state(daemon.send("k", "a\nb")["message_id"], "injected")
    assert [body_of(text) for text in log.submitted()] == ["a\nb"]


def test_dead_pane(daemon: Daemon, tmux: Tmux) -> None:
    """A pane whose process has ended gets nothing, the server lives on, and the wake fails with the
    reason.
    """
    daemon.start()
    tmux.pane("sleep", "600")
    tmux("set-option", "-g", "remain-on-exit", "on")
    pane, log = tmux.composer()
    endpoint = attach(daemon, tmux, pane, "--bracketed", "--attempts", "1")
    os.kill(log.events("start")[0]["pid"], 9)
    until(lambda: tmux("display-message", "-p", "-t", pane, "#{pane_dead}") == "1", "the pane to die")
    until(lambda: not daemon.client.call("endpoints", live=True)["endpoints"], "the endpoint to be gone")
    shown = daemon.client.call("endpoints", endpoint_id=endpoint)["endpoints"][0]
    assert (shown["state"], shown["live_reason"]) == ("gone", "pane_dead")
    assert tmux("list-sessions")


def test_synchronised_panes(daemon: Daemon, tmux: Tmux) -> None:
    """With synchronised panes only the registered one gets the wake and its Enter."""
    daemon.start()
    pane, log = tmux.composer()
    other = Log(tmux.folder / "other")
    tmux("split-window", "-t", pane, sys.executable, str(HERE / "composer.py"), "--log", str(other.path))
    until(lambda: other.events("start"), "the other composer")
    tmux("set-option", "-w", "-t", pane, "synchronize-panes", "on")
    attach(daemon, tmux, pane, "--bracketed", "--ack-mode", "injected")
    daemon.until_state(daemon.send("k")["message_id"], "injected")
    assert len(log.submitted()) == 1
    assert len(other.lines()) == 1


def test_shell_is_refused(daemon: Daemon, tmux: Tmux) -> None:
    """A pane whose foreground is a shell is no live endpoint, unless that was asked for."""
    daemon.start()
    pane = tmux.pane("bash", "--norc", "--noprofile")
    until(lambda: "$" in tmux.screen(pane) or "#" in tmux.screen(pane), "a prompt")
    attach(daemon, tmux, pane)
    shown = until(lambda: [one for one in daemon.client.call("endpoints")["endpoints"] if not one["live"]],
                  "the endpoint to be stale")  # fmt: skip
    assert shown[0]["live_reason"] == "shell_in_front"
    attach(daemon, tmux, pane, "--replace", "--allow-shell", "--bracketed", "--ack-mode", "injected")
    daemon.until_state(daemon.send("k", "echo $((6*7)) # harmless")["message_id"], "injected")


def test_plain_reader_gets_one_line(daemon: Daemon, tmux: Tmux) -> None:
    """An application that was not said to take bracketed pastes gets a wake of many lines as one line,
    one submit, and one too long for a terminal's line is not typed at all.
    """
    daemon.start()
    pane = tmux.pane("cat")
    attach(daemon, tmux, pane, "--promptless", "--ack-mode", "injected", "--attempts", "1")
    sent = daemon.send("k", "a\nb\n" * 20)
    daemon.until_state(sent["message_id"], "injected")
    until(lambda: tmux.screen(pane).count(f"[end of {sent['message_id']}") == 2, "cat to repeat the line")
    assert tmux.screen(pane).count(f"[Tessera wake {sent['message_id']}") == 2
    longer = daemon.until_state(daemon.send("k2", "x" * 5_000)["message_id"], "failed")
    assert longer["last_failure_reason"] == "too_long_for_one_line"
    assert "xxx" not in tmux.screen(pane)


def test_prompt_toolkit(daemon: Daemon, tmux: Tmux, folder: Path) -> None:
    """A composer made with prompt_toolkit takes a wake of several lines, and one of 8 KiB, whole."""
    daemon.start()
    app, log = folder / "app.py", Log(folder / "ptk")
    app.write_text(f"""
import json
from prompt_toolkit import PromptSession
session = PromptSession("ptk> ", multiline=True, key_bindings=None)
from prompt_toolkit.key_binding import KeyBindings
keys = KeyBindings()
keys.add("enter")(lambda event: event.current_buffer.validate_and_handle())
with open({str(log.path)!r}, "a", buffering=1) as log:
    while True:
        log.write(json.dumps({{"event": "submit", "text": session.prompt(key_bindings=keys)}}) + "\\n")
""")
    pane = tmux.pane(sys.executable, str(app))
    until(lambda: "ptk>" in tmux.screen(pane), "a prompt")
    attach(daemon, tmux, pane, "--bracketed", "--ack-mode", "injected")
    bodies = ["one\ntwo \u4f60\u597d", "0123456 89\n" * 740]
    for number, body in enumerate(bodies):
        daemon.until_state(daemon.send(f"k{number}", body)["message_id"], "injected")
    assert [body_of(text) for text in log.submitted()] == [body.rstrip("\n") for body in bodies]


def test_many_into_a_slow_reader(daemon: Daemon, tmux: Tmux) -> None:
    """Wakes into an application that reads in random pieces arrive in order, none lost, none doubled."""
    count = 500 if LONG else 40
    daemon.start()
    pane, log = tmux.composer("--chunks", "11")
    attach(daemon, tmux, pane, "--bracketed", "--ack-mode", "injected")
    sent = [daemon.send(f"k{number}", f"body {number}\nof {count}") for number in range(count)]
    until(
        lambda: daemon.client.call("stats")["by_state"] == {"injected": count}, "all to arrive", 2.0 * count
    )
    assert [text[14:32] for text in log.submitted()] == [one["message_id"] for one in sent]
