"""Bodies and heads that mean harm: refused in a bounded time, in bounded memory, with nothing stored."""

from __future__ import annotations

import gzip
import os
import socket
import time

import pytest
from service.running import Aside, Running, reply_on

from tessera.limits import BODY_SECONDS_MAX, HEAD_SECONDS_MAX, JSON_BODY_BYTES_MAX

MIB = 1 << 20
MEMORY_MAX = 100 * MIB


def head(service: Running, path: str = "/v1/tasks", *lines: str) -> bytes:
    """The head of a POST with the admin's key."""
    named = [f"POST {path} HTTP/1.1", "host: h", f"authorization: Bearer {service.admin}", *lines, "", ""]
    return "\r\n".join(named).encode()


def task(brief: bytes, **more: bytes) -> bytes:
    """The body of an enqueue with this brief."""
    rest = b"".join(b', "%s": %s' % (name.encode(), value) for name, value in more.items())
    return b'{"queue": "hostile", "kind": "k", "brief": %s%s}' % (brief, rest)


BODIES = {
    "deep": task(b'{"a": ' + b"[" * 200_000 + b"]" * 200_000 + b"}"),
    "deeper objects": task(b'{"a":' * 100_000 + b"1" + b"}" * 100_000),
    "deep and torn": b"[" * 2_000_000,
    "surrogate in a document": task(rb'{"a": "\ud800"}'),
    "surrogate in a name": task(rb'{"\udfff": 1}'),
    "surrogate in a field": task(b"{}", task_id=rb'"\ud800"'),
    "truncated": task(b'{"a": "'),
    "bytes that are no UTF-8": task(b'{"a": "\xff\xfe"}'),
    "UTF-16": task(b"{}").decode().encode("utf-16"),
    "UTF-32": task(b"{}").decode().encode("utf-32"),
    "byte order mark": b"\xef\xbb\xbf" + task(b"{}"),
    "a field twice": task(b"{}", kind=b'"other"'),
    "a field twice, one in escapes": task(b"{}", **{r"\u006bind": b'"other"'}),
    "digits without end": task(b'{"a": ' + b"9" * 500_000 + b"}"),
    "exponent": task(b'{"a": 1e999999}'),
    "infinity": task(b'{"a": Infinity}'),
    "NUL": task(b'{"a": "\x00"}'),
    "two documents": task(b"{}") + task(b"{}"),
    "an enormous name": task(b'{"a": "b"}', **{"n" * 2_000_000: b"1"}),
    "large": task(b'{"a": "' + b"x" * (2 * MIB) + b'"}'),
    "too large": task(b'{"a": "' + b"x" * (5 * MIB) + b'"}'),
}


@pytest.mark.parametrize("name", BODIES)
def test_a_hostile_body_is_refused_within_a_second(service: Running, name: str) -> None:
    """Each gets a 4xx problem within a second of its last byte, stores nothing, and keeps no memory."""
    service.queue("hostile")
    before = service.memory_bytes()
    with service.raw(head(service, "/v1/tasks", f"content-length: {len(BODIES[name])}")) as bare:
        sending = Aside(_send, bare, BODIES[name])
        reply = reply_on(bare)
        sending.result()

    assert (reply.status, reply.code) == (400, "invalid_request")
    assert len(reply.body) < 1_000
    assert service.get("/v1/counts").json["queues"]["hostile"]["ready"] == 0
    assert service.memory_bytes() - before < MEMORY_MAX


def _send(bare: socket.socket, body: bytes) -> None:
    try:
        bare.sendall(body)
    except OSError:
        return  # it was refused in the middle


def test_answers_to_hostile_bodies_are_prompt(service: Running) -> None:
    """The worst of them, one after the other, take less than a second each."""
    service.queue("hostile")
    for name, body in BODIES.items():
        start = time.monotonic()
        service.post("/v1/tasks", body) if len(body) <= JSON_BODY_BYTES_MAX else None
        assert time.monotonic() - start < 1, name


def test_h12_a_compressed_body_is_not_opened(service: Running) -> None:
    """H12: a compressed body is 415, unread, in any coding; without a key it is 401 first."""
    bomb = gzip.compress(b"\x00" * (32 * MIB))
    for coding in ("gzip", "deflate", "br", "zstd", "gzip, gzip", "x-unknown"):
        reply = service.post("/v1/tasks", bomb, headers={"content-encoding": coding})
        assert (reply.status, reply.code) == (415, "invalid_request")
    for path in ("/v1/tasks", "/v1/blobs"):
        for coding in ("gzip, chunked", "identity, chunked"):
            chunks = b"%x\r\n%s\r\n0\r\n\r\n" % (len(bomb), bomb)
            with service.raw(head(service, path, f"transfer-encoding: {coding}") + chunks) as bare:
                assert reply_on(bare).status == 415
    assert service.post("/v1/tasks", bomb, key=None, headers={"content-encoding": "gzip"}).status == 401


def test_a_body_says_that_it_is_json(service: Running) -> None:
    """A content type other than JSON in UTF-8 is refused; JSON under its names, or none, is taken."""
    service.queue("types")
    body = b'{"queue": "types", "kind": "k", "brief": {}}'
    for wrong in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x",
                  "application/json; charset=utf-16", "application/xml"):  # fmt: skip
        assert service.post("/v1/tasks", body, headers={"content-type": wrong}).status == 415
    for right in ("application/json", "Application/JSON; charset=UTF-8", "application/vnd.x+json"):
        assert service.post("/v1/tasks", body, headers={"content-type": right}).status == 201
    assert service.post("/v1/tasks", body).status == 201


