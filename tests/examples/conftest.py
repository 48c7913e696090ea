"""A swarm without processes: the demo's own plan, worker and reviewer on a scripted clock."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from examples.stdlib_swarm.plan import REPORT, Keys, Plan, plan_for, set_up
from examples.stdlib_swarm.reviewer import Reviewer
from examples.stdlib_swarm.summary import Evidence, Run, evidence
from examples.stdlib_swarm.swarm import Strike
from examples.stdlib_swarm.worker import worker_at
from tessera.library import Tessera
from tessera.testing import World, temporary_store

LAPSE_SECONDS = 3  # of the queue `study`


class InProcess:
    """One worker, called by hand."""

    def __init__(self, store: Tessera, world: World, packages: Sequence[str]) -> None:
        self.store = store
        self.world = world
        self.plan: Plan = plan_for(packages)
        self.keys: Keys = set_up(store, self.plan)
        self.worker = worker_at(store.as_key(self.keys.worker), "worker-1")
        self.reviewer = Reviewer(store.as_key(self.keys.reviewer), thinking_seconds=0)

    def step(self) -> None:
        """Carry one lease; when there is none, let a second pass and the reviewer look."""
        if self.worker.run_once() is None:
            self.reviewer.look()
            self.world.pass_seconds(1)

    def finish(self) -> None:
        """Step until the report is in."""
        while self.store.task(REPORT).state != "done":
            self.step()

    def strike(self) -> Strike:
        """Take a file as a worker that is never heard of again."""
        while True:
            lease = self.store.as_key(self.keys.worker).claim("study", "worker-9", ["file"])
            if lease is None:
                self.step()
            elif lease.brief["stumble"]:
                self.store.release(lease.task_id, lease.fencing_token)
                self.step()
            else:
                self.world.pass_seconds(LAPSE_SECONDS)
                return Strike("worker-9", lease.task_id, lease.fencing_token, lease.brief["file"])

    def run(self, folder: Path) -> Run:
        """The whole demo, its report written to the folder."""
        strike = self.strike()
        self.finish()
        for name, file in self.store.results(REPORT)[-1].output["files"].items():
            (folder / name).write_text(file["text"], encoding="utf-8")
        return Run(self.plan.tasks, strike, self.keys.reviewer_id, seconds=1)


@pytest.fixture
def swarm_on(store: Tessera, world: World) -> Callable[..., InProcess]:
    """Starts a swarm on the named packages."""
    return lambda *packages: InProcess(store, world, packages)


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> tuple[Evidence, Run, Path]:
    """What a run with a kill, a retry and an approval leaves behind, and the folder of its report."""
    folder, world = tmp_path_factory.mktemp("demo"), World()
    with temporary_store(world) as store:
        run = InProcess(store, world, ["json", "tomllib"]).run(folder)
        return evidence(store), run, folder
