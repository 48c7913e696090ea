"""The log as server-sent events."""

from __future__ import annotations

import http.client
import json
import time
from typing import Any

import pytest
from service.running import HOST, Running

import tessera


class Follower:
    """A client of the stream."""

    def __init__(self, service: Running, query: str = "follow=true", key: str = "", **headers: str) -> None:
        self._connection = http.client.HTTPConnection(HOST, service.port, timeout=20)
        given = {"authorization": f"Bearer {key or service.admin}", **headers}
        self._connection.request("GET", f"/v1/events?{query}", headers=given)
        self.answer = self._connection.getresponse()

    def event(self) -> dict[str, Any] | None:
        """The next event, checked against its own lines; None at the end of the stream."""
        fields: dict[str, str] = {}
        while line := self.answer.readline().decode():
            if line == "\n" and "data" in fields:
                event = json.loads(fields["data"])
                assert (fields["id"], fields["event"]) == (str(event["seq"]), event["type"])
                return dict(event)
            name, _, value = line.rstrip("\n").partition(": ")
            fields[name] = value
        return None

    def close(self) -> None:
        """Hang up."""
        self.answer.close()
        self._connection.close()


def last_seq(service: Running) -> int:
    """Where the log ends."""
    return int(service.get("/v1/events?limit=10000").json["events"][-1]["seq"])


def test_a_follower_is_told_each_line_once_and_in_order(service: Running) -> None:
    """What was there and what comes is told in the order of `seq`, without a gap, and promptly."""
    service.queue("told")
    after = last_seq(service)
    follower = Follower(service, f"follow=true&after={after}")
    assert follower.answer.headers["content-type"] == "text/event-stream"
    seqs = []
    for number in range(30):
        task_id = service.enqueue("told")
        start = time.monotonic()
        event = follower.event()
        assert event is not None
        assert (event["type"], event["task_id"]) == ("enqueued", task_id), number
        assert time.monotonic() - start < 1
        seqs.append(event["seq"])
    follower.close()

    assert seqs == list(range(after + 1, after + 31))


def test_a_follower_goes_on_where_it_was(service: Running) -> None:
    """`Last-Event-ID` counts more than `after`, so a browser that comes back misses nothing."""
    service.queue("back")
    first = last_seq(service)
    service.enqueue("back")
    service.enqueue("back")
    follower = Follower(service, "follow=true&after=0", **{"last-event-id": str(first + 1)})
    event = follower.event()
    follower.close()

    assert event is not None
    assert event["seq"] == first + 2
    for wrong in ("x", "-1", "\xb2", "9" * 17, "9" * 5_000):
        reply = service.get("/v1/events?follow=true", headers={"last-event-id": wrong})
        assert (reply.status, reply.code) == (400, "invalid_request")


def test_another_processs_lines_are_told(service: Running) -> None:
    """What a command writes to the store beside the service reaches the followers too."""
    follower = Follower(service, f"follow=true&after={last_seq(service)}")
    with tessera.open(str(service.store)) as store:
        store.define_queue("beside")
    event = follower.event()
    follower.close()

    assert event is not None
    assert (event["type"], event["queue"]) == ("queue_defined", "beside")


def test_a_revoked_key_ends_its_stream(service: Running) -> None:
    """The key is checked at every look: once revoked, its stream ends and tells nothing that came after."""
    issued = service.post("/v1/admin/keys", {"scopes": ["admin"]}).json
    follower = Follower(service, f"follow=true&after={last_seq(service)}", key=issued["key"])
    service.post(f"/v1/admin/keys/{issued['grant']['key_id']}/revoke")
    told = []
    while (event := follower.event()) is not None:
        told.append(event["type"])
    follower.close()

    assert told in ([], ["key_revoked"])


@pytest.mark.parametrize("grant", [{}, {"scopes": ["store"]}])
def test_the_log_is_for_operators(service: Running, grant: dict[str, Any]) -> None:
    """A key without the admin scope is refused with a problem, not with a stream."""
    assert service.get("/v1/events?follow=true", key=service.key(**grant)).code == "scope_denied"


def test_followers_that_leave_are_forgotten(service: Running) -> None:
    """A hundred followers that come and go leave no thread and no connection behind."""
    before = service.threads()
    followers = [Follower(service, f"follow=true&after={last_seq(service)}") for _ in range(100)]
    service.queue("left")
    for follower in followers:
        event = follower.event()
        assert event is not None
        follower.close()

    assert service.threads() <= before + 4
    assert service.get("/healthz").status == 200
