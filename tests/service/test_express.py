"""The express way of requests that are one transaction: it answers as the ordinary way does, and is one."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import socket
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from service.running import Reply, Running, reply_on

import tessera
from tessera.runtime import real_runtime
from tessera.service.bells import Bells
from tessera.service.cors import Cors
from tessera.service.edge import Edge
from tessera.service.express import EXPRESS_BODY_BYTES_MAX, Express
from tessera.service.keys import Keys
from tessera.service.logs import RequestLog
from tessera.service.metrics import Metrics
from tessera.service.replies import Replies
from tessera.service.routes import Routes
from tessera.service.waits import Waits
from tessera.settings import Settings
from tessera.storage.loop import LoopEngine
from tessera.surface import SURFACE

VARIES = re.compile(rb"\d{4}-\d\d-\d\dT[0-9:.]+Z|\b[a-z]{1,3}_[0-9a-f]{12,}\b")  # instants and ids


def request(service: Running, path: str, body: bytes, *headers: str, chunked: bool = False) -> bytes:
    """A POST; in chunks it never goes the express way."""
    head = [f"POST {path} HTTP/1.1", "host: h", f"authorization: Bearer {service.admin}", *headers]
    if chunked:
        head.append("transfer-encoding: chunked")
        body = b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body) if body else b"0\r\n\r\n"
    else:
        head.append(f"content-length: {len(body)}")
    return "\r\n".join(head).encode() + b"\r\n\r\n" + body


def ask(service: Running, path: str, body: bytes, *headers: str, chunked: bool = False) -> Reply:
    """Its answer."""
    with service.raw(request(service, path, body, *headers, chunked=chunked)) as bare:
        return reply_on(bare)


def lasting(reply: Reply) -> tuple[Any, ...]:
    """What does not differ between two answers to the same question."""
    headers = {name: value for name, value in reply.headers.items() if name != "x-request-id"}
    return reply.status, headers, VARIES.sub(b"?", reply.body)


def silent(bare: socket.socket, seconds: float) -> None:
    """No answer comes for so long."""
    bare.settimeout(seconds)
    with pytest.raises(TimeoutError):
        bare.recv(1)
    bare.settimeout(10)


@pytest.mark.parametrize(("path", "body", "headers"), [
    ("/v1/tasks", b'{"queue":"express","kind":"k","brief":{"x":1}}', ()),
    ("/v1/tasks/claim", b'{"queue":"express","worker":"w"}', ()),
    ("/v1/tasks/claim", b'{"queue":"express-empty","worker":"w"}', ("content-type: application/json",)),
    ("/v1/tasks/claim", b'{"queue":"nowhere","worker":"w"}', ()),
    ("/v1/tasks/claim", b'{"queue":"express","worker":"w","queue":"express"}', ()),
    ("/v1/tasks/claim", b'{"queue":"express","worker":"w","more":1}', ()),
    ("/v1/tasks/claim", b'{"queue":"express"', ()),
    ("/v1/tasks/claim", b"", ()),
    ("/v1/tasks/claim", b'{"queue":"express","worker":"\xff"}', ()),
    ("/v1/tasks/claim", b'{"queue":"express","worker":"w"}', ("content-type: text/plain",)),
    ("/v1/tasks/claim", b'{"queue":"express","worker":"w"}', ("content-encoding: gzip",)),
    ("/v1/tasks/claim", b'{"queue":"express","worker":"w"}', ("idempotency-key: once",)),
    ("/v1/tasks/claim", b'{"queue":"express","worker":"w"}', ("idempotency-key: a b",)),
    ("/v1/tasks/claim", b'{"queue":"express","worker":"w"}', ("idempotency-key: a", "idempotency-key: b")),
    ("/v1/tasks/claim-batch", b'{"queue":"express","worker":"w","limit":2}', ()),
    ("/v1/tasks/heartbeat", b'{"task_id":"t_none","fencing_token":1}', ()),
    ("/v1/tasks/submit", b'{"task_id":"t_none","fencing_token":1}', ("idempotency-key: k",)),
    ("/v1/tasks/submit", b'{"task_id":"t_none","fencing_token":1}', ()),
    ("/v1/tasks/release", b'{"task_id":"t_none","fencing_token":0}', ()),
    ("/v1/tasks/claim?queue=express", b'{"worker":"w"}', ()),
    ("/v1/tasks/claim", b"{" + b" " * EXPRESS_BODY_BYTES_MAX + b"}", ()),
])  # fmt: skip
def test_both_ways_answer_alike(service: Running, path: str, body: bytes, headers: tuple[str, ...]) -> None:
    """A request in one piece and the same in chunks have the same status, headers and body, but for what
    names one task or one instant.
    """
    for queue in ("express", "express-empty"):
        service.queue(queue)
    for _ in range(8):
        service.enqueue("express")

    express, ordinary = (ask(service, path, body, *headers, chunked=chunked) for chunked in (False, True))

    assert lasting(express) == lasting(ordinary)


def test_a_wrong_key_is_refused_by_both(service: Running) -> None:
    """A key that the service does not know, and none, are refused before the body is read."""
    for line in ("authorization: Bearer tessera_wrong", "x: y"):
        head = f"POST /v1/tasks/claim HTTP/1.1\r\nhost: h\r\n{line}\r\ncontent-length: 5\r\n\r\n"
        with service.raw(head.encode()) as bare:
            assert reply_on(bare).code == "unauthorized"


@pytest.mark.parametrize("cut", [1, 20, -40, -20, -1])
def test_a_request_in_two_pieces(service: Running, cut: int) -> None:
    """Wherever a request is cut in two, it is answered as if it had come whole."""
    service.queue("pieces")
    service.enqueue("pieces")
    service.get("/v1/queues")  # the key is known from here on
    whole = request(service, "/v1/tasks/claim", b'{"queue":"pieces","worker":"w"}')
    with service.raw(whole[:cut]) as bare:
        silent(bare, 0.05)
        bare.sendall(whole[cut:])
        assert reply_on(bare).status == 200


def test_a_body_that_is_late_goes_the_ordinary_way(service: Running) -> None:
    """A body that comes seconds after its head is still answered."""
    service.queue("late-body")
    service.enqueue("late-body")
    whole = request(service, "/v1/tasks/claim", b'{"queue":"late-body","worker":"w"}')
    with service.raw(whole[:-9]) as bare:
        silent(bare, 2.2)
        bare.sendall(whole[-9:])
        assert reply_on(bare).status == 200


def test_requests_in_a_row_are_answered_in_order(service: Running) -> None:
    """Requests of both ways that arrive in one piece are answered one after the other, on one connection."""
    service.queue("row")
    for _ in range(4):
        service.enqueue("row")
    claim = request(service, "/v1/tasks/claim", b'{"queue":"row","worker":"w"}')
    wrong = request(service, "/v1/tasks/heartbeat", b'{"task_id":"t_none","fencing_token":1}')
    plain = b"GET /healthz HTTP/1.1\r\nhost: h\r\n\r\n"
    last = request(service, "/v1/tasks/claim", b'{"queue":"row","worker":"w"}', "connection: close")
    with service.raw(claim + wrong + plain + claim + claim + plain + last) as bare:
        said = b"".join(iter(partial(bare.recv, 65_536), b""))

    statuses = [int(status) for status in re.findall(rb"HTTP/1.1 (\d+)", said)]
    assert statuses == [200, 404, 200, 200, 200, 200, 200]


def test_a_request_on_its_way_is_answered_when_the_service_stops(own: Running) -> None:
    """A request whose body arrives after the word to stop is answered, and told that this was the last."""
    own.queue("stopping")
    task_id = own.enqueue("stopping")
    own.claim("stopping")
    body = json.dumps({"task_id": task_id, "fencing_token": 1}).encode()
    whole = request(own, "/v1/tasks/heartbeat", body)
    with own.raw(whole[:-5]) as bare:
        own.get("/healthz")
        own.process.terminate()
        silent(bare, 0.1)
        bare.sendall(whole[-5:])
        reply = reply_on(bare)

    assert (reply.status, reply.headers["connection"]) == (200, "close")
    assert own.process.wait(30) == 0


class Heard:
    """A client's end: the answers that came."""

    def __init__(self) -> None:
        self.answers: list[tuple[int, bytes]] = []
        self.came = asyncio.Event()
        self.hung_up = False

    def unread(self) -> bool:
        """Nothing is."""
        return False

    def is_closing(self) -> bool:
        """Whether the client has hung up."""
        return self.hung_up

    def reply(self, status: int, headers: Any, body: bytes) -> None:
        """An answer."""
        self.answers.append((status, body))
        self.came.set()


