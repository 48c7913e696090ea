"""Wakes in terminals: what the users of comparable tools have lost, had submitted for them, or never got."""

from __future__ import annotations

import sys

import msgspec
import pytest
from wake.conftest import HERE, Daemon, Log, Room, Tmux, until
from wake.test_tmux import attach, body_of, until_deferred

from tessera.runtime import real_runtime
from tessera.wake import deliveries
from tessera.wake.endpoints.tmux import TmuxEndpoint, target_of
from tessera.wake.errors import InvalidRequest
from tessera.wake.text import sanitise


def test_w01_dialog_gets_no_key(daemon: Daemon, tmux: Tmux) -> None:
    """W01: while a menu with a default answer is open nothing is typed and no attempt is counted; afterwards
    the wake arrives.
    """
    daemon.start()
    pane, log = tmux.composer("--dialog")
    attach(daemon, tmux, pane, "--bracketed", "--ack-mode", "injected")
    sent = daemon.send("k")
    message = until_deferred(daemon, sent["message_id"], "dialog")
    assert (message["state"], message["attempt_count"]) == ("pending", 0)
    assert len(log.lines()) == 1
    tmux("send-keys", "-t", pane, "Enter")
    daemon.until_state(sent["message_id"], "injected")
    assert [line["event"] for line in log.lines()] == ["start", "chosen", "paste", "submit"]


@pytest.mark.parametrize("draft", ["merge only after", "first line\nsecond line", "ends in a line\n"])
@pytest.mark.parametrize("options", [[], ["--hidden-cursor"]], ids=str)
def test_w02_draft_stays_alone(daemon: Daemon, tmux: Tmux, draft: str, options: list[str]) -> None:
    """W02: a half-typed draft, of several lines too, is left as it is; the wake arrives by itself after
    it.
    """
    daemon.start()
    pane, log = tmux.composer(*options)
    attach(daemon, tmux, pane, "--bracketed", "--ack-mode", "injected")
    tmux("set-buffer", "-b", "draft", draft)
    tmux("paste-buffer", "-p", "-r", "-b", "draft", "-t", pane)
    until(lambda: log.events("paste"), "the draft")
    sent = daemon.send("k", "the wake")
    message = until_deferred(daemon, sent["message_id"], "draft")
    assert message["attempt_count"] == 0
    tmux("send-keys", "-t", pane, "Enter")
    daemon.until_state(sent["message_id"], "injected")
    first, second = log.submitted()
    assert (first, body_of(second)) == (draft, "the wake")


@pytest.mark.parametrize("body", ["x", "x\n", "x\r\n", "a\nb", "a\n\n"])
def test_w03_enter_outside_the_paste(daemon: Daemon, tmux: Tmux, body: str) -> None:
    """W03: one submit with exactly the body, however it ends, and an empty one is refused."""
    daemon.start()
    pane, log = tmux.composer()
    attach(daemon, tmux, pane, "--bracketed", "--ack-mode", "injected")
    daemon.until_state(daemon.send("k", body)["message_id"], "injected")
    assert [body_of(text) for text in log.submitted()] == [sanitise(body)]
    assert [line["event"] for line in log.lines()] == ["start", "paste", "submit"]
    with pytest.raises(InvalidRequest):
        daemon.send("empty", "")


def test_w05_enter_that_is_not_taken(daemon: Daemon, tmux: Tmux) -> None:
    """W05: an application that ignores the first Enter is tried again with an Enter alone: one text, one
    submit, and no success is told before.
    """
    daemon.start()
    pane, log = tmux.composer("--deaf-enters", "1")
    attach(daemon, tmux, pane, "--bracketed", "--ack-mode", "injected")
    sent = daemon.send("k")
    message = daemon.until_state(sent["message_id"], "injected")
    assert [one["reason"] for one in message["attempts"]] == ["enter_not_taken", None]
    assert [line["event"] for line in log.lines()] == ["start", "paste", "ignored", "submit"]


def test_w07_key_names_are_text(daemon: Daemon, tmux: Tmux) -> None:
    """W07: bodies that name keys arrive as they were written."""
    daemon.start()
    pane, log = tmux.composer()
    attach(daemon, tmux, pane, "--bracketed", "--ack-mode", "injected")
    bodies = ["Up Up Enter", "C-m", "Tab", "Enter"]
    for body in bodies:
        daemon.until_state(daemon.send(body, body)["message_id"], "injected")
    assert [body_of(text) for text in log.submitted()] == bodies
    assert not log.events("key")


