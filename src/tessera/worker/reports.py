"""What a worker tells about its work, and who is told."""

from __future__ import annotations

import logging
from typing import Protocol

from msgspec import Struct

from tessera.errors import TesseraError
from tessera.models import Lease, Receipt

log = logging.getLogger("tessera.worker")

DONE, FAILED, SPLIT, PARKED, RELEASED = "done", "failed", "split", "parked", "released"
LOST = "lost"  # the lease ended while the handler was at work
HANDED_BACK = "handed back"  # the handler ended the lease by itself


class Report(Struct, frozen=True):
    """What became of one lease: one of the words above, and why where that says more."""

    lease: Lease
    word: str
    seconds: float  # from the lease's arrival to its end
    why: str = ""
    receipt: Receipt | None = None  # of a submit


class Listener(Protocol):
    """Whoever is told. Called on the worker's event loop: it must be quick and must not raise."""

    def settled(self, report: Report) -> None:
        """A lease has ended."""

    def cannot_claim(self, trouble: TesseraError) -> None:
        """A claim was not answered; the worker goes on asking."""


class Log:
    """A listener that writes to the log `tessera.worker`."""

    def settled(self, report: Report) -> None:
        """One line a lease, a warning if it did not go as it should."""
        good = report.word not in (FAILED, LOST)
        lease = report.lease
        why = f": {report.why}" if report.why else ""
        log.log(
            logging.INFO if good else logging.WARNING, "%s: %s (%s, attempt %d, %.1f s)%s", report.word,
            lease.task_id, lease.kind, lease.attempts, report.seconds, why,
        )  # fmt: skip

    def cannot_claim(self, trouble: TesseraError) -> None:
        """A warning."""
        log.warning("cannot claim now: %s: %s", trouble.code, trouble)
