"""A lease from its holder's side: keep it, hand it in, give it back, and tell how it was lost."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING, Final, TypeVar

from tessera import errors, models
from tessera.cli.program import Verdict
from tessera.runtime import Runtime, rfc3339

if TYPE_CHECKING:
    from tessera.library import Tessera

BEAT_SECONDS_MIN: Final = 0.2
RETRY_SECONDS: Final = 1.0  # while the store cannot answer
TRIES_MAX: Final = 5
NO_ANSWER: Final = (errors.Unavailable, errors.RateLimited)
Answer = TypeVar("Answer")


class Kept(Enum):
    """What a heartbeat has shown."""

    YES = "the lease lives"
    UNKNOWN = "the store cannot answer, and the lease may live"
    NO = "the lease is not ours any more"


class Holding:
    """One lease. Whether it lives is for the store to say; only while the store cannot answer does the holder
    look at its own wall clock, and what it then does wrong with a clock that is off, the fencing token mends.
    """

    def __init__(self, store: Tessera, lease: models.Lease, runtime: Runtime) -> None:
        self.lease = lease
        self._store = store
        self._runtime = runtime
        self._expires_at = lease.expires_at

    def keep(self) -> tuple[Kept, float]:
        """Send a heartbeat. Also tells in how many seconds the next one is due."""
        try:
            lease = self._store.heartbeat(self.lease.task_id, self.lease.fencing_token)
        except NO_ANSWER:
            lapsed = (
                rfc3339(self._runtime.now_us()) >= self._expires_at
            )  # such strings sort as their times do
            return (Kept.NO if lapsed else Kept.UNKNOWN), RETRY_SECONDS
        except errors.TesseraError:
            return Kept.NO, RETRY_SECONDS
        self._expires_at = lease.expires_at
        return Kept.YES, self.beat_seconds

    @property
    def beat_seconds(self) -> float:
        """The time between two heartbeats."""
        return max(BEAT_SECONDS_MIN, self.lease.heartbeat_seconds / 2)

    def hand_in(self, verdict: Verdict) -> models.Receipt:
        """Submit. An output that the store will not take (too large, say) becomes a failure that says so."""
        try:
            return self._insist(lambda: self._submit(verdict))
        except errors.InvalidRequest as refusal:
            if not verdict.ok:
                raise
            failed = Verdict(ok=False, error=f"the output was refused: {refusal.detail}")
            return self._insist(lambda: self._submit(failed))

    def give_back(self) -> None:
        """Release: the task is ready again, and no failure is counted."""
        self._insist(lambda: self._store.release(self.lease.task_id, self.lease.fencing_token))

    def was_handed_back(self) -> bool:
        """Whether a lease that is gone ended by its holder's own word: a submit under its token, a split, a
        park or a release. A lapse counts a failure and a cancel shows in the state; those do neither.
        """
        lease = self.lease
        try:
            tokens = {result.fencing_token for result in self._store.results(lease.task_id)}
            task = self._store.task(lease.task_id)
        except errors.TesseraError:
            return False
        uncounted = task.state != "cancelled" and task.failures == lease.failures
        return lease.fencing_token in tokens or uncounted

    def _submit(self, verdict: Verdict) -> models.Receipt:
        task_id, token = self.lease.task_id, self.lease.fencing_token
        key = f"work:{task_id}:{token}"
        return self._store.submit(task_id, token, verdict.output, key, ok=verdict.ok, error=verdict.error)

    def _insist(self, act: Callable[[], Answer]) -> Answer:
        """Ask again while the store cannot answer; each of these verbs may safely be asked twice."""
        for _ in range(TRIES_MAX - 1):
            try:
                return act()
            except NO_ANSWER:
                self._runtime.sleep(RETRY_SECONDS)
        return act()
