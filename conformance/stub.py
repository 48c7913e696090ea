"""`python -m conformance.stub` runs the suite on a backend that does nothing. Every test must fail there.

A test that passes on nothing proves nothing, so the exit code is 0 only if each function fails in its own
body: none passes, none is skipped, none breaks before it begins.
"""

from __future__ import annotations

import io
import os
import sys
from collections import Counter
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path

import pytest


@dataclass(eq=False)  # pytest looks plugins up by identity
class Tally:
    """A pytest plugin that notes what became of each test."""

    collected: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    outcomes: dict[str, str] = field(default_factory=dict)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self.collected = [item.nodeid for item in session.items]

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if not report.passed:
            self.broken.append(report.nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call":
            self.outcomes[report.nodeid] = report.outcome
        elif not report.passed:
            self.broken.append(report.nodeid)

    def unproven(self) -> list[str]:
        """One line for each test that did not fail as it must."""
        lines = [f"broken before or after its body: {nodeid}" for nodeid in self.broken]
        for nodeid in self.collected:
            outcome = self.outcomes.get(nodeid, "not run")
            if outcome != "failed":
                lines.append(f"{outcome} on a backend that does nothing: {nodeid}")
        return lines


def main() -> int:
    """Run the suite on nothing: 0 if every test fails, else 1 naming those that do not."""
    os.environ["BACKEND"] = "empty"
    tally = Tally()
    suite = str(Path(__file__).resolve().parent)
    said = io.StringIO()
    with redirect_stdout(said):
        code = pytest.main([suite, "-p", "no:cacheprovider", "--tb=no"], plugins=[tally])
    if not tally.outcomes:
        sys.stdout.write(said.getvalue())
    unproven = tally.unproven()
    counted = Counter(tally.outcomes.values())
    sys.stdout.write("".join(f"{line}\n" for line in unproven))
    sys.stdout.write(
        f"{counted['failed']} of {len(tally.collected)} tests fail on a backend that does nothing.\n"
    )
    proven = code == pytest.ExitCode.TESTS_FAILED and bool(tally.collected) and not unproven
    sys.stdout.write("Every test notices.\n" if proven else "The suite proves nothing like this.\n")
    return 0 if proven else 1


if __name__ == "__main__":
    raise SystemExit(main())
