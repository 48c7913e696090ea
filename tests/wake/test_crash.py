"""The service dies at each of its crash points, for real; nothing admitted is lost, no attempt number is
given twice, and nothing counts as delivered that was not written.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from crash.points import named_in
from wake.conftest import Room, Tmux, until

import tessera
from tessera.testing import DEATH, World
from tessera.wake.endpoints.tmux import target_of

WAKE = Path(tessera.__file__).parent / "wake"
STEPS = {
    "deliver": [
        "wake.register.read", "wake.register.written", "wake.send.read", "wake.send.written", "wake.capture",
        "wake.claim.read", "wake.claim.written", "wake.typing", "wake.typed", "wake.report.read",
        "wake.report.written", "wake.sweep.read", "wake.sweep.written", "wake.ack.read", "wake.ack.written",
        "wake.commit.before:3", "wake.commit.before:9", "wake.commit.synced:3", "wake.commit.synced:9",
    ],
    "retry": ["wake.retry.read", "wake.retry.written"],
    "rebind": ["wake.rebind.read", "wake.rebind.written"],
    "defer": ["wake.defer.read", "wake.defer.written"],
}  # fmt: skip
TMUX_POINTS = ["wake.tmux.pasted", "wake.tmux.entered"]


def test_every_point_is_walked() -> None:
    """A point that the room has and no test dies at is one that nobody has tried."""
    walked = {point.split(":")[0] for points in STEPS.values() for point in points}
    assert named_in(WAKE) == {*walked, *TMUX_POINTS}


@pytest.mark.parametrize(("what", "point"), [(what, one) for what, points in STEPS.items() for one in points])
def test_death_in_a_step(folder: Path, world: World, what: str, point: str) -> None:
    """A death anywhere on a wake's way leaves it whole: what was answered is there under its id, attempts are
    numbered without gap or repeat, and an hour later it arrives and is acknowledged, once.
    """
    died = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("steps_to_death.py")), str(folder), what],
        env=os.environ | {"TESSERA_CRASH_AT": point}, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert died.returncode == DEATH, died.stderr
    world.pass_seconds(7_200)
    room = Room(folder, world)
    try:
        assert_whole(room, died.stdout.split())
        if not room.call("endpoints", live=True)["endpoints"]:
            room.file_endpoint("later", delivery_max_attempts=9)
        (live, *_) = room.call("endpoints", live=True)["endpoints"]
        again = room.send(body="the text", endpoint_id=live["endpoint_id"])
        if again["state"] == "failed":
            room.call("retry", message_id=again["message_id"])
        for _ in range(3):
            room.pass_seconds(25)
        written = "".join(path.read_text() for path in room.folder.rglob("*.txt"))
        assert again["message_id"] in written
        room.call("ack", message_id=again["message_id"])
        assert room.call("stats")["by_state"] == {"acknowledged": 1}
        assert_whole(room, died.stdout.split())
        assert (folder / "state" / "capture.jsonl").read_text().count(again["message_id"]) == 1
    finally:
        room.close()


@pytest.mark.parametrize("point", TMUX_POINTS)
def test_death_around_the_enter(folder: Path, world: World, tmux: Tmux, point: str) -> None:
    """A service that dies between a paste and the word of it types the text no second time: what stands in
    the composer gets its Enter, and what was entered already is only repeated by name.
    """
    pane, log = tmux.composer()
    target = json.dumps(msgspec.to_builtins(target_of(tmux.socket, pane, bracketed=True)))
    died = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("steps_to_death.py")), str(folder), "tmux", target],
        env=os.environ | {"TESSERA_CRASH_AT": point}, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert died.returncode == DEATH, died.stderr
    room = Room(folder, world)
    try:
        for _ in range(3):
            room.pass_seconds(25)
        submitted = until(log.submitted, "the wake")
        assert ["the text" in text for text in submitted] == [True, False][: len(submitted)]
        assert len(submitted) == (2 if point == "wake.tmux.entered" else 1)
        assert room.call("stats")["by_state"] == {"awaiting_ack": 1}
    finally:
        room.close()


def assert_whole(room: Room, answered: list[str]) -> None:
    """What must hold of every wake after any death."""
    kept = [room.message(one["message_id"]) for one in room.call("history")["messages"]]
    assert set(answered) <= {one["message_id"] for one in kept}
    for message in kept:
        assert [one["n"] for one in message["attempts"]] == [n + 1 for n in range(message["total_attempts"])]
        assert message["attempt_count"] <= message["max_attempts"]
        open_attempts = [one for one in message["attempts"] if one["ended_at"] is None]
        assert len(open_attempts) == (message["lease_expires_at"] is not None)
        if message["state"] in ("injected", "awaiting_ack"):
            assert any(one["phase"] == "typed" for one in message["attempts"])
