"""Who writes when: one writer for each endpoint, its wakes in the order of their admission.

`step` does everything that is due and starts what takes longer; the daemon calls it when something was
sent and as time passes, a test calls it on a scripted clock.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from tessera.runtime import Runtime
from tessera.wake import deliveries, places, states
from tessera.wake.deliveries import Delivery
from tessera.wake.endpoints.file import FileEndpoint
from tessera.wake.endpoints.hook import HookEndpoint, owner_standing
from tessera.wake.endpoints.port import HERE, Endpoint, Result, Standing
from tessera.wake.endpoints.pty import Line, PtyEndpoint
from tessera.wake.endpoints.tmux import TmuxEndpoint
from tessera.wake.errors import Storage
from tessera.wake.limits import (
    CHECK_US,
    DELIVERIES_MAX,
    FRESH_US,
    JUMP_US,
    LOOK_AGAIN_US,
    SWEEP_US,
    TTL_MS,
    WRITE_US,
)
from tessera.wake.rows import EndpointRow, MessageRow
from tessera.wake.sqlite import Transaction

log = logging.getLogger("tessera.wake")
Run = Callable[..., Awaitable[Any]]


class WriterGate:
    """A writer's leave to go on: its lease still stands, and there is time left."""

    def __init__(self, run: Run, runtime: Runtime, delivery: Delivery) -> None:
        self._run, self._runtime, self._delivery = run, runtime, delivery
        self._end = runtime.elapsed_us() + WRITE_US

    async def typing(self) -> bool:
        stands = await self._note("typing")
        self._runtime.reach("wake.typing")
        return stands

    async def typed(self) -> bool:
        stands = await self._note("typed")
        self._runtime.reach("wake.typed")
        return stands

    def late(self) -> bool:
        return self._runtime.elapsed_us() >= self._end

    async def _note(self, phase: str) -> bool:
        message_id, lease_id = self._delivery.message.message_id, self._delivery.lease_id
        stands: bool = await self._run(deliveries.note_phase, message_id, lease_id, phase)
        return stands


