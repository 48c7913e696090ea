"""A worker: claim, keep the lease, do the work, hand in what came of it, again and again. See `Worker`.

from tessera.worker import Park, Worker

worker = Worker("mail", "http://127.0.0.1:8787", parallel=4)  # the key comes from TESSERA_KEY

@worker.handles("send")
def send(lease, context):
    if not lease.inputs:
        return Park(f"Send this to {lease.brief['to']}?")
    return {"sent": lease.inputs[-1].input["approved"]}

worker.run()  # until SIGTERM
"""

from __future__ import annotations

from tessera.worker.acts import Failed, Park, Release, Split, Stopped, Unfit
from tessera.worker.context import Context
from tessera.worker.reports import Listener, Report
from tessera.worker.worker import Worker

__all__ = [
    "Context",
    "Failed",
    "Listener",
    "Park",
    "Release",
    "Report",
    "Split",
    "Stopped",
    "Unfit",
    "Worker",
]