@pytest.mark.parametrize("options", [[], ["--placeholder"], ["--chunks", "7"]], ids=str)
def test_w08_eight_kibibytes(daemon: Daemon, tmux: Tmux, options: list[str]) -> None:
    """W08: the largest body, 200 lines with tabs, CRLF, wide and combining characters and control bytes, is
    one submit, whether the composer shows it, its end, or a stand-in.
    """
    daemon.start()
    line = "\tlarge \u4f60\u597d e\u0301 \x1b[1m; end  \r\n"
    body = (line * 240)[:5_400]
    while len((body + "\u00e9").encode()) <= 8_192:
        body += "\u00e9"
    pane, log = tmux.composer(*options)
    attach(daemon, tmux, pane, "--bracketed", "--ack-mode", "injected")
    message = daemon.until_state(daemon.send("k", body)["message_id"], "injected", "failed")
    assert message["total_attempts"] == 1, message["attempts"]
    assert [body_of(text) for text in log.submitted()] == [sanitise(body)]


@pytest.mark.parametrize("mode", ["copy-mode", "choose-tree", "clock-mode"])
def test_w09_modes_of_tmux(daemon: Daemon, tmux: Tmux, mode: str) -> None:
    """W09: in copy mode, a chooser or the clock nothing is typed and the mode stays; afterwards the wake
    arrives.
    """
    daemon.start()
    pane, log = tmux.composer()
    attach(daemon, tmux, pane, "--bracketed", "--ack-mode", "injected")
    tmux(mode, "-t", pane)
    sent = daemon.send("k")
    until_deferred(daemon, sent["message_id"], "pane_in_mode")
    assert tmux("display-message", "-p", "-t", pane, "#{pane_in_mode}") == "1"
    assert len(log.lines()) == 1
    tmux("copy-mode", "-q", "-t", pane)
    daemon.until_state(sent["message_id"], "injected")
    assert len(log.submitted()) == 1


def test_w11_escapes_are_text(daemon: Daemon, tmux: Tmux) -> None:
    """W11: paste marks, titles, control, C1 and direction characters of a body reach the application as
    visible text only, and the body is kept as it was sent.
    """
    daemon.start()
    pane, log = tmux.composer()
    attach(daemon, tmux, pane, "--bracketed", "--ack-mode", "injected")
    body = "\x1b[201~\rrm -rf x\r\x1b]0;title\x07\x03\x04\x1b\x1b\x00\u202e\u009b2J"
    sent = daemon.send("k", body)
    message = daemon.until_state(sent["message_id"], "injected")
    assert [line["event"] for line in log.lines()] == ["start", "paste", "submit"]
    assert body_of(log.submitted()[0]) == sanitise(body)
    assert message["body"] == body


def test_w12_respawned_pane_is_another_one(daemon: Daemon, tmux: Tmux) -> None:
    """W12: a new process in the same pane gets nothing of the old one's wakes; the repeated wake goes to the
    pane that registers anew.
    """
    daemon.start()
    pane, log = tmux.composer("--dialog")
    old = attach(daemon, tmux, pane, "--bracketed", "--ack-mode", "injected", "--attempts", "9")
    sent = daemon.send("k", endpoint_id=old)
    until_deferred(daemon, sent["message_id"], "dialog")
    second = Log(tmux.folder / "second")
    tmux(
        "respawn-pane", "-k", "-t", pane, sys.executable, str(HERE / "composer.py"), "--log", str(second.path)
    )
    until(lambda: second.events("start"), "the second composer")
    until(lambda: daemon.message(sent["message_id"])["last_failure_reason"], "the attempt to fail")
    new = attach(daemon, tmux, pane, "--bracketed", "--ack-mode", "injected")
    assert second.submitted() == []
    assert daemon.send("k", endpoint_id=new)["rebound"]
    daemon.until_state(sent["message_id"], "injected")
    assert len(second.submitted()) == 1
    assert len(log.lines()) == 1


def test_w12_another_process_before_the_enter(room: Room, tmux: Tmux) -> None:
    """W12: a pane that is respawned between text and Enter gets no Enter, and the attempt says why."""
    pane, log = tmux.composer()
    second = Log(tmux.folder / "second")
    target = msgspec.structs.asdict(target_of(tmux.socket, pane, bracketed=True))
    endpoint_id = room.call("register", name="p", repos=["api"], kind="tmux", target=target)["endpoint_id"]
    sent = room.send()
    row = room.service.store.run(lambda tx: tx.one("endpoint", endpoint_id=endpoint_id))
    delivery = room.service.store.run(deliveries.claim, sent["message_id"])

    class Gate:
        async def typing(self) -> bool:
            return True

        async def typed(self) -> bool:
            words = (sys.executable, str(HERE / "composer.py"), "--log", str(second.path))
            tmux("respawn-pane", "-k", "-t", pane, *words)
            until(lambda: second.events("start"), "the second composer")
            return True

        def late(self) -> bool:
            return False

    result = room.do(TmuxEndpoint(row, real_runtime()).write(delivery, Gate()))
    assert (result.outcome, result.reason) == ("staged", "pane_changed_before_enter")
    assert (log.submitted(), len(second.lines())) == ([], 1)
