"""The conformance suite's own tools: its lock, its refusal to run when changed, its proof on nothing."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from conformance import lock, stub

ROOT = Path(__file__).parent.parent


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    """A small folder with a locked suite of three files."""
    folder = tmp_path / "conformance"
    (folder / "backends").mkdir(parents=True)
    (folder / "test_one.py").write_text("one\n")
    (folder / "spec.md").write_text("two\n")
    (folder / "backends" / "vectors.json").write_text("3\n")
    (folder / "notes.txt").write_text("nobody minds\n")
    lock.write(tmp_path)
    return tmp_path


def copied(folder: Path) -> Path:
    """The real suite in a folder of its own, locked there."""
    shutil.copytree(
        ROOT / "conformance", folder / "conformance", ignore=shutil.ignore_patterns("__pycache__")
    )
    shutil.copy(ROOT / "pyproject.toml", folder)
    assert run(folder, "conformance.lock").returncode == 0
    return folder


def run(folder: Path, module: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A module of the suite as a program."""
    return subprocess.run(
        [sys.executable, "-m", module, *arguments],
        cwd=folder,
        env=os.environ | {"BACKEND": "store", "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_an_untouched_suite_is_as_it_was_locked(suite: Path) -> None:
    """Right after locking there is no drift, and only files that matter are locked."""
    assert lock.drift(suite) == lock.Drift(changed=[], missing=[], added=[])
    paths = [line.split("  ")[1] for line in (suite / lock.LOCK).read_text().splitlines()]
    assert paths == ["conformance/backends/vectors.json", "conformance/spec.md", "conformance/test_one.py"]


def test_a_line_of_the_lock_is_one_of_sha256sum(suite: Path) -> None:
    """Each line is a file's SHA-256 in hex, two spaces, and its path, so other tools can check it too."""
    for line in (suite / lock.LOCK).read_text().splitlines():
        digest, path = line.split("  ")
        assert digest == hashlib.sha256((suite / path).read_bytes()).hexdigest()


def test_changed_and_missing_files_are_refused_by_name(suite: Path) -> None:
    """A changed byte and a file that is gone both refuse the suite, and the refusal names them."""
    (suite / "conformance" / "spec.md").write_text("two, but softer\n")
    (suite / "conformance" / "test_one.py").unlink()
    found = lock.drift(suite)
    assert found.refused
    assert found.lines() == ["changed: conformance/spec.md", "missing: conformance/test_one.py"]
    assert "make lock-suite" in lock.refusal(found)


def test_an_added_file_is_allowed_and_named(suite: Path) -> None:
    """A new file takes no claim away, so the suite runs and says that nothing vouches for it."""
    (suite / "conformance" / "test_two.py").write_text("new\n")
    found = lock.drift(suite)
    assert not found.refused
    assert found.lines() == ["added: conformance/test_two.py"]


def test_a_suite_without_its_lock_is_refused(suite: Path) -> None:
    """Deleting the lock is no way around it."""
    (suite / lock.LOCK).unlink()
    assert lock.drift(suite).refused


def test_the_lock_as_a_program(tmp_path: Path) -> None:
    """`--check` answers 0 as locked, 0 with an added file, 1 with a changed one; all else is misuse."""
    folder = copied(tmp_path)
    assert run(folder, "conformance.lock", "--check").returncode == 0
    (folder / "conformance" / "test_more.py").write_text("# A file more.\n")
    added = run(folder, "conformance.lock", "--check")
    assert (added.returncode, "added: conformance/test_more.py" in added.stdout) == (0, True)
    with (folder / "conformance" / "audit.py").open("a") as file:
        file.write("# A softer rule.\n")
    changed = run(folder, "conformance.lock", "--check")
    assert (changed.returncode, "changed: conformance/audit.py" in changed.stderr) == (1, True)
    assert run(folder, "conformance.lock", "--force").returncode == 2


def test_a_changed_suite_does_not_run_until_it_is_locked_again(tmp_path: Path) -> None:
    """pytest itself refuses to start, names the file and the way out; locking on purpose opens it again."""
    folder = copied(tmp_path)
    with (folder / "conformance" / "test_t10_health.py").open("a") as file:
        file.write("# A softer rule.\n")
    tests = ("conformance/test_t10_health.py", "-q")
    refused = run(folder, "pytest", *tests)
    assert refused.returncode == 1
    assert "changed: conformance/test_t10_health.py" in refused.stdout + refused.stderr
    assert "make lock-suite" in refused.stdout + refused.stderr
    assert " passed" not in refused.stdout
    assert run(folder, "conformance.lock").returncode == 0
    assert run(folder, "pytest", *tests).returncode == 0


def test_every_test_of_the_suite_fails_on_nothing() -> None:
    """The stub run succeeds, which means that no test of the suite passes on a backend that does nothing."""
    ran = run(ROOT, "conformance.stub")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "Every test notices." in ran.stdout


def test_the_stub_run_names_a_test_that_proves_nothing(tmp_path: Path) -> None:
    """Tests that pass, skip or break on nothing each make the stub run fail, by name."""
    folder = copied(tmp_path)
    (folder / "conformance" / "test_idle.py").write_text(
        "import pytest\n"
        "def test_passes(bench):\n    assert bench.client.claim('q', 'w') is None\n"
        "def test_skips():\n    pytest.skip('later')\n"
        "def test_breaks(nothing_like_this):\n    pass\n"
    )
    ran = run(folder, "conformance.stub")
    assert ran.returncode == 1
    for name, outcome in (("test_passes", "passed"), ("test_skips", "skipped"), ("test_breaks", "not run")):
        assert f"{outcome} on a backend that does nothing: conformance/test_idle.py::{name}" in ran.stdout


def test_a_suite_that_cannot_be_collected_proves_nothing() -> None:
    """A file that breaks on import is not counted as a failure of its tests."""
    tally = stub.Tally(collected=["a", "b"], broken=["c.py"], outcomes={"a": "failed"})
    assert tally.unproven() == [
        "broken before or after its body: c.py",
        "not run on a backend that does nothing: b",
    ]
