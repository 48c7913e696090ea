"""What does not wait for the loop to come round."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from service.running import Running, reply_on, serving

from tessera.service.lifecycle import ACCEPTS_PER_TURN

BUSY_AFTERWARDS = """
import pathlib, sys, time
from tessera.cli.main import main
from tessera.service.connection import Connection
from tessera.storage import loop

loop.SPOT_SYNC_US_MAX = 10**9  # however slow the disk is
arrived, heard = Connection.on_message_complete, pathlib.Path(sys.argv.pop(1))

def stay_busy(connection):
    path = connection.url
    arrived(connection)
    for _ in range(500 * path.endswith(b"heartbeat")):
        if heard.exists():
            print("the client has it", file=sys.stderr)
            return
        time.sleep(0.01)

Connection.on_message_complete = stay_busy
main()
"""


def test_a_heartbeat_is_answered_where_it_arrives(tmp_path: Path) -> None:
    """The client has the answer to a heartbeat while the loop still has other work in the same turn."""
    heard = tmp_path / "heard"
    program = [sys.executable, "-c", BUSY_AFTERWARDS, str(heard), "serve"]
    with serving(tmp_path, program=program) as service:
        service.queue("q")  # the key is known from here on
        task_id = service.enqueue("q")
        service.claim("q")
        beat = {"task_id": task_id, "fencing_token": 1}
        assert service.post("/v1/tasks/heartbeat", beat).status == 200
        heard.touch()
        service.get("/healthz")
        assert "the client has it" in service.log.read_text()


SLOW_TURNS = """
import asyncio, sys, time
from tessera.cli.main import main
from tessera.service.connection import Connection
from tessera.service.lifecycle import _Serving

turns, made, run = 0, Connection.connection_made, _Serving.run

def turn():
    global turns
    turns += 1
    time.sleep(0.02)
    asyncio.get_running_loop().call_soon(turn)

def note(connection, transport):
    print("turn", turns, file=sys.stderr)
    made(connection, transport)

async def run_slowly(serving):
    asyncio.get_running_loop().call_soon(turn)
    await run(serving)

Connection.connection_made, _Serving.run = note, run_slowly
main()
"""


def test_a_crowd_is_let_in_at_once(tmp_path: Path) -> None:
    """Clients that connect together need not wait for a turn of the loop each."""
    with serving(tmp_path, program=[sys.executable, "-c", SLOW_TURNS, "serve"]) as service:
        crowd = [service.raw() for _ in range(4 * ACCEPTS_PER_TURN)]
        crowd[-1].sendall(b"GET /healthz HTTP/1.1\r\nhost: h\r\n\r\n")
        assert reply_on(crowd[-1]).status == 200
        for client in crowd:
            client.close()
        turns = [int(line.split()[1]) for line in service.log.read_text().splitlines() if line[:5] == "turn "]

    assert len(turns) == len(crowd)
    assert turns[-1] - turns[0] < len(crowd) // 4


def test_what_is_no_http_after_a_request_harms_nobody(own: Running) -> None:
    """A client that goes on with what is no request, while the answer to its last one is due, takes nobody
    else's answer: neighbours of the same commit have theirs, and what it had claimed is ready again.
    """
    own.queue("q")
    spec = json.dumps({"queue": "q", "kind": "k", "brief": {}}).encode()
    ask = json.dumps({"queue": "q", "worker": "w"}).encode()
    head = f"host: h\r\nauthorization: Bearer {own.admin}\r\ncontent-length: "
    enqueuing = f"POST /v1/tasks HTTP/1.1\r\n{head}{len(spec)}\r\n\r\n".encode() + spec
    claiming = f"POST /v1/tasks/claim HTTP/1.1\r\n{head}{len(ask)}\r\n\r\n".encode() + ask
    neighbours = [own.raw() for _ in range(8)]
    for _ in range(40):
        rude = [own.raw(request + b"x\r\n\r\n") for request in (enqueuing, claiming)]
        for neighbour in neighbours:
            neighbour.sendall(enqueuing)
        for neighbour in neighbours:
            assert reply_on(neighbour).status == 201
        for client in rude:
            client.close()
    for neighbour in neighbours:
        neighbour.close()

    assert "Traceback" not in own.log.read_text()
    assert own.get("/healthz").status == 200
    counts = own.get("/v1/counts?recount=true").json
    assert counts["agree"]
    assert own.claim("q").status == 200
