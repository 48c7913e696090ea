"""A thousand waiting claims."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

from service.running import Running


def test_a_thousand_waiting_claims_hold_no_thread(own: Running) -> None:
    """With 1,000 claims waiting the process has no more threads, 200 heartbeats in a row lose no lease of a
    queue with a lapse of 2 seconds, and half of them take less than a tenth of one.
    """
    own.queue("crowd")
    own.queue("held", heartbeat_seconds=1, miss_limit=2)
    own.get("/v1/queues")
    before = own.threads()

    middling, answered, threads = asyncio.run(_crowd(own))

    assert threads == before
    assert middling < 0.1
    assert answered == 1_000


async def _crowd(own: Running) -> tuple[float, int, int]:
    def ask(path: str, body: dict[str, Any]) -> bytes:
        data = json.dumps(body).encode()
        return (
            f"POST {path} HTTP/1.1\r\nhost: h\r\nauthorization: Bearer {own.admin}\r\n"
            f"content-length: {len(data)}\r\n\r\n"
        ).encode() + data

    async def once(request: bytes) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", own.port)
        writer.write(request)
        line = await reader.readline()
        writer.close()
        return line

    claim = ask("/v1/tasks/claim", {"queue": "crowd", "worker": "w", "wait_seconds": 6})
    crowd = [asyncio.create_task(once(claim)) for _ in range(1_000)]
    await asyncio.sleep(1.5)
    threads = own.threads()
    task_id = await asyncio.to_thread(own.enqueue, "held")
    await asyncio.to_thread(own.claim, "held")
    reader, writer = await asyncio.open_connection("127.0.0.1", own.port)
    times = []
    for _ in range(200):
        start = time.monotonic()
        writer.write(ask("/v1/tasks/heartbeat", {"task_id": task_id, "fencing_token": 1}))
        assert b" 200 " in await reader.readline()
        head = await reader.readuntil(b"\r\n\r\n")
        await reader.readexactly(int(head.rpartition(b"content-length: ")[2].split()[0]))
        times.append(time.monotonic() - start)
        await asyncio.sleep(0.005)
    writer.close()
    lines = await asyncio.gather(*crowd)
    return sorted(times)[100], sum(b" 204 " in line for line in lines), threads
