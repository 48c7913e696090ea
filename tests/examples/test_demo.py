"""The demo as a newcomer runs it: a process that starts others, and leaves none."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import tessera

ROOT = Path(__file__).parents[2]
PATIENCE_SECONDS = 240  # on a machine that is busy with something else


def command(out: Path, *more: str) -> list[str]:
    return [sys.executable, "-m", "examples.stdlib_swarm", "--workers", "2", "--out", str(out), *more]


@contextmanager
def started(out: Path) -> Iterator[subprocess.Popen[str]]:
    """A demo in which workers hold leases; killed at the end if it has not ended."""
    process = subprocess.Popen(
        command(out), cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=1
    )
    try:
        assert process.stdout is not None
        assert any("leased" in line for line in process.stdout)
        yield process
    finally:
        process.kill()
        process.communicate()


def workers_of(out: Path) -> list[int]:
    """The processes of the workers at a folder's service that live."""
    return processes(f"stdlib_swarm.worker --store {(out / 'url').read_text()} ")


def processes_of(out: Path) -> list[int]:
    """The same, and the service."""
    return workers_of(out) + processes(f"examples.serving {out / 'store.db'}")


def processes(named: str) -> list[int]:
    """The processes whose command line has this in it."""
    listing = subprocess.run(
        ["ps", "-axww", "-o", "pid=,stat=,args="], capture_output=True, text=True, check=True
    ).stdout
    found = (line.split(maxsplit=2) for line in listing.splitlines())
    return [int(pid) for pid, state, args in found if named in f"{args} " and not state.startswith("Z")]


def gone(out: Path) -> bool:
    """Whether every worker, and the service, ends within the time we have."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while processes_of(out) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not processes_of(out)


def test_demo(tmp_path: Path) -> None:
    """On three small packages all holds: a kill, a retry, an approval, every receipt, the report; no warning
    is given and no process left.
    """
    out = tmp_path / "demo"
    ran = subprocess.run(
        command(Path("demo"), "--packages", "json,html,tomllib", "--pace", "0.4"),
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "error"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (ran.returncode, ran.stderr) == (0, ""), ran.stdout
    assert processes_of(out) == []
    said_by_workers = (out / "workers.log").read_text().splitlines()
    assert [line for line in said_by_workers if not line.startswith(("failed: ", "lost: "))] == []
    assert "Traceback" not in (out / "service.log").read_text()
    for said in ("receipts verify", "was killed with token", "parked by one key", "of 1 tasks with a failed"):
        assert said in ran.stdout
    assert (out / "report.md").read_text().startswith("# ")
    with tessera.open(str(out / "store.db")) as store:
        assert store.task("report").state == "done"
        assert store.counts(recount=True).agree
    shown = [line for line in ran.stdout.splitlines() if "--store" in line]
    assert len(shown) == 4
    for line in shown:  # as pasted into a shell in which nothing is activated
        subprocess.run(
            ["sh", "-c", line], cwd=tmp_path, check=True, stdout=subprocess.DEVNULL,
            env={"PATH": "/usr/bin:/bin", "PYTHONPATH": os.environ.get("PYTHONPATH", "")},
        )  # fmt: skip


def test_interrupted_and_run_again(tmp_path: Path) -> None:
    """Ctrl-C ends the demo with all its workers, lets go of the folder, and a second run starts afresh."""
    for _ in range(2):
        with started(tmp_path) as process:
            assert len(workers_of(tmp_path)) >= 1
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=PATIENCE_SECONDS)

        assert (process.returncode, errors) == (130, "interrupted: every worker was told to end\n")
        assert processes_of(tmp_path) == []


def test_terminated(tmp_path: Path) -> None:
    """SIGTERM ends it just so."""
    with started(tmp_path) as process:
        process.terminate()
        process.communicate(timeout=PATIENCE_SECONDS)

    assert process.returncode == 130
    assert processes_of(tmp_path) == []


def test_killed(tmp_path: Path) -> None:
    """When the parent is killed and can end nobody, its workers and the service end by themselves."""
    with started(tmp_path) as process:
        process.kill()

    assert gone(tmp_path)


def test_worker_that_dies(tmp_path: Path) -> None:
    """A worker that nobody killed and that ended all the same stops the demo, and nothing stays behind."""
    with started(tmp_path) as process:
        os.kill(workers_of(tmp_path)[0], signal.SIGKILL)
        _, errors = process.communicate(timeout=PATIENCE_SECONDS)

    assert process.returncode == 1
    assert errors.startswith("error: worker-")
    assert processes_of(tmp_path) == []


@pytest.mark.parametrize(
    "arguments",
    [
        ["--workers", "0"],
        ["--pace", "0"],
        ["--pace", "nan"],
        ["--packages", "no_such"],
        ["--packages", "../x"],
    ],
)
def test_wrong_usage(arguments: list[str], tmp_path: Path) -> None:
    """What cannot be meant is refused before anything is made."""
    out = tmp_path / "demo"
    ran = subprocess.run(command(out, *arguments), cwd=ROOT, capture_output=True, text=True, check=False)

    assert ran.returncode == 2
    assert not out.exists()


def test_somebody_elses_folder(tmp_path: Path) -> None:
    """A folder that no demo made is refused with one line and left alone."""
    (tmp_path / "thesis.txt").write_text("years")
    ran = subprocess.run(command(tmp_path), cwd=ROOT, capture_output=True, text=True, check=False)

    assert ran.returncode == 1
    assert ran.stderr == f"error: {tmp_path} was not made by this demo: choose another folder with --out\n"
    assert [entry.name for entry in tmp_path.iterdir()] == ["thesis.txt"]