def express_of(engine: LoopEngine, keys: Keys) -> Express:
    """The express way of a service on an engine."""
    runtime, metrics, settings = real_runtime(), Metrics(), Settings()
    log = RequestLog(StringIO(), runtime, False, asyncio.get_running_loop())
    replies = Replies(runtime, Cors(()), metrics, log, None)
    waits = Waits(engine, settings, runtime, Bells(), metrics, None)
    return Express(engine, Routes(SURFACE.values()), keys, Edge(None), waits, replies, metrics, runtime)


def test_it_makes_no_task_and_knows_its_keys(tmp_path: Path) -> None:
    """A claim, a heartbeat and a submit go from bytes to answer without a task of the loop; one under a key
    that has not been looked up does not go this way.
    """
    with tessera.open(str(tmp_path / "s.db")) as store:
        store.define_queue("q")
        task_id = store.enqueue(queue="q", kind="k", brief={})
        secret = store.issue_key(scopes=["admin"]).key
    headers = [(b"authorization", f"Bearer {secret}".encode()), (b"content-length", b"9"),
               (b"idempotency-key", b"k")]  # fmt: skip
    lease = json.dumps({"task_id": task_id, "fencing_token": 1}).encode()

    async def main() -> list[int]:
        engine = LoopEngine(str(tmp_path / "s.db"), real_runtime(), asyncio.get_running_loop())
        keys = Keys(engine, real_runtime())
        express = express_of(engine, keys)
        assert express.passage(b"/v1/tasks/claim", headers, None) is None
        await keys.caller(secret, "here")
        statuses = []
        for path, body in (
            (b"claim", b'{"queue":"q","worker":"w"}'),
            (b"heartbeat", lease),
            (b"submit", lease),
        ):
            passage, heard = (
                express.passage(b"/v1/tasks/" + path, headers[: 2 + (path != b"heartbeat")], None),
                Heard(),
            )
            assert passage is not None
            assert passage.heard(body)
            passage.go(heard)
            assert asyncio.all_tasks() == {asyncio.current_task()}
            await heard.came.wait()
            statuses.append(heard.answers[0][0])
        engine.close()
        return statuses

    assert asyncio.run(main()) == [200, 200, 200]


def test_what_fails_unforeseen_is_answered_and_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """An engine that fails in a way that nobody foresaw: 500 without detail for the client, all of it in the
    log.
    """
    with tessera.open(str(tmp_path / "s.db")) as store:
        secret = store.issue_key(scopes=["admin"]).key
    headers = [(b"authorization", f"Bearer {secret}".encode()), (b"content-length", b"9")]

    async def main() -> tuple[int, bytes]:
        engine = LoopEngine(str(tmp_path / "s.db"), real_runtime(), asyncio.get_running_loop())
        keys = Keys(engine, real_runtime())
        await keys.caller(secret, "here")
        express, heard = express_of(engine, keys), Heard()
        express.call = lambda then, *_: then(RuntimeError("the floor is lava"))
        passage = express.passage(b"/v1/tasks/heartbeat", headers, None)
        assert passage is not None
        assert passage.heard(b'{"task_id":"t","fencing_token":1}')
        passage.go(heard)
        engine.close()
        return heard.answers[0]

    with caplog.at_level(logging.ERROR):
        status, body = asyncio.run(main())

    assert status == 500
    assert b"lava" not in body
    assert "lava" in caplog.text
