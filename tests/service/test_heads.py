"""What comes before a request can be looked at: heads that are none, or too long, and requests in a row."""

from __future__ import annotations

import json
import re
import socket

import pytest
from service.running import Answers, Aside, Reply, Running, reply_on

from tessera.limits import HEAD_BYTES_MAX, HEADERS_MAX, TARGET_BYTES_MAX

GET = b"GET /healthz HTTP/1.1\r\nhost: h\r\n\r\n"
CHUNKED = (
    b"POST /v1/tasks HTTP/1.1\r\nhost: h\r\nauthorization: Bearer KEY\r\ntransfer-encoding: chunked\r\n\r\n"
)
NONE = {
    "no line": b"SECRET-WORD\r\n\r\n",
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 50,
    "HTTP/0.9": b"GET /healthz\r\n\r\n",
    "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "a newer version": b"GET /healthz HTTP/3.0\r\nhost: h\r\n\r\n",
    "bare line feeds": b"GET /healthz HTTP/1.1\nhost: h\n\n",
    "a folded header": b"GET /healthz HTTP/1.1\r\nhost: h\r\nx: SECRET-WORD\r\n more\r\n\r\n",
    "white space before the colon": b"GET /healthz HTTP/1.1\r\nhost : h\r\n\r\n",
    "NUL in a header": b"GET /healthz HTTP/1.1\r\nhost: h\r\nx: SECRET-WORD\x00\r\n\r\n",
    "no host": b"GET /healthz HTTP/1.1\r\nx: SECRET-WORD\r\n\r\n",
    "two hosts": b"GET /healthz HTTP/1.1\r\nhost: h\r\nhost: h\r\n\r\n",
    "two hosts in HTTP/1.0": b"GET /healthz HTTP/1.0\r\nhost: h\r\nhost: i\r\n\r\n",
    "a host that is none": b"GET /healthz HTTP/1.1\r\nhost: SECRET-WORD/x@y\r\n\r\n",
    "a proxy's method": b"CONNECT h:80 HTTP/1.1\r\nhost: h\r\n\r\n",
    "a fragment": b"GET /healthz#SECRET-WORD HTTP/1.1\r\nhost: h\r\n\r\n",
    "a target that is none": b"GET healthz HTTP/1.1\r\nhost: h\r\n\r\n",
    "two lengths": b"POST /v1/tasks HTTP/1.1\r\nhost: h\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n{}",
    "length and chunks": CHUNKED[:-2] + b"content-length: 2\r\n\r\n0\r\n\r\n",
    "chunks in HTTP/1.0": CHUNKED.replace(b"1.1", b"1.0") + b"0\r\n\r\n",
    "a chunk without length": CHUNKED + b"SECRET-WORD\r\n",
    "a chunk of negative length": CHUNKED + b"-1\r\n{\r\n",
}


def last_on(bare: socket.socket) -> Reply:
    """The last answer on a bare connection, which ends after it."""
    with bare:
        reply = reply_on(bare)
        assert reply.headers["connection"] == "close"
        assert bare.recv(1) == b""
    return reply


@pytest.mark.parametrize("name", NONE)
def test_what_is_no_request_is_answered_like_any_other(service: Running, name: str) -> None:
    """It is 400, a problem document that repeats nothing of it, with an id that is in the log, and the end of
    its connection; in one piece, and in as many as it has bytes.
    """
    text = NONE[name].replace(b"KEY", service.admin.encode())  # else the head alone is refused, by 401
    for size in (len(text), 1):
        with service.raw() as bare:
            bare.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for start in range(0, len(text), size):
                _send(bare, text[start : start + size])
            reply = last_on(bare)
        assert (reply.status, reply.code) == (400, "invalid_request")
        assert reply.json["definite"] is True
        assert b"SECRET-WORD" not in reply.body
        assert reply.headers["x-request-id"]


def test_the_log_has_what_was_no_request(own: Running) -> None:
    """Each is a line of the log under the id of its answer, with its status and nothing of what was sent; and
    it is counted.
    """
    ids = []
    for text in NONE.values():
        with own.raw(text) as bare:
            ids.append(reply_on(bare).headers["x-request-id"])
    assert f'tessera_http_answers_total{{status="400"}} {len(NONE)}.0' in own.get("/metrics").body.decode()
    own.stop()
    lines = own.log.read_text().splitlines()
    unheard = [line.split()[1:5] for line in lines if " - - " in line]
    assert unheard == [[one, "-", "-", "400"] for one in ids]
    assert "SECRET-WORD" not in own.log.read_text()


def _send(bare: socket.socket, data: bytes) -> None:
    try:
        bare.sendall(data)
    except OSError:
        return  # it was refused in the middle


