"""The small examples."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import tessera
from tessera.testing import serving

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("hello.py", ["Hello, world!", "is done; its receipt is"]),
        ("human_approval.py", ["Send this to the team?", "may not answer itself", "the task is done"]),
        ("map_reduce.py", ["'swarm': 2", "4 tasks are done; the receipt is"]),
        ("pipeline.py", ["waits for 3 others", "Warmest: cairo; without atlantis", "after 2 tries"]),
    ],
)
def test_small_examples_run(name: str, lines: list[str], tmp_path: Path) -> None:
    """Each runs from anywhere, says what it shows, and leaves nothing behind."""
    ran = subprocess.run(
        [sys.executable, "-W", "error", EXAMPLES / name],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    # An attempt fails on purpose.
    said = [line for line in ran.stderr.splitlines() if not line.startswith("failed: ")]
    assert (ran.returncode, said) == (0, [])
    assert all(line in ran.stdout for line in lines)
    assert list(tmp_path.iterdir()) == []


def test_hello_is_short() -> None:
    """The first example fits on a screen."""
    assert len((EXAMPLES / "hello.py").read_text().splitlines()) <= 30


def test_coding_swarm(tmp_path: Path) -> None:
    """Three chores end as three commits, each asked for and answered; what a key does not hold is refused."""
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-m", "examples.coding_swarm"],
        cwd=EXAMPLES.parent,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (ran.returncode, ran.stderr) == (0, "")
    assert "A scout that wants to write: the key lacks" in ran.stdout
    assert ran.stdout.count("The merger may not say so itself (scope_denied); the maintainer does.") == 3
    assert ran.stdout.count("\nChore: ") == 3
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def shell_work(tmp_path: Path) -> Iterator[Callable[..., subprocess.CompletedProcess[str]]]:
    """Runs the shell worker on a queue of a service; the store's owner is its attribute."""
    path = tmp_path / "store.db"
    with tessera.open(str(path)) as owner, serving(path) as service:
        owner.define_queue("q", heartbeat_seconds=1, miss_limit=2, max_attempts=1)
        key = owner.issue_key(queues=["q"]).key

        def run(*command: str) -> subprocess.CompletedProcess[str]:
            return subprocess.run(
                ["sh", str(EXAMPLES / "shell_worker.sh"), service.url, "q", *command],
                env={**os.environ, "TESSERA_KEY": key, "TMPDIR": str(tmp_path / "tmp")},
                capture_output=True,
                text=True,
                check=False,
            )

        (tmp_path / "tmp").mkdir()
        run.owner = owner
        yield run
        assert list((tmp_path / "tmp").iterdir()) == []


def test_shell_worker(shell_work: Any) -> None:
    """With curl and jq alone a task is claimed, kept alive past its lease and handed in."""
    brief = {"words": ["a", "b"], "task_id": "not mine", "fencing_token": 9}
    task_id = shell_work.owner.enqueue(queue="q", kind="k", brief=brief)

    ran = shell_work("sh", "-c", "sleep 2.5; jq -c '{count: (.words | length)}'")

    [result] = shell_work.owner.results(task_id)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, f"{task_id}: done\n", "")
    assert (result.output, result.idempotency_key) == ({"count": 2}, f"{task_id}:1")


@pytest.mark.parametrize("command", ["echo it rained >&2; exit 1", "echo it rained >&2; echo no JSON"])
def test_shell_worker_that_fails(shell_work: Any, command: str) -> None:
    """A command that fails, or writes no JSON, fails the task with what it said."""
    task_id = shell_work.owner.enqueue(queue="q", kind="k", brief={})

    ran = shell_work("sh", "-c", command)

    assert (ran.returncode, ran.stdout) == (0, f"{task_id}: dead\n")
    assert shell_work.owner.task(task_id).last_error.startswith("it rained\n")


@pytest.mark.parametrize(
    ("arguments", "key", "said"),
    [
        ([], "k", "usage: TESSERA_KEY=... sh shell_worker.sh URL QUEUE COMMAND..."),
        (["http://127.0.0.1:1", "q"], "k", "usage: "),
        (["http://127.0.0.1:1", "q", "cat"], "", "TESSERA_KEY: holds no key: tessera keys issue"),
    ],
)
def test_shell_worker_says_how_it_is_used(arguments: list[str], key: str, said: str) -> None:
    """Without its arguments or a key it names what is missing, and asks nobody."""
    ran = subprocess.run(
        ["sh", str(EXAMPLES / "shell_worker.sh"), *arguments],
        env={**os.environ, "TESSERA_KEY": key}, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert ran.returncode != 0
    assert said in ran.stderr
