"""How a delivery moves, on a scripted clock: every row of the table, the delays, the caps, the clock
itself.
"""

from __future__ import annotations

import pytest
from wake.conftest import Room

from tessera.wake import moves, states
from tessera.wake.errors import EndpointLive, IdempotencyConflict, InvalidState, NotFound, Unavailable


def test_written_waits_for_its_acknowledgement(room: Room) -> None:
    """A wake is pending, written, awaits its acknowledgement for 30 seconds, and is acknowledged once."""
    room.file_endpoint()
    sent = room.send()
    assert sent["state"] == "pending"
    room.step()
    message = room.message(sent["message_id"])
    assert (message["state"], message["attempt_count"]) == ("awaiting_ack", 1)
    assert message["ack_deadline_at"] == message["updated_at"] + 30_000
    assert [one["outcome"] for one in message["attempts"]] == ["written"]
    first = room.call("ack", message_id=sent["message_id"], source="agent")
    again = room.call("ack", message_id=sent["message_id"], source="agent")
    assert (first["already"], again["already"]) == (False, True)
    assert room.message(sent["message_id"])["ack_source"] == "agent"


def test_injected_is_complete_once_written(room: Room) -> None:
    """With the injected policy a written wake needs nothing more, and an acknowledgement is still taken."""
    room.file_endpoint(delivery_ack_mode="injected")
    sent = room.send()
    room.step()
    assert room.message(sent["message_id"])["state"] == "injected"
    room.pass_seconds(10_000)
    assert room.message(sent["message_id"])["state"] == "injected"
    assert room.call("ack", message_id=sent["message_id"])["was"] == "injected"