@pytest.mark.parametrize("host", ["h", "", "h:1", "127.0.0.1:8787", "[::1]", "[::1]:80", "a_b.example"])
def test_a_host_is_a_name(service: Running, host: str) -> None:
    """HTTP/1.1 is answered under any name; HTTP/1.0 without one too."""
    with service.raw(f"GET /healthz HTTP/1.1\r\nhost: {host}\r\n\r\n".encode()) as bare:
        assert reply_on(bare).status == 200
    with service.raw(b"GET /healthz HTTP/1.0\r\n\r\n") as bare:
        assert last_on(bare).status == 200


def test_a_target_is_as_long_as_the_limit(service: Running) -> None:
    """A target at the limit is looked at; a byte more is 414 and the end, while it arrives: nobody waits for
    the rest of it.
    """
    start, end = b"GET /v1/nouns?query=", b" HTTP/1.1\r\nhost: h\r\n\r\n"
    most = start + b"x" * (TARGET_BYTES_MAX - len(start) + len(b"GET "))
    with service.raw(most + end) as bare:
        assert reply_on(bare).status == 401
    for more in (b"y" + end, b"y"):
        reply = last_on(service.raw(most + more))
        assert (reply.status, reply.code) == (414, "invalid_request")
        assert reply.headers["x-request-id"]


def test_a_search_may_be_as_long_in_percents(service: Running) -> None:
    """The longest query of the longest characters is no longer than a target may be."""
    reply = service.get(f"/v1/nouns?query={'%F0%9F%90%9D' * 4_096}")
    assert (reply.status, reply.json["nouns"]) == (200, [])


def test_headers_are_as_long_and_as_many_as_the_limits(service: Running) -> None:
    """Headers at both limits are taken; a byte or a header more is 431 and the end, whether they are there
    whole, or one of them has no end.
    """
    line, rest = b"GET /healthz HTTP/1.1\r\nhost: h\r\n", HEAD_BYTES_MAX - len(b"/healthzhost: h\r\n")
    long = b"x: " + b"y" * (rest - len(b"x: \r\n"))
    many = b"x: y\r\n" * (HEADERS_MAX - 1)
    for taken in (long + b"\r\n\r\n", many + b"\r\n"):
        with service.raw(line + taken) as bare:
            assert reply_on(bare).status == 200
    for refused in (long + b"y\r\n\r\n", many + b"x: y\r\n\r\n", long + b"y" * 32_768):
        reply = last_on(service.raw(line + refused))
        assert (reply.status, reply.code) == (431, "invalid_request")
        assert reply.headers["x-request-id"]


def test_what_follows_a_body_is_no_header(service: Running) -> None:
    """A trailer with the name of a header changes nothing: it was not there when the headers were looked at.
    Trailers without end are 431, and so is a chunk's extension.
    """
    service.queue("trailers")
    body = json.dumps({"queue": "trailers", "kind": "k", "brief": {}}).encode()
    head = CHUNKED.replace(b"KEY", service.admin.encode())
    chunks = b"%x\r\n%s\r\n0\r\n" % (len(body), body)
    for trailer in (b"authorization: Bearer x", b"content-encoding: gzip", b"content-type: text/plain"):
        with service.raw(head + chunks + trailer + b"\r\n\r\n" + GET) as bare:
            assert Answers(bare).statuses(2) == [201, 200]
    for endless in (chunks + b"x: " + b"y" * (1 << 20), b"2;" + b"y" * (1 << 20)):
        with service.raw(head) as bare:
            sending = Aside(_send, bare, endless)
            assert last_on(bare).status == 431
            sending.result()


def test_a_request_may_come_a_byte_at_a_time(service: Running) -> None:
    """However it is cut, a request of either way has the same answer."""
    service.queue("cut")
    body = json.dumps({"queue": "cut", "worker": "w"}).encode()
    key = f"authorization: Bearer {service.admin}\r\n".encode()
    chunked = b"transfer-encoding: chunked\r\n\r\n5\r\n%s\r\n%x;x=y\r\n%s\r\n0\r\n\r\n"
    for rest in (
        b"content-length: %d\r\n\r\n%s" % (len(body), body),
        chunked % (body[:5], len(body) - 5, body[5:]),
    ):
        text = b"POST /v1/tasks/claim HTTP/1.1\r\nhost: h\r\n" + key + rest
        with service.raw() as bare:
            bare.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for cut in range(1, len(text), 7):
                bare.sendall(text[:cut])
                bare.sendall(text[cut:])
                assert reply_on(bare).status == 204
            for byte in text:
                bare.sendall(bytes([byte]))
            assert reply_on(bare).status == 204


@pytest.mark.parametrize("target", ["http://h/healthz", "HTTP://h:80/healthz", "https://h/healthz?x"])
def test_a_target_may_be_a_whole_url(service: Running, target: str) -> None:
    """A whole URL means its path; one that has none means `/`, which leads to the board."""
    with service.raw(f"GET {target} HTTP/1.1\r\nhost: h\r\n\r\n".encode()) as bare:
        assert reply_on(bare).status == 200
    for bare_url in ("http://h", "http://h?x=1"):
        with service.raw(f"GET {bare_url} HTTP/1.1\r\nhost: h\r\n\r\n".encode()) as bare:
            reply = reply_on(bare)
        assert (reply.status, reply.headers["location"]) == (303, "/board")


