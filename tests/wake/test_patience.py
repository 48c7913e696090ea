"""Endpoints that are not ready, on a scripted clock: what costs an attempt, and what never does."""

from __future__ import annotations

from typing import Any

import pytest
from wake.conftest import Room

from tessera.wake.endpoints.pty import Line
from tessera.wake.keyboard import Ended, Keyboard


class Seat:
    """A user at a wrapped terminal, joined to the service without a process between: the same keyboard,
    the same line, the world's clock.
    """

    def __init__(self, room: Room) -> None:
        self.room = room
        self.keyboard = Keyboard()
        self.keyboard.shown(b"\x1b[?2004h> ")
        self.typed: list[str] = []
        endpoint = room.call("register", name="p", repos=["api"], kind="pty", target={},
                             delivery_ack_mode="injected")  # fmt: skip
        self.line = Line(self.tell)
        room.service.dispatcher.lines[endpoint["endpoint_id"]] = self.line
        room.service.dispatcher.forget(endpoint["endpoint_id"])
        room.step()

    async def tell(self, said: dict[str, Any]) -> None:
        """What the wrapper does with each question."""
        now = self.room.world.elapsed_us
        if said["event"] == "look":
            reason = self.keyboard.why_not(said["message_id"], now)
            self.line.answered(said["message_id"], {"reason": reason})
            return
        outcome: Any = self.keyboard.begin(said["message_id"], said["lease_id"], said["text"], 10_000, now)
        if not isinstance(outcome, Ended):
            self.typed.append(said["message_id"])
            self.keyboard.shown(said["text"].encode())
            for later in (1, 2, 400_000, 400_001):
                outcome = self.keyboard.step(now + later, flushed=True) or outcome
        self.line.answered(said["lease_id"], {"outcome": outcome.outcome, "reason": outcome.reason})


def test_thirty_minutes_of_typing(room: Room) -> None:
    """A human who types for half an hour, with pauses to think, costs the wake no attempt; it arrives
    after the user's own Enter.
    """
    seat = Seat(room)
    sent = room.send()
    for number in range(900):
        if number % 7 < 4:
            seat.keyboard.keys(b"k", room.world.elapsed_us)
        room.pass_seconds(2)
        message = room.message(sent["message_id"])
        assert (message["state"], message["total_attempts"]) == ("pending", 0)
        assert message["deferred_reason"] in ("user_typing", "draft")
    seat.keyboard.keys(b"\r", room.world.elapsed_us)
    for _ in range(3):
        room.pass_seconds(2)
    assert room.message(sent["message_id"])["state"] == "injected"


def test_ten_minutes_of_anything_else(room: Room) -> None:
    """Another reason for not being ready counts as a failed attempt after 600 seconds, not before; the
    next one after 600 more; a look costs no write when nothing is new.
    """
    seat = Seat(room)
    seat.keyboard.bracketed = False
    sent = room.send()
    attempts = []
    for _ in range(310):
        room.pass_seconds(2)
        attempts.append(room.message(sent["message_id"])["total_attempts"])
    assert 298 <= attempts.index(1) <= 303
    message = room.message(sent["message_id"])
    assert (message["last_failure_reason"], message["state"]) == ("no_bracketed_paste", "pending")
    assert message["attempts"][0]["outcome"] == "not_ready"
    assert not seat.typed
    assert len(room.call("history")["messages"]) == 1
    events = room.service.store.run(lambda tx: tx.all("events_after", after=0, limit=1_000))
    assert len(events) < 12


def test_typing_in_between_starts_the_ten_minutes_anew(room: Room) -> None:
    """A human's minute in the middle does not count, nor does what came before it."""
    seat = Seat(room)
    seat.keyboard.bracketed = False
    sent = room.send()
    for number in range(500):
        if 290 <= number < 300:
            seat.keyboard.keys(b"x\x7f", room.world.elapsed_us)
        room.pass_seconds(2)
    assert room.message(sent["message_id"])["total_attempts"] == 0


def test_one_bad_endpoint_holds_up_no_other(room: Room) -> None:
    """Wakes for an endpoint that is never ready keep none waiting that go elsewhere."""
    seat = Seat(room)
    seat.keyboard.keys(b"draft", room.world.elapsed_us)
    room.file_endpoint("w", repos=["web"])
    stuck = room.send()
    quick = room.send("k2", target_repo="web")
    room.step()
    assert room.message(quick["message_id"])["state"] == "awaiting_ack"
    assert room.message(stuck["message_id"])["state"] == "pending"


def test_a_wrapper_that_stays_away_is_gone(room: Room) -> None:
    """A lost connection makes an endpoint stale at once, and gone after 45 seconds; until then its wakes
    do not move.
    """
    seat = Seat(room)
    (endpoint,) = room.call("endpoints")["endpoints"]
    sent = room.send()
    room.service.dispatcher.lines.clear()
    seat.line.close()
    other = room.file_endpoint("later")
    room.pass_seconds(20)
    assert room.call("endpoints", endpoint_id=endpoint["endpoint_id"])["endpoints"][0]["state"] == "stale"
    with pytest.raises(Exception, match="may still come back"):
        room.send(endpoint_id=other["endpoint_id"])
    for _ in range(5):
        room.pass_seconds(16)
    assert room.call("endpoints", endpoint_id=endpoint["endpoint_id"])["endpoints"][0]["state"] == "gone"
    assert room.send(endpoint_id=other["endpoint_id"])["message_id"] == sent["message_id"]