@pytest.mark.parametrize("value", ["", " ", "a" * 256, "a" * 10_000, "a b", "é", "a\tb"])
def test_an_idempotency_key_is_visible_ascii(service: Running, value: str) -> None:
    """An empty, too long or invisible idempotency key is 400, and nothing is stored."""
    service.queue("keys")
    task_id = service.enqueue("keys")
    token = service.claim("keys").json["fencing_token"]
    body = b'{"task_id": "%s", "fencing_token": %d}' % (task_id.encode(), token)
    line = b"idempotency-key: " + value.encode("latin-1") + b"\r\n"
    with service.raw(_submit(service, line, body)) as bare:
        assert reply_on(bare).code == "invalid_request"
    with service.raw(_submit(service, b"idempotency-key: a\r\nidempotency-key: a\r\n", body)) as bare:
        assert reply_on(bare).code == "invalid_request"
    assert service.get(f"/v1/tasks/{task_id}/results").json["results"] == []
    with service.raw(_submit(service, b"idempotency-key:   k-%s \t\r\n" % task_id.encode(), body)) as bare:
        assert reply_on(bare).status == 200  # white space around it is HTTP's own


def _submit(service: Running, lines: bytes, body: bytes) -> bytes:
    start = head(service, "/v1/tasks/submit", f"content-length: {len(body)}")[:-2]
    return start + lines + b"\r\n" + body


@pytest.mark.parametrize("lines", [
    ["content-length: -1"], ["content-length: abc"], ["content-length: 5", "content-length: 6"],
    ["content-length: 99999999999999999999"], ["transfer-encoding: chunked", "content-length: 5"],
    ["transfer-encoding: gzip"],
])  # fmt: skip
def test_h13_a_length_that_lies_is_refused(service: Running, lines: list[str]) -> None:
    """H13: a length that is no number, is two numbers, or disagrees with the coding gets 400."""
    with service.raw(head(service, "/v1/tasks", *lines) + b"{}   ") as bare:
        assert reply_on(bare).code == "invalid_request"


def test_h13_a_chunked_body_ends_at_the_limit(service: Running) -> None:
    """H13: chunks without end are read up to the limit, answered with 400, and no further."""
    before = service.memory_bytes()
    with service.raw(head(service, "/v1/tasks", "transfer-encoding: chunked")) as bare:
        sending = Aside(_send, bare, (b"10000\r\n" + b"x" * 65_536 + b"\r\n") * 1_024)
        reply = reply_on(bare)
        assert reply.code == "invalid_request"
        assert "limit" in reply.json["detail"]
        assert reply.headers["connection"] == "close"
        sending.result()
    assert service.memory_bytes() - before < MEMORY_MAX


def test_h01_a_client_that_leaves_in_the_middle_leaves_nothing(service: Running) -> None:
    """H01: two hundred bodies torn off in the middle have no effect, leave no trace in the log and no
    connection, and disturb nobody.
    """
    service.queue("torn")
    for _ in range(200):
        with service.raw(head(service, "/v1/tasks", "content-length: 1000") + task(b'{"a": 1')):
            pass
    assert service.claim("torn").status == 204

    assert service.get("/v1/counts").json["queues"]["torn"]["ready"] == 0
    assert "Traceback" not in service.log.read_text()
    assert len(_connections(service)) < 20


def _connections(service: Running) -> list[str]:
    folder = f"/proc/{service.process.pid}/fd"
    return [fd for fd in os.listdir(folder) if os.readlink(f"{folder}/{fd}").startswith("socket:")]


def test_h14_slow_clients_are_dropped_and_disturb_nobody(service: Running) -> None:
    """H14: connections that dribble headers, say nothing, or announce a body and send none are answered with
    400 or closed in a bounded time, while heartbeats take less than a second.
    """
    service.queue("slow", heartbeat_seconds=1, miss_limit=2)
    task_id = service.enqueue("slow")
    service.claim("slow")
    start = time.monotonic()
    silent = [service.raw() for _ in range(50)]
    answered = service.raw(b"GET /healthz HTTP/1.1\r\nhost: h\r\n\r\n")
    assert reply_on(answered).status == 200
    answered.sendall(b"\r\n")
    dribbling = [service.raw(b"POST /v1/tasks HTTP/1.1\r\nx: ") for _ in range(100)]
    bodiless = [service.raw(head(service, "/v1/tasks", "content-length: 1000")) for _ in range(50)]
    while time.monotonic() - start < max(HEAD_SECONDS_MAX, BODY_SECONDS_MAX) + 2:
        for bare in dribbling:
            bare.send(b"y") if time.monotonic() - start < HEAD_SECONDS_MAX - 1 else None
        beat = time.monotonic()
        assert service.post("/v1/tasks/heartbeat", {"task_id": task_id, "fencing_token": 1}).status == 200
        assert time.monotonic() - beat < 1
        time.sleep(0.25)

    for bare in (*dribbling, *bodiless):
        with bare:
            assert reply_on(bare).code == "invalid_request"
    for bare in (answered, *silent):  # an empty line behind a request is no head that is late
        with bare:
            assert bare.recv(1) == b""


def test_headers_without_end_are_refused(service: Running) -> None:
    """Headers beyond 64 KiB are 400 and the end of the connection, and are not kept."""
    with service.raw(b"GET /v1/queues HTTP/1.1\r\n") as bare:
        sending = Aside(_send, bare, b"x: " + b"y" * (8 * MIB))
        assert reply_on(bare).code == "invalid_request"
        sending.result()