def test_an_offer_to_speak_otherwise_is_passed_over(service: Running) -> None:
    """Whoever offers another protocol is answered in this one, and so is what it sends behind; the log has
    nothing to say of it.
    """
    for offer in ("h2c", "websocket"):
        asked = GET[:-2] + f"connection: Upgrade\r\nupgrade: {offer}\r\n\r\n".encode()
        with service.raw(asked + asked + GET) as bare:
            assert Answers(bare).statuses(3) == [200, 200, 200]
    assert not re.search("upgrade|websocket", service.log.read_text(), re.IGNORECASE)


def test_what_is_no_request_waits_for_the_answers_before_it(service: Running) -> None:
    """Behind requests that are still to be answered, what is none is answered last: else its 400, which says
    that nothing was changed, would be taken for the answer of a request that changed something.
    """
    service.queue("behind")
    key = f"authorization: Bearer {service.admin}\r\n".encode()
    body = json.dumps({"queue": "behind", "kind": "k", "brief": {}}).encode()
    ask = b"POST /v1/tasks HTTP/1.1\r\nhost: h\r\n%scontent-length: %d\r\n\r\n%s" % (key, len(body), body)
    looks = b"GET /v1/counts HTTP/1.1\r\nhost: h\r\n" + key + b"\r\n"
    for before, statuses in ((ask, [201]), (looks, [200]), (looks + ask + looks, [200, 201, 200])):
        for wrong in (b"nothing\r\n\r\n", CHUNKED + b"nothing\r\n"):
            with service.raw(before + wrong) as bare:
                answers = Answers(bare)
                assert answers.statuses(len(statuses)) == statuses
                assert answers.next().code == "invalid_request"
                assert answers.has_ended()


def test_requests_without_end_are_read_as_they_are_answered(service: Running) -> None:
    """Megabytes of requests that come at once are all answered, in flat memory, while others are served."""
    before, number = service.memory_bytes(), 10_000
    with service.raw() as bare:
        sending = Aside(_send, bare, GET * number)
        answers = bare.makefile("rb")
        for _ in range(number // 2):
            _skip(answers)
        assert service.get("/healthz").status == 200
        for _ in range(number - number // 2):
            _skip(answers)
        sending.result()
        answers.close()
    assert service.memory_bytes() - before < 15 << 20


def _skip(answers: object) -> None:
    """Read one answer of /healthz."""
    assert answers.readline() == b"HTTP/1.1 200 OK\r\n"
    while answers.readline() != b"\r\n":
        pass
    assert answers.read(11) == b'{"ok":true}'


def test_who_reads_no_answers_is_given_no_more(service: Running) -> None:
    """A client that asks for much again and again and reads nothing does not fill the memory."""
    stored = service.post("/v1/stores/large/records/one", {"value": "x" * (1 << 19)})
    assert stored.status in (200, 201), stored.body
    key = f"authorization: Bearer {service.admin}\r\n".encode()
    ask = b"GET /v1/stores/large/records/one HTTP/1.1\r\nhost: h\r\n" + key + b"\r\n"
    before = service.memory_bytes()
    with service.raw(ask * 200) as bare:
        for _ in range(150):
            assert service.get("/v1/counts").status == 200
        assert service.memory_bytes() - before < 60 << 20
        answers = Answers(bare)
        for _ in range(200):
            assert len(answers.next().body) > 1 << 19


def test_who_hangs_up_is_missed_also_behind_another_request(service: Running) -> None:
    """A follower of the log, or a claim that waits, behind which another request came, ends with its
    connection, or when the client closes its own side of it.
    """
    service.queue("left")
    key = f"authorization: Bearer {service.admin}\r\n".encode()
    body = json.dumps({"queue": "left", "worker": "w", "wait_seconds": 30}).encode()
    follow = b"GET /v1/events?follow=true HTTP/1.1\r\nhost: h\r\n" + key + b"\r\n"
    claim = b"POST /v1/tasks/claim HTTP/1.1\r\nhost: h\r\n%scontent-length: %d\r\n\r\n%s" % (
        key,
        len(body),
        body,
    )
    for asked, figure in ((follow, "tessera_streams"), (claim, "tessera_waiting")):
        for leave in (socket.socket.close, lambda bare: bare.shutdown(socket.SHUT_WR)):
            with service.raw(asked + GET) as bare:
                _until(service, figure, 1)
                leave(bare)
                _until(service, figure, 0)
    task = service.enqueue("left")
    assert service.claim("left").json["task_id"] == task


def _until(service: Running, figure: str, number: int) -> None:
    for _ in range(500):
        page = service.get("/metrics").body.decode()
        if re.search(rf"^{figure}(?:{{[^}}]*}})? {number}\.0$", page, re.MULTILINE):
            return
    raise AssertionError(f"{figure} is never {number}")
