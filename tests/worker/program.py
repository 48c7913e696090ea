"""A worker as a program: python program.py STORE_URL FOLDER. Its handlers say when they have begun."""

from __future__ import annotations

import sys
from pathlib import Path

from tessera.worker import Worker

url, folder = sys.argv[1], Path(sys.argv[2])
worker = Worker("q", url, name="program", grace_seconds=0.2, poll_seconds=600)


@worker.handles("wait")
def wait(lease, context):
    """Until told."""
    (folder / lease.task_id).touch()
    context.wait(60)


@worker.handles("deaf")
def deaf(lease, context):
    """Whatever one says."""
    (folder / lease.task_id).touch()
    __import__("time").sleep(60)


@worker.handles("finish")
def finish(lease, context):
    """Be quick about it once told."""
    (folder / lease.task_id).touch()
    while not context.stopping:
        context._told.wait(60)
    return "just in time"


worker.run()
