"""What both engines do with a verb that cannot share its transaction."""

from __future__ import annotations

import logging

from tessera.errors import TesseraError, Unavailable
from tessera.limits import LOST_RACES_MAX
from tessera.storage.connection import refusal_of
from tessera.storage.jobs import AGAIN, Job
from tessera.storage.migrate import upgraded
from tessera.storage.port import LostRace
from tessera.storage.sqlite import Writer

log = logging.getLogger("tessera.storage")


def run_alone(writer: Writer, job: Job) -> None:
    """One verb, a transaction of its own, run again if it loses a race; whatever goes wrong becomes its
    outcome, so one bad verb cannot take its neighbours with it.
    """
    job.settled = job.settled if job.outcome is AGAIN else 0
    for _ in range(LOST_RACES_MAX):
        try:
            job.outcome = AGAIN
            while job.outcome is AGAIN:
                writer.begin()
                writer.attempt([job])
                job.number = writer.commit()
        except LostRace:
            writer.rollback()
            job.outcome = Unavailable("the rows kept changing under the verb; try again", definite=True)
        except TesseraError as refusal:
            writer.rollback()
            job.outcome = refusal
            return
        except Exception as error:
            writer.rollback()
            job.outcome = upgraded(writer.connection) or refusal_of(error)
            name = getattr(job.verb, "__name__", job.verb)
            if type(job.outcome) is TesseraError:
                log.exception("verb %s failed", name)
            else:  # of a kind that may hit every verb for a while: a disk that is full is not to be filled
                log.warning("verb %s: %s", name, job.outcome)
            return
        else:
            return
