"""Those who talk to the service: subscribers, the adapter, clients of another version, capture and replay."""

from __future__ import annotations

import json
import socket
import subprocess
import sys

import pytest
from wake.conftest import Daemon

from tessera.wake import CoordinationEngineAdapter, WakeRequest
from tessera.wake.errors import (
    AmbiguousEndpoint,
    InvalidRequest,
    MissingCapability,
    ProtocolMismatch,
    Unavailable,
)
from tessera.wake.protocol import REQUIRED


def test_subscription(daemon: Daemon) -> None:
    """A subscriber sees a wake's whole life as it happens, without its text, and can go on from any
    number.
    """
    daemon.start()
    endpoint = daemon.register("file", {"path": str(daemon.folder / "out.txt")})
    events = daemon.client.follow(after=0)
    assert next(events)["subscribed"]
    sent = daemon.send("k", "the secret text")
    seen = []
    for event in events:
        seen.append(event)
        if event["event"] == "awaiting_ack":
            break
    assert [one["event"] for one in seen] == ["endpoint_registered", "admitted", "claimed", "awaiting_ack"]
    assert "secret text" not in json.dumps(seen)
    assert {one["message_id"] for one in seen[1:]} == {sent["message_id"]}
    again = daemon.client.follow(
        after=seen[1]["seq"], types=["awaiting_ack"], endpoint_id=endpoint["endpoint_id"]
    )
    next(again)
    assert next(again) == seen[3]


def test_adapter(daemon: Daemon) -> None:
    """The adapter wakes exactly one live endpoint, by lease and trigger, and the same request is the same
    wake, also across a restart of the service.
    """
    daemon.start()
    adapter = CoordinationEngineAdapter(daemon.socket)
    request = WakeRequest("api", "look at it", "lease-1", "trigger-1", metadata={"why": "ready"})
    with pytest.raises(Unavailable):
        adapter.wake(request)
    one = daemon.register("file", {"path": str(daemon.folder / "one.txt")}, name="one")
    receipt = adapter.wake(request)
    assert (receipt.endpoint_id, receipt.deduplicated) == (one["endpoint_id"], False)
    daemon.stop()
    daemon.start()
    again = adapter.wake(request)
    assert (again.message_id, again.deduplicated) == (receipt.message_id, True)
    message = daemon.message(receipt.message_id)
    assert message["metadata"] == {"why": "ready", "lease_id": "lease-1", "trigger_id": "trigger-1"}
    assert (message["correlation_id"], message["sender_repo"]) == ("trigger-1", "coordination-engine")
    two = daemon.register("file", {"path": str(daemon.folder / "two.txt")}, name="two")
    other = WakeRequest("api", "next", "lease-2", "trigger-2")
    with pytest.raises(AmbiguousEndpoint):
        adapter.wake(other)
    named = adapter.wake(WakeRequest("api", "next", "lease-2", "trigger-2", endpoint_id=two["endpoint_id"]))
    assert named.endpoint_id == two["endpoint_id"]


@pytest.mark.parametrize(
    ("pong", "refusal"),
    [
        ({"protocols": ["1.0"], "capabilities": list(REQUIRED)}, ProtocolMismatch),
        ({"protocols": ["0.9"], "capabilities": ["idempotent_send_v1"]}, MissingCapability),
    ],
)  # fmt: skip
def test_client_stops_before_admission(daemon: Daemon, pong: dict, refusal: type[Exception]) -> None:
    """Of a service with another major version or without a required capability, a client asks nothing
    more.
    """
    (daemon.folder / "run").mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(daemon.socket))
        other.listen(8)
        code = (
            "import sys; sys.path.insert(0, sys.argv[1]); from tessera.wake import *\n"
            "try: CoordinationEngineAdapter(sys.argv[2]).wake(WakeRequest('api', 'x', 'l', 't'))\n"
            "except WakeError as refusal: print(type(refusal).__name__)"
        )
        asking = subprocess.Popen(
            [sys.executable, "-c", code, "", str(daemon.socket)], stdout=subprocess.PIPE
        )
        connection, _ = other.accept()
        with connection, connection.makefile("rb") as lines:
            assert json.loads(lines.readline())["op"] == "ping"
            connection.sendall(json.dumps({"ok": True, **pong}).encode() + b"\n")
        assert asking.communicate(timeout=20)[0].decode().strip() == refusal.__name__
        other.settimeout(0.1)
        with pytest.raises(TimeoutError):
            other.accept()


def test_capture_and_replay(daemon: Daemon) -> None:
    """Every admitted wake is in the capture; replaying it sends each once however often, and a line that
    a death left out is there after the next start.
    """
    daemon.start()
    daemon.register("file", {"path": str(daemon.folder / "out.txt")})
    capture = daemon.folder / "state" / "capture.jsonl"
    sent = [daemon.send(f"k{number}", f"body {number}") for number in range(3)]
    lines = [json.loads(line) for line in capture.read_text().splitlines()]
    assert [line["message_id"] for line in lines] == [one["message_id"] for one in sent]
    copy = daemon.folder / "copy.jsonl"
    foreign = '{"sender_repo": "operator", "target_repo": "api", "body": "from elsewhere"}'
    copy.write_text(capture.read_text() + '{"body": "no sender"}\n' + foreign + "\n")
    dry = daemon.run("replay", str(copy), "--dry-run", "--json", code=1)
    assert json.loads(dry.stdout) == {"would_send": 4, "refused": 1}
    first = daemon.run("replay", str(copy), "--json", code=1)
    second = daemon.run("replay", str(copy), "--json", code=1)
    assert json.loads(first.stdout) == {"sent": 4, "refused": 1}
    assert json.loads(second.stdout) == {"deduplicated": 4, "refused": 1}
    assert daemon.client.call("history")["high_water"] == 7
    daemon.stop()
    whole = capture.read_bytes()
    capture.write_bytes(whole[: len(whole) // 2])
    daemon.start()
    assert capture.read_bytes() == whole


def test_a_lone_request_error(daemon: Daemon) -> None:
    """A wrong field is refused with its name, over the wire as in the library."""
    daemon.start()
    with pytest.raises(InvalidRequest) as refused:
        daemon.client.call("history", limit=201)
    assert refused.value.extra["field"] == "limit"
