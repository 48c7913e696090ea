"""The conformance suite against a service that it did not start, on a clock that nobody pushes."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import tessera

ROOT = Path(__file__).parent.parent
PATIENCE_SECONDS = 120
EVERYTHING = {
    "effect_classes": ["read", "write-internal", "write-repo", "public"], "scopes": ["admin", "store"]
}  # fmt: skip
# Stops what runs, starts it again, and notes its process: what an operator's own command would do.
RESTART = """
cd {folder}
if [ -f pid ]; then
  kill $(cat pid)
  while kill -0 $(cat pid) 2> /dev/null; do sleep 0.05; done
fi
{python} -m tessera.cli.main serve --store store.db --port {port} > url 2>> log < /dev/null &
echo $! > pid
"""
# One for each of what the suite is told: the restart, the log, the key and the address.
FILES = ["conformance/test_t14_restart.py::test_a_restart_mid_run_loses_and_doubles_nothing",
         "conformance/service/test_t16_secrets.py"]  # fmt: skip


@pytest.fixture
def remote(tmp_path: Path) -> Iterator[dict[str, str]]:
    """A service with a key for everything, and what the suite is told of it."""
    with tessera.open(str(tmp_path / "store.db")) as owner:
        approval = owner.issue_approval(**EVERYTHING).approval
        key = owner.issue_key(approval=approval, **EVERYTHING).key
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    restart = tmp_path / "restart"
    restart.write_text(RESTART.format(folder=tmp_path, python=sys.executable, port=port))
    subprocess.run(["sh", str(restart)], check=True, timeout=PATIENCE_SECONDS)
    try:
        url = f"http://127.0.0.1:{port}"
        _wait_for(url, key)
        yield {
            "TESSERA_URL": url, "TESSERA_KEY": key, "TESSERA_RESTART_CMD": f"sh {restart}",
            "TESSERA_LOG_PATH": str(tmp_path / "log"), "BACKEND": "http",
        }  # fmt: skip
    finally:
        os.kill(int((tmp_path / "pid").read_text()), signal.SIGTERM)


def test_the_suite_judges_a_service_elsewhere(remote: dict[str, str]) -> None:
    """Told an address, a key, a restart and a log, the suite passes on a service that it did not start, and
    leaves it running.
    """
    suite = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-o", "addopts=", *FILES],
        cwd=ROOT, env={**os.environ, **remote}, capture_output=True, text=True, timeout=PATIENCE_SECONDS,
        check=False,
    )  # fmt: skip
    assert suite.returncode == 0, suite.stdout[-4_000:]
    assert " passed" in suite.stdout
    with tessera.Client(remote["TESSERA_URL"], remote["TESSERA_KEY"]) as client:
        assert client.health().db_ok


def _wait_for(url: str, key: str) -> None:
    """Until it answers: the client's own patience with a service that is starting, and a little more."""
    end = time.monotonic() + PATIENCE_SECONDS
    with tessera.Client(url, key) as client:
        while True:
            try:
                client.health()
                return
            except tessera.TesseraError:
                if time.monotonic() > end:
                    raise