def test_delays_of_nine_attempts(room: Room) -> None:
    """Failed attempts wait 5, 15, 60 and then always 300 seconds, and the ninth is the last."""
    endpoint = room.file_endpoint(delivery_max_attempts=9)
    sent = room.send()
    room.call("detach", endpoint_id=endpoint["endpoint_id"])
    delays = []
    for _ in range(9):
        room.step()
        message = room.message(sent["message_id"])
        if message["state"] == "failed":
            break
        delays.append((message["next_attempt_at"] - message["updated_at"]) // 1_000)
        room.pass_seconds(delays[-1] - 0.01)
        assert room.message(sent["message_id"])["attempt_count"] == message["attempt_count"]
        room.world.pass_seconds(0.02)
    assert delays == [5, 15, 60, 300, 300, 300, 300, 300]
    assert (message["attempt_count"], message["last_failure_reason"]) == (9, "endpoint_detached")


def test_acknowledgement_timeout_redelivers_at_once(room: Room) -> None:
    """The deadline is the wait: the same wake is written again at once, says that it is a repeat, and
    fails with `ack_timeout` at its cap.
    """
    room.file_endpoint(delivery_max_attempts=2)
    sent = room.send(body="only once in full")
    room.step()
    room.pass_seconds(31)
    message = room.message(sent["message_id"])
    assert (message["state"], message["attempt_count"]) == ("awaiting_ack", 2)
    text = (room.folder / "f.txt").read_text()
    assert text.count("only once in full") == 1
    assert text.count("a repeat of the same message") == 1
    room.pass_seconds(31)
    message = room.message(sent["message_id"])
    assert (message["state"], message["last_failure_reason"]) == ("failed", "ack_timeout")


def test_late_acknowledgement_wins(room: Room) -> None:
    """An acknowledgement after the failure ends the wake as acknowledged and says that it was late."""
    room.file_endpoint(delivery_max_attempts=1)
    sent = room.send()
    room.step()
    room.pass_seconds(31)
    assert room.message(sent["message_id"])["state"] == "failed"
    answer = room.call("ack", message_id=sent["message_id"], source="operator")
    assert (answer["late"], answer["was"]) == (True, "failed")
    room.pass_seconds(1_000)
    message = room.message(sent["message_id"])
    assert (message["state"], message["ack_late"], message["attempt_count"]) == ("acknowledged", True, 1)


def test_retry_takes_failed_only(room: Room) -> None:
    """A retry resets a failed wake's attempts, keeps their total, and refuses every other state."""
    endpoint = room.file_endpoint(delivery_max_attempts=1)
    sent = room.send()
    with pytest.raises(InvalidState):
        room.call("retry", message_id=sent["message_id"])
    room.call("detach", endpoint_id=endpoint["endpoint_id"])
    room.step()
    answer = room.call("retry", message_id=sent["message_id"])
    assert answer == {"state": "pending", "attempt_count": 0, "retry_count": 1}
    assert room.message(sent["message_id"])["total_attempts"] == 1
    room.call("ack", message_id=sent["message_id"])
    with pytest.raises(InvalidState):
        room.call("retry", message_id=sent["message_id"])
    with pytest.raises(NotFound):
        room.call("retry", message_id="m_nowhere")


def test_same_key_same_wake(room: Room) -> None:
    """The same request gives the first message; another body, sender or target under its key is refused."""
    room.file_endpoint()
    room.file_endpoint("w", repos=["web"])
    first = room.send()
    again = room.send(metadata={"new": 1})
    assert again["message_id"] == first["message_id"]
    assert (again["deduplicated"], again["differs"]) == (True, ["metadata"])
    for change in ({"body": "other"}, {"sender_repo": "web"}, {"target_repo": "web"}):
        with pytest.raises(IdempotencyConflict) as refused:
            room.send(**change)
        assert refused.value.extra["differs"] == list(change)
    assert room.send(client_id="another")["message_id"] != first["message_id"]


def test_no_live_endpoint_makes_no_message(room: Room) -> None:
    """A wake for nobody is refused as unavailable, before and after an endpoint was there, and stores
    nothing.
    """
    with pytest.raises(Unavailable):
        room.send()
    room.call("detach", endpoint_id=room.file_endpoint()["endpoint_id"])
    with pytest.raises(Unavailable):
        room.send()
    assert room.call("history")["high_water"] == 0


def test_rebinding(room: Room) -> None:
    """A repeated wake moves to a named endpoint only when its own is no longer live; attempts stay
    counted.
    """
    old = room.file_endpoint()
    new = room.file_endpoint("g")
    sent = room.send(endpoint_id=old["endpoint_id"])
    with pytest.raises(IdempotencyConflict) as refused:
        room.send(endpoint_id=new["endpoint_id"])
    assert refused.value.extra["differs"] == ["endpoint_id"]
    room.call("detach", endpoint_id=old["endpoint_id"])
    room.step()
    moved = room.send(endpoint_id=new["endpoint_id"])
    assert (moved["rebound"], moved["previous_endpoint_id"]) == (True, old["endpoint_id"])
    assert moved["message_id"] == sent["message_id"]
    room.step()
    message = room.message(sent["message_id"])
    assert (message["state"], message["endpoint_id"]) == ("awaiting_ack", new["endpoint_id"])
    assert message["attempt_count"] == 2
    assert (room.folder / "g.txt").exists()


def test_a_failed_wake_rebinds_but_stays_failed(room: Room) -> None:
    """Only a retry wakes a failed one again, and then at its new endpoint."""
    old = room.file_endpoint(delivery_max_attempts=1)
    sent = room.send()
    room.call("detach", endpoint_id=old["endpoint_id"])
    room.step()
    new = room.file_endpoint("g")
    assert room.send(endpoint_id=new["endpoint_id"])["state"] == "failed"
    room.call("retry", message_id=sent["message_id"])
    room.step()
    assert room.message(sent["message_id"])["state"] == "awaiting_ack"


def test_a_name_is_taken_from_a_live_endpoint_only_on_purpose(room: Room) -> None:
    """Registering a live name again is refused; with `replace` the old endpoint ends and keeps its wakes."""
    old = room.file_endpoint()
    with pytest.raises(EndpointLive):
        room.file_endpoint()
    new = room.file_endpoint(replace=True)
    assert new["replaced"] == old["endpoint_id"]
    states_of = {one["endpoint_id"]: one["state"] for one in room.call("endpoints")["endpoints"]}
    assert states_of == {old["endpoint_id"]: "replaced", new["endpoint_id"]: "live"}


def test_lease_that_ran_out(room: Room) -> None:
    """A writer that dies after its claim costs one attempt, after its lease; its late word changes
    nothing.
    """
    from tessera.wake import deliveries

    room.file_endpoint()
    sent = room.send()
    taken = room.service.store.run(deliveries.claim, sent["message_id"])
    assert room.service.store.run(deliveries.claim, sent["message_id"]) is None
    room.pass_seconds(19)
    assert room.message(sent["message_id"])["lease_expires_at"] is not None
    room.pass_seconds(2)
    message = room.message(sent["message_id"])
    assert (message["state"], message["last_failure_reason"]) == ("pending", "lease_expired")
    assert message["next_attempt_at"] == message["updated_at"] + 5_000
    room.service.store.run(deliveries.report, sent["message_id"], taken.lease_id, "written", None)
    message = room.message(sent["message_id"])
    assert (message["state"], message["attempts"][0]["outcome"]) == ("pending", "written_late")


def test_acknowledgement_beats_the_writer(room: Room) -> None:
    """An acknowledgement during an attempt ends it, and the writer's word is no more than a note."""
    from tessera.wake import deliveries

    room.file_endpoint()
    sent = room.send()
    taken = room.service.store.run(deliveries.claim, sent["message_id"])
    room.call("ack", message_id=sent["message_id"])
    said = room.service.store.run(deliveries.report, sent["message_id"], taken.lease_id, "staged", "x")
    assert said == "acknowledged"
    assert room.message(sent["message_id"])["state"] == "acknowledged"


@pytest.mark.parametrize("seconds", [3_600.0, -3_600.0, 900_000.0])
def test_a_clock_that_is_set(room: Room, seconds: float) -> None:
    """Setting the wall clock costs no attempt and brings no deadline nearer or further away."""
    room.file_endpoint()
    sent = room.send()
    room.step()
    room.world.now_us += int(seconds * 1e6)
    room.step()
    message = room.message(sent["message_id"])
    assert (message["state"], message["attempt_count"]) == ("awaiting_ack", 1)
    room.pass_seconds(29)
    assert room.message(sent["message_id"])["attempt_count"] == 1
    room.pass_seconds(2)
    assert room.message(sent["message_id"])["attempt_count"] == 2


def test_a_restart_keeps_everything(room: Room) -> None:
    """Receipts, keys and due attempts survive a restart of the service."""
    room.file_endpoint()
    first, second = room.send("k1"), room.send("k2")
    room.step()
    room.reopen()
    assert room.send("k1")["message_id"] == first["message_id"]
    assert [one["message_id"] for one in room.call("history")["messages"]] == [
        first["message_id"], second["message_id"]
    ]  # fmt: skip
    room.pass_seconds(31)
    assert room.message(second["message_id"])["attempt_count"] == 2


def test_one_writer_in_order_of_admission(room: Room) -> None:
    """Fifty wakes for one endpoint arrive whole, each once, in the order in which they were admitted."""
    room.file_endpoint()
    sent = [room.send(f"k{number}", f"body {number}", client_id=f"c{number % 5}") for number in range(50)]
    room.step()
    text = (room.folder / "f.txt").read_text()
    assert [text.count(f"[Tessera wake {one['message_id']} ") for one in sent] == [1] * 50
    places = [text.index(one["message_id"]) for one in sent]
    assert places == sorted(places)


def test_every_transition_of_the_table_is_one_that_moves_can_make() -> None:
    """The table has every state, and every event that it names is one that is noted."""
    assert {after for _, after in states.DELIVERY} == set(states.DELIVERY_STATES)
    leaving = {before for before, _ in states.DELIVERY} - {None}
    assert leaving == set(states.DELIVERY_STATES) - {"acknowledged"}
    delays = [moves.retry_delay_ms(number) for number in range(1, 7)]
    assert delays == [5_000, 15_000, 60_000, 300_000, 300_000, 300_000]
