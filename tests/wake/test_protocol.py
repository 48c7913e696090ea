"""The wire: what is read strictly, what is ignored, how a refusal looks."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wake.conftest import Room

from tessera.wake import protocol
from tessera.wake.errors import (
    InvalidJson,
    InvalidRequest,
    InvalidUtf8,
    LineTooLong,
    MissingCapability,
    ProtocolMismatch,
    UnknownOp,
    WakeError,
)

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3), max_leaves=8,
)  # fmt: skip


@given(st.binary(max_size=200) | json_values.map(lambda value: json.dumps(value).encode()))
def test_any_line_is_read_or_refused(line: bytes) -> None:
    """A line is one JSON object or a refusal with a code; nothing else comes out of the parser."""
    with suppress(InvalidJson, InvalidUtf8, LineTooLong):
        value = protocol.parse(line)
        assert isinstance(value, dict)
        protocol.line_of(value)


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b'{"op": "ping", "op": "send"}', "invalid_json"),
        (b'{"a": {"b": 1, "b": 2}}', "invalid_json"),
        (b'{"a": NaN}', "invalid_json"),
        (b'{"a": "\\ud800"}', "invalid_json"),
        (b"[1]", "invalid_json"),
        (b'{"a": "\xff"}', "invalid_utf8"),
        (b'{"a": 1} x', "invalid_json"),
        (b"[" * 60_000, "invalid_json"),
        (b'{"a": "' + b"x" * 140_000 + b'"}', "line_too_long"),
    ],
    ids=str,
)
def test_lines_that_are_refused(line: bytes, code: str) -> None:
    """Names given twice, NaN, lone surrogates, other bytes than UTF-8, depth and length have their codes."""
    with pytest.raises(WakeError) as refused:
        protocol.parse(line)
    assert refused.value.code == code


@given(st.sampled_from(sorted(protocol.OPERATIONS)), st.dictionaries(st.text(), json_values, max_size=4))
def test_any_fields_fit_or_are_refused(op: str, fields: dict) -> None:
    """Fields of any kind become a request or a refusal that names the field; no other exception."""
    with suppress(InvalidRequest):
        asked = protocol.ask_of({"op": op, **fields}, protocol.OPERATIONS[op])
        assert isinstance(asked, protocol.OPERATIONS[op])


def test_versions(room: Room) -> None:
    """Another major version, none at all, or a capability we lack stops a request before anything else;
    another minor version and unknown fields do not.
    """
    room.file_endpoint()
    assert room.call("ping", protocol="0.7", later="field")["capabilities"][:2] == list(protocol.REQUIRED)
    for changed in ("1.0", 0.1, None, ""):
        with pytest.raises(ProtocolMismatch):
            room.send(protocol=changed)
    with pytest.raises(ProtocolMismatch):
        room.do(room.service.handle({"op": "send"}))
    with pytest.raises(MissingCapability) as refused:
        room.send(require=["teleport_v9"])
    assert refused.value.extra["missing"] == ["teleport_v9"]
    assert room.call("history")["high_water"] == 0
    assert room.send(unknown_field=[1], require=["idempotent_send_v1"])["state"] == "pending"


def test_unknown_operations(room: Room) -> None:
    """An operation that does not exist is refused with the list of those that do."""
    for op in ("launch", "__init__", 7, None):
        with pytest.raises(UnknownOp) as refused:
            room.do(room.service.handle({"op": op, "protocol": "0.1"}))
        assert "send" in refused.value.extra["ops"]


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"body": "x" * 8_193}, "body_too_large"),
        ({"body": "\u00e9" * 4_097}, "body_too_large"),
        ({"body": ""}, "invalid_request"),
        ({"body": "\n \n"}, "invalid_request"),
        ({"metadata": {"a": "x" * 4_096}}, "metadata_too_large"),
        ({"metadata": []}, "invalid_request"),
        ({"idempotency_key": ""}, "invalid_request"),
        ({"target_repo": "API"}, "unknown_repo"),
        ({"target_repo": "api "}, "unknown_repo"),
        ({"target_repo": "a\npi"}, "invalid_request"),
        ({"sender_repo": "stranger"}, "unknown_repo"),
        ({"endpoint_id": "e_other"}, "unavailable"),
    ],
    ids=str,
)
def test_sends_that_are_refused(room: Room, changed: dict, code: str) -> None:
    """Sizes in bytes, empty bodies, names that gita does not know: refused with a code, and nothing
    stored.
    """
    room.file_endpoint()
    with pytest.raises(WakeError) as refused:
        room.send(**changed)
    assert refused.value.code == code
    assert room.call("history")["high_water"] == 0


def test_the_largest_send_fits(room: Room) -> None:
    """A body of 8,192 bytes and metadata of 4,096 are taken, and fit on an answer's line."""
    room.file_endpoint()
    sent = room.send(body="\x01" * 8_192, metadata={"a": "x" * 4_088})
    answer = protocol.answer({"op": "message"}, room.call("message", message_id=sent["message_id"]))
    assert len(answer) < 131_072
    assert room.message(sent["message_id"])["body"] == "\x01" * 8_192


def test_several_endpoints_are_never_chosen_from(room: Room) -> None:
    """Two live endpoints of one repository need a name in the request."""
    one, two = room.file_endpoint("f"), room.file_endpoint("g")
    with pytest.raises(WakeError) as refused:
        room.send()
    assert refused.value.code == "ambiguous_endpoint"
    assert set(refused.value.extra["endpoints"]) == {one["endpoint_id"], two["endpoint_id"]}
    assert room.send(endpoint_id=two["endpoint_id"])["endpoint_id"] == two["endpoint_id"]


def test_pages_of_history(room: Room) -> None:
    """Pages go on where they end in both orders, filters hold, and large bodies make a page shorter."""
    room.file_endpoint()
    room.file_endpoint("w", repos=["web"])
    ids = [room.send(f"k{n}", "\x02" * 8_000, correlation_id=f"t{n % 2}")["message_id"] for n in range(12)]
    found, after = [], 0
    while after is not None:
        page = room.call("history", after=after, limit=5, include_body=True)
        assert len(protocol.answer({}, page)) <= 131_072
        found += [one["message_id"] for one in page["messages"]]
        after = page["next"]
    assert found == ids
    down = room.call("history", order="desc", limit=3)
    assert [one["message_id"] for one in down["messages"]] == ids[:8:-1]
    assert len(room.call("history", correlation_id="t1")["messages"]) == 6
    assert room.call("history", target_repo="web")["messages"] == []
    assert room.call("history", state=["failed"])["messages"] == []


def test_statistics(room: Room) -> None:
    """The service counts states, attempts, reasons and what waits for what."""
    room.file_endpoint()
    endpoint = room.file_endpoint("w", repos=["web"], delivery_max_attempts=1)
    room.send()
    room.send("k2", target_repo="web")
    room.call("detach", endpoint_id=endpoint["endpoint_id"])
    room.step()
    stats = room.call("stats")
    assert stats["by_state"] == {"awaiting_ack": 1, "failed": 1}
    assert stats["attempts_1h"] == {"written": 1, "gone": 1}
    assert stats["failures_by_reason"] == {"endpoint_detached": 1}
    assert stats["endpoints"] == {"live": 1, "stale": 0}