class Dispatcher:
    """The endpoints' writers. `run` runs a verb of the store."""

    def __init__(self, run: Run, runtime: Runtime) -> None:
        self._run = run
        self._runtime = runtime
        self.poke: Callable[[], None] = lambda: None  # called when a writer has ended: another may begin
        self.lines: dict[str, Line] = {}  # the connections of pty endpoints
        self._writers: dict[str, asyncio.Task[None]] = {}
        self._look_again: dict[str, int] = {}  # endpoint -> not before this instant of the monotonic clock
        self._checked: dict[str, int] = {}  # endpoint -> when it was last looked at
        self._swept_at: int | None = None
        self._parted: int | None = None  # wall clock less monotonic clock

    async def step(self) -> None:
        """Everything that is due now, once."""
        await self._watch_clock()
        now = self._runtime.elapsed_us()
        if self._swept_at is None or now - self._swept_at >= SWEEP_US:
            self._swept_at = now
            await self._run(deliveries.sweep)
            await self._check_all(CHECK_US)
        for due in await self._run(_due):
            if due.endpoint_id in self._writers or len(self._writers) >= DELIVERIES_MAX:
                continue
            if now >= self._look_again.get(due.endpoint_id, 0):
                self._look_again.pop(due.endpoint_id, None)
                self._writers[due.endpoint_id] = asyncio.create_task(self._write_all(due.endpoint_id))

    async def idle(self) -> None:
        """Until every writer that was started has ended."""
        while self._writers:
            await asyncio.gather(*self._writers.values())

    async def soon(self) -> float:
        """Seconds until `step` may have something to do, at most a sweep's pause."""
        now = self._runtime.elapsed_us()
        again = min((at for at in self._look_again.values()), default=now + SWEEP_US)
        next_due = await self._run(_next_due)
        if next_due is not None:
            ahead = next_due * 1_000 - self._runtime.now_us()
            if ahead > 0:
                again = min(again, now + ahead)
        return max(0.001, min(SWEEP_US, again - now) / 1e6)

    async def refresh(self, repo: str | None = None) -> None:
        """Look at every endpoint (of a repository) that was not looked at just now: a send relies on who is
        live.
        """
        await self._check_all(FRESH_US, repo)

    def forget(self, endpoint_id: str) -> None:
        """Something about an endpoint has changed: look at it anew, at once."""
        self._checked.pop(endpoint_id, None)
        self._look_again.pop(endpoint_id, None)

    async def _check_all(self, age_us: int, repo: str | None = None) -> None:
        now = self._runtime.elapsed_us()
        rows = [
            row for row in await self._run(_open)
            if now - self._checked.get(row.endpoint_id, now - age_us) >= age_us
            and (repo is None or repo in msgspec.json.decode(row.repos))
        ]  # fmt: skip
        for row in rows:
            self._checked[row.endpoint_id] = now
        if rows:
            await asyncio.gather(*(self._check(row) for row in rows))

    def _just_checked(self, endpoint_id: str) -> bool:
        at = self._checked.get(endpoint_id)
        return at is not None and self._runtime.elapsed_us() - at < FRESH_US

    async def _check(self, row: EndpointRow) -> Standing:
        try:
            standing = await self._endpoint(row).identify()
            if standing is HERE and row.owner_pid is not None and row.kind != "hook":
                standing = await owner_standing(row)
        except msgspec.ValidationError:
            standing = Standing(states.GONE, "target_unreadable")
        if row.kind == "pty" and standing.state == states.STALE and self._away_too_long(row):
            standing = Standing(states.GONE, "did_not_come_back")
        if standing.state != row.state:
            await self._run(places.stands, row.endpoint_id, standing.state, standing.reason)
        return standing

    def _away_too_long(self, row: EndpointRow) -> bool:
        return row.away_since is not None and self._runtime.now_us() // 1_000 - row.away_since > TTL_MS

    def _endpoint(self, row: EndpointRow) -> Endpoint:
        if row.kind == "tmux":
            return TmuxEndpoint(row, self._runtime)
        if row.kind == "pty":
            return PtyEndpoint(row, self.lines)
        return HookEndpoint(row) if row.kind == "hook" else FileEndpoint(row)

    async def _write_all(self, endpoint_id: str) -> None:
        """Write the endpoint's wakes one after the other, until one has to wait."""
        try:
            while await self._write_one(endpoint_id):
                pass
        except Storage as refusal:
            log.warning("a delivery waits for the message store: %s", refusal.detail)
            self._look_again[endpoint_id] = self._runtime.elapsed_us() + LOOK_AGAIN_US
        except Exception:
            log.exception("a delivery failed unforeseen")
            self._look_again[endpoint_id] = self._runtime.elapsed_us() + LOOK_AGAIN_US
        finally:
            del self._writers[endpoint_id]
            self.poke()

    async def _write_one(self, endpoint_id: str) -> bool:
        """Whether there may be another one to write at once."""
        row, head = await self._run(_next, endpoint_id)
        if row is None or head is None:
            return False
        standing = Standing(row.state, row.reason)
        endpoint = self._endpoint(row)
        if row.state not in states.ENDED and not self._just_checked(endpoint_id):
            standing = await self._check(row)
        if standing.state == states.LIVE:
            reason = "blocked" if row.activity == "blocked" and row.kind in ("tmux", "pty") else None
            reason = reason or await endpoint.ready(head)
            if reason is not None:  # perhaps because it is not there any more
                standing = await self._check(row)
        else:
            reason = standing.reason or standing.state
        if reason is not None and standing.state not in states.ENDED:
            await self._run(deliveries.defer, head.message_id, reason)
            self._look_again[endpoint_id] = self._runtime.elapsed_us() + LOOK_AGAIN_US
            return False
        delivery = await self._run(deliveries.claim, head.message_id)
        if delivery is None:
            return False
        if standing.state in states.ENDED:
            result = Result(states.LOST, f"endpoint_{standing.state}")
        else:
            result = await endpoint.write(delivery, WriterGate(self._run, self._runtime, delivery))
        await self._run(deliveries.report, head.message_id, delivery.lease_id, result.outcome, result.reason)
        return True

    async def _watch_clock(self) -> None:
        """The wall clock and the monotonic one part when somebody sets the clock, and when the machine
        has slept: then every open deadline moves along, so that neither costs a wake an attempt.
        """
        parted = self._runtime.now_us() - self._runtime.elapsed_us()
        jump = 0 if self._parted is None else parted - self._parted
        if self._parted is None or abs(jump) > JUMP_US:
            self._parted = parted
        if abs(jump) > JUMP_US:
            log.warning("the clock has moved by %.1f seconds; open deadlines move along", jump / 1e6)
            await self._run(deliveries.shift, jump // 1_000)


def _due(tx: Transaction) -> list[Any]:
    return tx.all("due_endpoints", now=tx.now)


def _next_due(tx: Transaction) -> int | None:
    value: int | None = tx.one("next_due").value
    return value


def _open(tx: Transaction) -> list[EndpointRow]:
    return tx.all("open_endpoints")


def _next(tx: Transaction, endpoint_id: str) -> tuple[EndpointRow | None, MessageRow | None]:
    return tx.one("endpoint", endpoint_id=endpoint_id), tx.one("head", endpoint_id=endpoint_id, now=tx.now)
