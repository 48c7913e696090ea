"""What looks at all queues cost when there are 10,000 of them, and how long others wait beside them.

Counts, health and the board are one instant of every queue and come whole. They are made in threads; what is
left for the event loop is to write an answer down and to send it. A heartbeat that is refused tells how long
others wait: one client sends them without a pause, another asks for the look again and again.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from pathlib import Path

import httpx
import msgspec

import tessera
from benchmarks.http import served

QUEUES = 10_000
ROUNDS = 20
PAUSE_SECONDS = 0.05  # between two looks
LOOKS = ("/v1/queues?limit=1000", "/v1/counts", "/v1/health", "/v1/counts?recount=true", "/board", "/metrics")


def written_ms(store: tessera.Tessera) -> str:
    """The least milliseconds that each answer takes to be written down, which the loop does."""
    told = []
    for verb, ask in (("counts", b"{}"), ("counts", b'{"recount": true}'), ("health", b"{}")):
        answer = store.door.call(verb, ask)
        spent = []
        for _ in range(ROUNDS):
            start = time.perf_counter()
            msgspec.json.encode(answer)
            spent.append((time.perf_counter() - start) * 1e3)
        told.append(f"{verb} {min(spent):.1f} ms")
    return f"written down: {', '.join(told)} (counts without and with a recount)\n"


async def heartbeats(client: httpx.AsyncClient, until: asyncio.Event) -> list[float]:
    """Milliseconds that each of many heartbeats took."""
    spent = []
    while not until.is_set():
        start = time.perf_counter()
        await client.post("/v1/tasks/heartbeat", json={"task_id": "none", "fencing_token": 1})
        spent.append((time.perf_counter() - start) * 1e3)
    return sorted(spent)


async def measure(client: httpx.AsyncClient, look: str | None) -> str:
    """A line of the table: a look, its answer's size and time, and the heartbeats beside it."""
    until, took, size = asyncio.Event(), [0.0], 0
    beside = asyncio.ensure_future(heartbeats(client, until))
    for _ in range(ROUNDS):
        if look is not None:
            start = time.perf_counter()
            size = len((await client.get(look)).content)
            took.append((time.perf_counter() - start) * 1e3)
        await asyncio.sleep(PAUSE_SECONDS)
    until.set()
    spent = await beside
    middle, late = spent[len(spent) // 2], spent[len(spent) * 99 // 100]
    looked = f"{size / 1e6:6.2f} MB {sorted(took)[len(took) // 2]:8.1f} ms"
    return f"{look or 'nothing':26} {looked}   heartbeats {middle:6.1f} ms, p99 {late:6.1f}\n"


async def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory(prefix="tessera-queues-") as folder:
        path = str(Path(folder) / "store.db")
        with tessera.open(path) as store:
            for number in range(QUEUES):
                store.define_queue(f"queue-{number:05d}")
            sys.stdout.write(written_ms(store))
        with served(Path(path)) as service:
            headers = {"authorization": f"Bearer {service.key}"}
            async with httpx.AsyncClient(base_url=service.url, headers=headers, timeout=60) as client:
                for look in (None, *LOOKS):
                    sys.stdout.write(await measure(client, look))


if __name__ == "__main__":
    asyncio.run(main())
