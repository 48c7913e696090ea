"""The commands, the units, and what operators see when something is wrong."""

from __future__ import annotations

import configparser
import json
import os
import plistlib
import pty
import re
import sqlite3
import subprocess
from pathlib import Path

import apsw
import pytest
from wake.conftest import Daemon, Room, Tmux, until
from wake.test_tmux import attach, until_deferred

from tessera.wake.errors import Storage
from tessera.wake.folders import run_folder, state_folder

ROOT = Path(__file__).parents[2]


def test_a_wake_from_the_command_line(daemon: Daemon) -> None:
    """Attach, send, show, list, acknowledge: each command says what the service says, in words and in
    JSON.
    """
    daemon.start()
    out = daemon.folder / "out.txt"
    endpoint = daemon.run("attach", "--repo", "api", "--file", str(out)).stdout.strip()
    assert endpoint in daemon.run("endpoints").stdout
    assert daemon.run("endpoints", "--repo", "web").stdout.startswith("No endpoints.")
    sent = json.loads(daemon.run("send", "api", "-m", "look \x1b[31m", "--key", "k", "--json").stdout)
    again = daemon.run("send", "api", "-f", "-", "--key", "k", given="look \x1b[31m").stdout
    assert again.split()[0] == sent["message_id"]
    written = json.loads(daemon.run("send", "api", "-m", "and", "--wait", "written", "--json").stdout)
    assert written["state"] == "awaiting_ack"
    shown = daemon.run("show", sent["message_id"]).stdout
    assert "look \\x1b[31m" in shown
    assert "attempt 1: written" in shown
    assert (
        daemon.run("ack", sent["message_id"], "--note", "yes").stdout
        == f"{sent['message_id']} acknowledged\n"
    )
    assert len(daemon.run("history", "--state", "acknowledged").stdout.splitlines()) == 2
    listed = json.loads(daemon.run("history", "--oldest-first", "--json").stdout)["messages"]
    assert [one["message_id"] for one in listed] == [sent["message_id"], written["message_id"]]
    assert daemon.run("detach", endpoint).stdout.startswith("detached")


def test_refusals_of_the_command_line(daemon: Daemon) -> None:
    """Without a service, with wrong usage and with a refusal a command ends with 1 or 2 and says what to
    do.
    """
    said = daemon.run("send", "api", "-m", "x", code=1).stderr
    assert said.startswith("error: no_service: ")
    assert "tessera wake serve" in said
    daemon.start()
    assert "unavailable" in daemon.run("send", "api", "-m", "x", code=1).stderr
    assert "unknown_repo" in daemon.run("send", "nowhere", "-m", "x", code=1).stderr
    assert "say what to send" in daemon.run("send", "api", code=2).stderr
    assert "no tmux pane" in daemon.run("attach", "--repo", "api", code=2).stderr.replace("is in ", "")
    assert "not_found" in daemon.run("show", "m_0", code=1).stderr


def test_a_failed_wake_is_told_and_tried_again(daemon: Daemon) -> None:
    """--wait exits 1 when a wake fails; retry starts it anew and refuses one that did not fail."""
    daemon.start()
    words = ("attach", "--repo", "api", "--attempts", "1", "--command", "false", "--name", "n")
    daemon.run(*words)
    failed = json.loads(daemon.run("send", "api", "-m", "x", "--wait", "acked", "--json", code=1).stdout)
    assert (failed["state"], failed["last_failure_reason"][:14]) == ("failed", "command_exit_1")
    assert daemon.run("retry", failed["message_id"], "--reason", "mended").stdout.split()[1] == "pending"
    daemon.until_state(failed["message_id"], "failed")
    assert daemon.message(failed["message_id"])["total_attempts"] == 2
    daemon.run("ack", failed["message_id"])
    assert "invalid_state" in daemon.run("retry", failed["message_id"], code=1).stderr


def test_attaching_from_inside(daemon: Daemon, tmux: Tmux) -> None:
    """In a pane, in a repository, `attach` needs no words at all."""
    daemon.start()
    pane, _ = tmux.composer()
    daemon.env |= {"TMUX": f"{tmux.socket},1,0", "TMUX_PANE": pane}
    before = Path.cwd()
    os.chdir(daemon.folder / "repos" / "web")
    try:
        daemon.run("attach")
    finally:
        os.chdir(before)
    (endpoint,) = daemon.client.call("endpoints", live=True)["endpoints"]
    assert (endpoint["kind"], endpoint["repos"], endpoint["target"]["pane"]) == ("tmux", ["web"], pane)


def test_doctor(daemon: Daemon) -> None:
    """The doctor says what is missing, what is stale, and that all is well when it is."""
    assert "LOOK service" in daemon.run("doctor", code=1).stdout
    daemon.start()
    assert "LOOK endpoints: none live" in daemon.run("doctor", code=1).stdout
    daemon.register("file", {"path": str(daemon.folder / "out.txt")})
    assert "LOOK" not in daemon.run("doctor").stdout
    path = daemon.registry
    path.write_text(path.read_text() + f"{daemon.folder},api,,\n")
    assert "'api' is there more than once" in daemon.run("doctor", code=1).stdout


