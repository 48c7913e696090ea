"""A pipeline: each step starts when those it depends on have ended, and finds their outputs on its lease.

python examples/pipeline.py
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import tessera
from tessera.library import Tessera
from tessera.models import Lease
from tessera.worker import Context, Failed, Worker

CITIES = {"oslo": [3, -1, 2], "cairo": [29, 31, 30], "atlantis": []}


def plan(store: Tessera, day: str) -> str:
    """Every step of a day. Ids of our own make it safe to plan the same day twice: known tasks stay."""
    measured = [
        store.enqueue(queue="weather", kind="measure", task_id=f"{day}:{city}", brief={"city": city})
        for city in CITIES
    ]
    return store.enqueue(
        queue="weather", kind="report", task_id=f"{day}:report", brief={"day": day}, depends_on=measured
    )


def measure(lease: Lease, context: Context) -> Any:
    """One city's mean. Where there is nothing to measure, the attempt fails with this text."""
    degrees = CITIES[lease.brief["city"]]
    if not degrees:
        raise Failed(f"no thermometer in {lease.brief['city']}")
    return {"city": lease.brief["city"], "mean": sum(degrees) / len(degrees)}


def report(lease: Lease, context: Context) -> Any:
    """A dependency that died still lets its dependents go on: they see what happened, and decide."""
    found = [one.output for one in lease.dependencies if one.state == "done"]
    missing = [one.task_id.partition(":")[2] for one in lease.dependencies if one.state != "done"]
    return {"warmest": max(found, key=lambda one: one["mean"])["city"], "without": missing}


with tempfile.TemporaryDirectory() as folder, tessera.open(str(Path(folder) / "store.db")) as store:
    store.define_queue("weather", max_attempts=2, backoff_base_seconds=0)
    last = plan(store, "2026-11-30")
    assert plan(store, "2026-11-30") == last
    view = store.task(last)
    print(f"{view.task_id} waits for {view.pending_deps} others.")

    worker = Worker("weather", store, name="station", parallel=2)
    worker.handles("measure")(measure)
    worker.handles("report")(report)
    worker.run(drain=True)

    output = store.results(last)[0].output
    print(f"Warmest: {output['warmest']}; without {', '.join(output['without'])}.")
    dead = store.task("2026-11-30:atlantis")
    print(f"Why: {dead.last_error}, after {dead.failures} tries.")
