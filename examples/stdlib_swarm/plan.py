"""What the swarm is given: queues, keys, one task per package, and the report that waits for them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from examples.stdlib_swarm.package import files_of
from examples.stdlib_swarm.work import WAVE
from tessera.library import Tessera

PACKAGES: Final = (
    "asyncio", "collections", "concurrent", "curses", "dbm", "email", "html", "http", "importlib", "json",
    "logging", "multiprocessing", "re", "sqlite3", "tomllib", "unittest", "urllib", "wsgiref", "xml",
    "xmlrpc", "zoneinfo",
)  # fmt: skip
PACKAGES_MAX: Final = 100  # a task may wait for this many
REPORT: Final = "report"  # the last task's id; readable ids are the enqueuer's choice


@dataclass(frozen=True, slots=True)
class Plan:
    """The packages and their files, and what is staged so that there is something to see."""

    packages: dict[str, list[str]]
    asks_first: str  # the package whose task parks for an approval
    stumbles_on: str  # the file whose first attempt fails

    @property
    def tasks(self) -> int:
        """How many tasks there will be: per package itself, its files and one after each wave; the report."""
        counts = [len(files) for files in self.packages.values()]
        return sum(1 + count + -(-count // WAVE) for count in counts) + 1


@dataclass(frozen=True, slots=True)
class Keys:
    """The secrets of the two keys, and the id under which the log names the reviewer's."""

    worker: str
    reviewer: str
    reviewer_id: str


def plan_for(names: Iterable[str]) -> Plan:
    """A plan for these packages; each must have source on this machine."""
    packages = {name: files_of(name) for name in names}
    without = [name for name, files in packages.items() if not files]
    if without or not packages:
        raise LookupError(f"no source on this machine: {', '.join(without) or 'the standard library'}")
    by_size = sorted(packages, key=lambda name: (-len(packages[name]), name))
    return Plan(packages, asks_first=by_size[0], stumbles_on=packages[by_size[-1]][-1])


def set_up(owner: Tessera, plan: Plan) -> Keys:
    """Fill a new store. All tasks but those that workers make by splitting are known from the start."""
    # Three missed beats of a second: a dead worker's task is somebody else's soon enough to watch.
    owner.define_queue(
        "study", heartbeat_seconds=1, miss_limit=3, lease_seconds=60, max_attempts=5, backoff_base_seconds=1,
        backoff_cap_seconds=4,
    )  # fmt: skip
    owner.define_queue("report", heartbeat_seconds=5, lease_seconds=120)
    ids = [
        owner.enqueue(
            queue="study",
            kind="package",
            task_id=f"study-{package}",
            brief={
                "package": package,
                "ask_first": package == plan.asks_first,
                "stumble_on": plan.stumbles_on if plan.stumbles_on in files else None,
            },
        )
        for package, files in plan.packages.items()
    ]
    owner.enqueue(queue="report", kind="report", task_id=REPORT, depends_on=ids, brief={"packages": len(ids)})

    # Workers may take and hand in work that changes nothing; whoever answers them needs a key of another.
    worker = owner.issue_key(name="workers", queues=["study", "report"], effect_classes=["read"], days=1)
    reviewer = owner.issue_key(name="reviewer", queues=["study"], effect_classes=["read"], days=1)
    return Keys(worker.key, reviewer.key, reviewer.grant.key_id)