def test_somebody_types_in_the_pane(daemon: Daemon, tmux: Tmux) -> None:
    """A key of somebody who looks at the pane keeps a wake away for a while, though the composer is empty."""
    daemon.start()
    pane, log = tmux.composer()
    attach(daemon, tmux, pane, "--bracketed", "--ack-mode", "injected")
    master, slave = pty.openpty()
    client = subprocess.Popen(
        ["tmux", "-u", "-S", tmux.socket, "attach", "-t", pane], stdin=slave, stdout=slave, stderr=slave,
        env=os.environ | {"TERM": "xterm"}, start_new_session=True,
    )  # fmt: skip
    os.close(slave)
    try:
        until(lambda: os.read(master, 65_536) and tmux("list-clients"), "the client")
        os.write(master, b"\x15")
        until(lambda: log.events("key"), "the key")
        sent = daemon.send("k")
        assert until_deferred(daemon, sent["message_id"], "user_typing")["attempt_count"] == 0
        os.set_blocking(master, False)
        message = daemon.until_state(sent["message_id"], "injected")
        assert message["total_attempts"] == 1
    finally:
        client.kill()
        client.wait()
        os.close(master)


def test_locked_store_refuses(room: Room) -> None:
    """While the message store cannot be written a send is refused as retryable, and nothing was stored."""
    room.file_endpoint()
    other = apsw.Connection(room.service.store.path)  # locks of one process count within one library only
    other.execute("begin immediate")
    with pytest.raises(Storage) as refused:
        room.send()
    assert refused.value.wire()["retryable"] is True
    other.execute("rollback")
    other.close()
    assert room.send()["deduplicated"] is False


def test_a_foreign_file_is_no_store(folder: Path, room: Room) -> None:
    """A database of something else is refused, and left as it was."""
    path = folder / "other.db"
    with sqlite3.connect(path) as other:
        other.execute("create table mine (a)")
    other.close()
    before = path.read_bytes()
    with pytest.raises(Storage, match="no message store"):
        type(room.service.store)(str(path), room.world.runtime())
    with sqlite3.connect(path) as other:
        assert other.execute("select count(*) from sqlite_schema").fetchone() == (1,)
    other.close()
    assert path.read_bytes()[:18] == before[:18]


def test_a_subscriber_that_does_not_read(daemon: Daemon) -> None:
    """A subscriber that falls too far behind is told where to go on, and keeps nobody waiting."""
    daemon.start()
    daemon.register("file", {"path": str(daemon.folder / "out.txt")}, delivery_ack_mode="injected")
    events = daemon.client.follow()
    next(events)
    for number in range(800):
        daemon.send(f"k{number}")
    seen = list(events)
    assert seen[-1]["event"] == "lagged"
    assert seen[-1]["resume_after"] == seen[-2]["seq"]
    rest = daemon.client.follow(after=seen[-1]["resume_after"], types=["admitted"])
    next(rest)
    assert next(rest)["seq"] > seen[-2]["seq"]


def test_units_name_what_is_there() -> None:
    """The units start the service on the socket that clients look for, private from the start."""
    socket = configparser.ConfigParser(interpolation=None)
    socket.read(ROOT / "deploy" / "systemd" / "tessera-wake.socket")
    runtime = run_folder({"XDG_RUNTIME_DIR": "%t"}) / "wake.sock"
    assert socket["Socket"]["ListenStream"] == str(runtime)
    assert (socket["Socket"]["SocketMode"], socket["Socket"]["DirectoryMode"]) == ("0600", "0700")
    service = (ROOT / "deploy" / "systemd" / "tessera-wake.service").read_text()
    assert re.search(r"^ExecStart=\S+/tessera wake serve$", service, re.MULTILINE)
    assert "Restart=on-failure" in service
    plist = plistlib.loads((ROOT / "deploy" / "launchd" / "dev.tessera.wake.plist").read_bytes())
    assert plist["ProgramArguments"][-1] == "exec tessera wake serve"
    assert plist["Umask"] == 0o077


def test_folders() -> None:
    """Where things are follows the environment, in the documented order."""
    home = {"HOME": "/h"}
    assert str(run_folder(home)) == "/h/.local/state/tessera/wake-run"
    assert str(run_folder(home | {"XDG_RUNTIME_DIR": "/r"})) == "/r/tessera-wake"
    assert str(run_folder({"XDG_RUNTIME_DIR": "/r", "TESSERA_WAKE_HOME": "/w"})) == "/w"
    assert str(state_folder(home)) == "/h/.local/state/tessera/wake"
    assert str(state_folder({"XDG_STATE_HOME": "/s"})) == "/s/tessera/wake"
    assert str(state_folder({"XDG_STATE_HOME": "/s", "TESSERA_WAKE_STATE": "/t"})) == "/t"
