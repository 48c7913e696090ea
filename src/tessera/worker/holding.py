"""A lease from its holder's side: keep it, hand it in, give it back, and tell how it was lost."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from enum import Enum
from typing import Any, Final, TypeVar

from tessera import errors, models
from tessera.client import AsyncTessera
from tessera.limits import SECOND_US
from tessera.runtime import Runtime
from tessera.worker.deadlines import StoreClock, deadline_us

BEAT_SECONDS_MIN: Final = 0.2
BEAT_TIMEOUT_SECONDS_MIN: Final = 0.5
RETRY_SECONDS: Final = 1.0  # while the store cannot answer
TRIES_MIN: Final = 5
NO_ANSWER: Final = (errors.Unavailable, errors.RateLimited)
Answer = TypeVar("Answer")


class Kept(Enum):
    """What a heartbeat has shown."""

    YES = "the lease lives"
    UNKNOWN = "the store cannot answer, and the lease may live"
    NO = "the lease is not ours any more"


class Holding:
    """One lease. Whether it lives is for the store to say. Only while the store cannot answer does the holder
    look at a clock of its own, and what it then takes for lost too early costs a retry, no more.
    """

    def __init__(
        self, store: AsyncTessera, lease: models.Lease, runtime: Runtime, clock: StoreClock
    ) -> None:  # fmt: skip
        self.lease = lease
        self._store = store
        self._runtime = runtime
        self._clock = clock
        self._deadline_us = deadline_us(clock, lease)

    @property
    def seconds_left(self) -> float:
        """How long the lease surely lives if no more heartbeat gets through; negative once it may be over."""
        return (self._deadline_us - self._runtime.elapsed_us()) / SECOND_US

    @property
    def beat_seconds(self) -> float:
        """The time between two heartbeats: twice as often as the queue expects."""
        return max(BEAT_SECONDS_MIN, self.lease.heartbeat_seconds / 2)

    async def keep(self) -> tuple[Kept, float]:
        """Send a heartbeat. Also tells in how many seconds the next one is due."""
        beat = self._store.heartbeat(self.lease.task_id, self.lease.fencing_token)
        try:
            async with asyncio.timeout(max(BEAT_TIMEOUT_SECONDS_MIN, self.seconds_left)):
                lease = await beat
        except (*NO_ANSWER, TimeoutError):
            return (Kept.UNKNOWN if self.seconds_left > 0 else Kept.NO), min(RETRY_SECONDS, self.beat_seconds)
        except errors.TesseraError:
            return Kept.NO, RETRY_SECONDS
        self._deadline_us = deadline_us(self._clock, lease)
        return Kept.YES, self.beat_seconds

    async def hand_in(self, ok: bool, output: Any, error: str | None) -> models.Receipt:
        """Submit. The key makes the same submit again harmless, from here or from somebody's shell."""
        task_id, token = self.lease.task_id, self.lease.fencing_token
        return await self._insist(
            lambda: self._store.submit(task_id, token, output, f"{task_id}:{token}", ok=ok, error=error)
        )

    async def tried_again_at(self, receipt: models.Receipt) -> str | None:
        """When a failed task may be claimed again (RFC 3339, UTC). None if that is now or never, and if the
        store does not say at once: it is only told to people.
        """
        if receipt.state != "ready":
            return None
        try:
            async with asyncio.timeout(BEAT_TIMEOUT_SECONDS_MIN):
                task = await self._store.task(receipt.task_id)
        except (errors.TesseraError, TimeoutError):
            return None
        waits = task.not_before is not None and task.not_before > task.updated_at
        return task.not_before if waits else None

    async def split(self, children: Any) -> list[str]:
        """Turn the task into children."""
        lease = self.lease
        return await self._insist(lambda: self._store.split(lease.task_id, lease.fencing_token, children))

    async def park(self, reason: str, resume_within: float | None, input_schema: Any) -> models.TaskView:
        """Let the task wait for input."""
        lease = self.lease
        return await self._insist(
            lambda: self._store.park(
                lease.task_id, lease.fencing_token, reason, resume_within, input_schema=input_schema
            )
        )

    async def give_back(self, delay_seconds: float = 0) -> models.TaskView:
        """Release: the task is ready again, and no failure is counted."""
        lease = self.lease
        return await self._insist(
            lambda: self._store.release(lease.task_id, lease.fencing_token, delay_seconds)
        )

    async def was_handed_back(self) -> bool:
        """Whether a lease that is gone ended by its holder's own word: a submit under its token, a split, a
        park or a release. A lapse counts a failure and a cancel shows in the state; those do neither. A lease
        that stands has not ended at all: what its holder last said was refused.
        """
        lease = self.lease
        try:
            tokens = {result.fencing_token for result in await self._store.results(lease.task_id)}
            task = await self._store.task(lease.task_id)
        except errors.TesseraError:
            return False
        stands = task.state == "leased" and task.fencing_token == lease.fencing_token
        uncounted = task.state != "cancelled" and task.failures == lease.failures
        return lease.fencing_token in tokens or (uncounted and not stands)

    async def _insist(self, act: Callable[[], Awaitable[Answer]]) -> Answer:
        """Ask again while the store cannot answer and the lease may live. Each of these verbs may safely be
        asked twice: the token lets one of them through.
        """
        tried = 0
        while True:
            tried += 1
            try:
                return await act()
            except NO_ANSWER as trouble:
                if tried >= TRIES_MIN and self.seconds_left <= 0:
                    raise
                pause = trouble.retry_after or RETRY_SECONDS
            await asyncio.sleep(pause * self._runtime.uniform(0.5, 1.0))
