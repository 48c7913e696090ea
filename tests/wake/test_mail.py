"""`tessera message send --wake`: mail that also rings."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from wake.conftest import Daemon, until


@pytest.fixture
def mail(daemon: Daemon, tmp_path: Path) -> Daemon:
    """The daemon's surroundings with a catalog of two agents beside them."""
    daemon.env = daemon.env | {"TESSERA_CATALOG": str(tmp_path / "catalog"), "TESSERA_AGENT": "dev3.builder"}
    for agent in ("dev3.builder", "dev4.reviewer"):
        assert message(daemon, "agents", "add", agent).returncode == 0
    return daemon


def message(daemon: Daemon, *words: str) -> subprocess.CompletedProcess[str]:
    """A command of `tessera message`."""
    return subprocess.run(
        [sys.executable, "-m", "tessera.cli.main", "message", *words],
        env=daemon.env, text=True, capture_output=True, timeout=60, check=False,
    )  # fmt: skip


def test_a_message_rings(mail: Daemon) -> None:
    """The endpoint that has the recipient's name is told who wrote, about what, and how to read it; the same
    message again rings nobody twice.
    """
    mail.start()
    out = mail.folder / "out.txt"
    mail.register("file", {"path": str(out)}, name="dev4.reviewer")
    words = (
        "send",
        "dev4.reviewer",
        "--subject",
        "pull 7",
        "-m",
        "please",
        "--wake",
        "--idempotency-key",
        "k",
    )
    first, again = message(mail, *words), message(mail, *words)

    assert (first.returncode, first.stderr) == (0, "")
    assert again.stdout == first.stdout
    filename = first.stdout.strip()
    text = until(lambda: out.exists() and out.read_text(), "the wake")
    assert f"Mail from dev3.builder: pull 7. Read it with: tessera message read {filename}" in text
    assert len(mail.client.call("history")["messages"]) == 1
    assert "please" in message(mail, "read", "dev4.reviewer", filename).stdout


def test_nobody_to_ring(mail: Daemon) -> None:
    """Without a service, and without an endpoint of that name, the message is sent and stderr says why nobody
    was woken.
    """
    sent = message(mail, "send", "dev4.reviewer", "-m", "one", "--wake")
    assert sent.returncode == 0
    assert sent.stderr.startswith("sent, but nobody was woken: ")
    assert "tessera wake serve" in sent.stderr
    mail.start()
    mail.register("file", {"path": str(mail.folder / "out.txt")}, name="another")
    sent = message(mail, "send", "dev4.reviewer", "-m", "two", "--wake")
    assert sent.returncode == 0
    assert "no live endpoint is named dev4.reviewer" in sent.stderr
    assert message(mail, "ls", "dev4.reviewer", "--count").stdout == "2\n"
