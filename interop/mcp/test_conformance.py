"""The protocol's own conformance suite."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from service.running import Running

from interop.mcp.applies import APPLY, applies_not
from interop.mcp.conftest import Run
from interop.mcp.keyed import keyed

SUITE = "conformance/dist/index.js"


@pytest.fixture(scope="module")
def url(service: Running) -> Iterator[str]:
    """Where the suite finds the service, without a key."""
    with keyed(service, service.admin) as url:
        yield url


def test_every_scenario_is_accounted_for(run: Run) -> None:
    """The suite has no scenario of these revisions, or of an extension, that nobody has decided about; and
    those that are said to apply are there.
    """
    listed = run(SUITE, "list", "--server").stdout
    scenarios = {name: tags.split(",") for name, tags in re.findall(r"- ([\w-]+) \[(.*)\]", listed)}

    for name, tags in scenarios.items():
        applies = {revision for revision, names in APPLY.items() if name in names}
        assert applies or applies_not(name), name
        assert applies <= set(tags), name
    assert {name for names in APPLY.values() for name in names} <= scenarios.keys()


@pytest.mark.parametrize(
    ("revision", "scenario"), [(revision, name) for revision, names in APPLY.items() for name in names]
)
def test_a_scenario_passes(run: Run, url: str, tmp_path: Path, revision: str, scenario: str) -> None:
    """Of what applies every check passes, and exactly those fail that cannot be met here."""
    ran = run(
        SUITE, "server", "--url", url, "--scenario", scenario, "--spec-version", revision,
        "-o", str(tmp_path),
    )  # fmt: skip
    (results,) = tmp_path.rglob("checks.json")
    checks: list[dict[str, Any]] = json.loads(results.read_text())
    failed = {one["id"]: one.get("errorMessage") for one in checks if one["status"] == "FAILURE"}

    assert failed.keys() == APPLY[revision][scenario].keys(), (failed, ran.stdout)
    assert [one for one in checks if one["status"] == "SUCCESS"]
