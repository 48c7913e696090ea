"""A swarm of processes studies the Python standard library of this machine, and proves what it did.

The parent makes a store, serves it, gives out the work and watches. Workers reach it over HTTP with one key.
With another key the parent answers the task that asks for an approval. It kills a worker in the middle of a
lease, and in the end checks every promise against the store.
"""

from __future__ import annotations

import argparse
import shlex
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.text import Text

import tessera
from examples.serving import serving
from examples.stdlib_swarm.folder import NotOurs, demo_folder
from examples.stdlib_swarm.package import files_of
from examples.stdlib_swarm.plan import PACKAGES, PACKAGES_MAX, REPORT, Plan, plan_for, set_up
from examples.stdlib_swarm.reviewer import Reviewer
from examples.stdlib_swarm.summary import Run, checks, evidence, figures
from examples.stdlib_swarm.swarm import Strike, Swarm, WorkerDied
from examples.stdlib_swarm.views import view_on
from examples.stdlib_swarm.watch import Stalled, Watcher
from tessera.errors import TesseraError
from tessera.library import Tessera

LOOK_SECONDS: Final = 0.15
STRIKE_AT: Final = 0.1  # of the tasks done
PACE_MIN: Final = 0.1  # faster than this, no worker is ever caught in the middle of a lease


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the demo; returns the exit code."""
    asked = _arguments(arguments)
    console = Console(highlight=False)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C, so that nothing stays behind
    try:
        with demo_folder(asked.out) as folder, tessera.open(str(folder / "store.db")) as owner:
            run = _run(owner, asked, folder, console)
            _write_report(owner, folder)
            return _summary(owner, asked.plan, run, folder, console)
    except (NotOurs, WorkerDied, Stalled, TesseraError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted: every worker was told to end", file=sys.stderr)
        return 130


def _run(owner: Tessera, asked: argparse.Namespace, folder: Path, console: Console) -> Run:
    """Let the swarm work until its report is in. Whatever happens, no process outlives the `with`."""
    plan: Plan = asked.plan
    keys = set_up(owner, plan)
    strike: Strike | None = None
    start = time.monotonic()
    with (
        serving(folder / "store.db", folder / "service.log") as url,
        tessera.open(url, key=keys.reviewer) as reviewers,
        Swarm(url, keys.worker, asked.pace, folder / "workers.log") as swarm,
    ):
        (folder / "url").write_text(url)
        reviewer = Reviewer(reviewers)
        for _ in range(asked.workers):
            swarm.start_worker()
        watcher = Watcher(owner, swarm, plan.tasks)
        with view_on(console) as view:
            while (look := watcher.look()).unfinished:
                view.show(look)
                swarm.check()
                reviewer.look()
                if strike is None and look.done >= STRIKE_AT * plan.tasks:
                    strike = swarm.strike(owner)
                    if strike is not None:
                        watcher.note(f"{strike.worker} was killed while at {strike.what}; another is started")
                time.sleep(LOOK_SECONDS)
            view.show(look)
    return Run(plan.tasks, strike, keys.reviewer_id, time.monotonic() - start)


def _write_report(owner: Tessera, folder: Path) -> None:
    """The pages as the report task handed them in."""
    for result in owner.results(REPORT):
        if result.ok:
            for name, file in result.output["files"].items():
                (folder / name).write_text(file["text"], encoding="utf-8")


def _summary(owner: Tessera, plan: Plan, run: Run, folder: Path, console: Console) -> int:
    """Say what happened and whether it is what was promised; returns the exit code."""
    seen = evidence(owner)
    console.print()
    for name, figure in figures(seen, run).items():
        console.print(Text(f"  {name:9}", "bold"), Text(figure), soft_wrap=True)
    console.print()
    for check in checks(seen, run, folder):
        if not check.holds:
            console.print(Text("  WRONG ", "bold red"), Text(check.claim), soft_wrap=True)
            return 1
        console.print(Text("  ok ", "green"), Text(check.claim), soft_wrap=True)
    store = shlex.quote(str(folder / "store.db"))
    command = _command()
    console.print(
        f"""
The report: {folder / "report.html"} (and report.md beside it)

Look around in the store:
  {command} tasks list --kind package --store {store}
  {command} tasks show study-{plan.asks_first} --store {store}
  {command} counts --recount --store {store}
  {command} events --store {store}""",
        markup=False,
        soft_wrap=True,
    )
    return 0


def _command() -> str:
    """How a shell in this folder reaches `tessera`: it stands beside the interpreter, on PATH or not."""
    path = Path(sys.executable).with_name("tessera")
    return shlex.quote(str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path))


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    assert __doc__ is not None
    parser = argparse.ArgumentParser(
        prog="python -m examples.stdlib_swarm", description=__doc__.split("\n")[0]
    )
    parser.add_argument("--workers", type=int, default=4, metavar="N", help="how many processes: 1 to 32 (4)")
    parser.add_argument("--out", type=Path, default=Path("demo"), help="folder for store and report (demo)")
    parser.add_argument("--packages", metavar="A,B,…", help=f"which to study ({len(PACKAGES)} of them)")
    parser.add_argument(
        "--pace", type=float, default=0.7, metavar="SECONDS",
        help="how long a worker reads a thousand lines, so that there is something to see (0.7)",
    )  # fmt: skip
    asked = parser.parse_args(arguments)
    if not 1 <= asked.workers <= 32:
        parser.error("--workers: 1 to 32")
    if not PACE_MIN <= asked.pace <= 60:
        parser.error(f"--pace: {PACE_MIN} to 60")
    try:
        asked.plan = plan_for(asked.packages.split(",") if asked.packages else filter(files_of, PACKAGES))
    except LookupError as error:
        parser.error(str(error))
    if len(asked.plan.packages) > PACKAGES_MAX:
        parser.error(f"--packages: at most {PACKAGES_MAX}")
    return asked


if __name__ == "__main__":
    sys.exit(main())
