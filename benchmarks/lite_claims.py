"""claim-next on the store's own log beside the plain durable claim, 16 callers on one event loop, in turns.

Part of `python -m benchmarks.lite`. Nothing is handed in: both only claim, each from a queue of its own that
is never emptied. Then the store's topic is verified as `tessera lite verify` does it, claims and all.
"""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import tessera
from tessera.acts.act import carry_out_on_loop
from tessera.lite.claiming import claim_next
from tessera.models import Claim, Claimed, ClaimNext, Lease
from tessera.rules.grants import OWNER
from tessera.runtime import real_runtime
from tessera.storage.loop import LoopEngine
from tessera.surface import SURFACE

CALLERS = 16
PLAIN = SURFACE["claim"].run()
Once = Callable[[LoopEngine, int, int], Awaitable[None]]


def fill(path: Path, tasks: int) -> None:
    """A plain queue and a workspace's, with as many ready tasks each."""
    with tessera.open(str(path)) as store:
        for queue in ("plain", "drafts"):
            store.define_queue(queue, lease_seconds=3_600, heartbeat_seconds=600)
        store.define_workspace("ws_a", "A")
        store.assign_queue("ws_a", "drafts")
        store.define_role("ws_a", "role_a", "A")
        store.define_agent("ws_a", "agt_a", ["role_a"])
        batch = [{"queue": "plain", "kind": "k", "brief": {"title": "t", "brief": "b"}}] * 1_000
        for _ in range(tasks // 1_000):
            store.enqueue_batch(batch)
        _fill_lite(store, tasks)


def _fill_lite(store: tessera.Tessera, tasks: int) -> None:
    from concurrent.futures import ThreadPoolExecutor

    spec = dict(workspace_id="ws_a", queue_id="drafts", title="t", brief="b", required_role_id="role_a")
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda _: store.define_lite_task(spec), range(tasks)))


async def plain(engine: LoopEngine, _caller: int, _number: int) -> None:
    """One plain claim."""
    lease = await engine.submit(PLAIN, OWNER, Claim(queue="plain", worker="w"))
    assert isinstance(lease, Lease)


async def lite(engine: LoopEngine, caller: int, number: int) -> None:
    """One claim-next: three transactions."""
    ask = ClaimNext(queue_id="drafts", agent_id="agt_a", idempotency_key=f"k{caller}-{number}")
    answer: Any = await carry_out_on_loop(claim_next(ask), engine, OWNER)
    assert isinstance(answer, Claimed), answer


async def rate(path: Path, once: Once, claims: int, callers: int) -> tuple[float, float]:
    """Claims a second, so many callers at once, and the processor's microseconds for each."""
    engine = LoopEngine(str(path), real_runtime(), asyncio.get_running_loop())

    async def live(caller: int) -> None:
        for number in range(claims // callers):
            await once(engine, caller, number + round_of[0])

    round_of = [time.monotonic_ns()]
    start, processor = time.perf_counter(), time.process_time()
    await asyncio.gather(*(live(caller) for caller in range(callers)))
    took, processor = time.perf_counter() - start, time.process_time() - processor
    engine.close()
    await asyncio.sleep(0)
    done = claims // callers * callers
    return done / took, processor / done * 1_000_000


def claiming(claims: int, rounds: int) -> None:
    """Both, in turns, at 16 callers and at one."""
    with tempfile.TemporaryDirectory(prefix="tessera-lite-", dir=".") as folder:
        path = Path(folder) / "store.db"
        fill(path, max(1_000, 2 * claims * rounds // 1_000 * 1_000 + 1_000))
        for callers in (CALLERS, 1):
            rates = {
                once: [asyncio.run(rate(path, once, claims // (1 if callers > 1 else 8), callers))
                       for _ in range(rounds)]
                for once in (plain, lite)
            }  # fmt: skip
            (of_plain, us_plain), (of_lite, us_lite) = (
                (statistics.median(took) for took in zip(*rates[once], strict=True)) for once in (plain, lite)
            )
            bound = "   (bound: at least 0.15)" if callers > 1 else ""
            print(f"plain claims, {callers:2} callers   {of_plain:>10,.0f} claims/s   {us_plain:>6,.0f} us")
            print(f"claim-next,   {callers:2} callers   {of_lite:>10,.0f} claims/s   {us_lite:>6,.0f} us   "
                  f"{of_lite / of_plain:.2f} x{bound}")  # fmt: skip
        verified(path)


def verified(path: Path) -> None:
    """How long the topic of these claims takes to verify, the store's claims compared."""
    with tessera.open(str(path)) as store:
        start = time.process_time()
        (found,) = store.verify_topics().topics
        took = time.process_time() - start
    assert found.finding is None
    print(f"lite verify on the store    {found.claims / took:>10,.0f} claims/s of processor time")


if __name__ == "__main__":
    claiming(800, 3)
