"""What a newcomer pastes, page by page: every block of Python and shell runs, in order, and once more."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
BLOCK = re.compile(r"^```(sh|python)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
PATIENCE_SECONDS = 120  # on a machine that is busy with something else
# A refusal of the service counts as a failure, and nothing in the background outlives the session.
PROLOGUE = """
set -euo pipefail
trap 'kill $(jobs -p) 2> /dev/null || true' EXIT
curl() { command curl --fail-with-body "$@"; }
"""
# Each page, what comes before it, and what it says in an empty folder and once more in the same one.
PASTED = [
    (
        "README.md",
        "",
        ['"task_id":"pr-9"', "}\n200\n", '"state":"done","wait_reason"'],
        ["\n204\n", '"replayed":true'],
    ),
    ("docs/guides/service.md", "", ['"claimed_at"', '"replayed":false'], ['"replayed":true']),
    ("docs/guides/client.md", "", ["done ", "['ready', 'ready']"], ["done ", "['ready', 'ready']"]),
    ("docs/guides/workers.md", "", [], []),
    ("docs/guides/backup.md", "tessera queues define review", ["is restored from"], ["is restored from"]),
    ("docs/guides/upgrading.md", "tessera queues define review", ["is restored from"], ["is restored from"]),
    (
        "docs/guides/lite.md",
        "",
        ['"status":"claimed"', "task_letter", "1 claims compared, ids checked"],
        ['"status":"no_tasks"', "ids checked"],
    ),
    (
        "docs/guides/recall.md",
        "",
        ["nouns/keys.md", "Given up before:"],
        ["nouns/keys.md", "Given up before:"],
    ),
    (
        "docs/guides/observability.md",
        "",
        ['tessera_tasks{queue="review",state="ready"} 0.0', "tessera_claims_limit 24.0"],
        ["tessera_claims_limit 24.0"],
    ),
    ("examples/README.md", "", [": done\n"], [": done\n"]),
]


def free_port() -> str:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return str(free.getsockname()[1])


def session(page: Path, folder: Path, port: str) -> str:
    """The page as one shell script. Python that begins with `# NAME.py` is saved under that name, for the
    shell to run; other Python runs where it stands, together with what follows before the next shell. The
    service has a free port instead of its own, its figures another.
    """
    script, python = [f"export TESSERA_PORT={port}"], ""
    text = page.read_text(encoding="utf-8").replace("8787", port).replace("9464", free_port())
    for number, (language, block) in enumerate(BLOCK.findall(text)):
        if named := re.match(r"# (\w+\.py)\n", block):
            (folder / named[1]).write_text(block, encoding="utf-8")
        elif language == "python":
            python += block
            continue
        if python:
            script.append(_program(folder / f"{page.stem}_{number}.py", python))
        script.append("" if named else block)
        python = ""
    if python:
        script.append(_program(folder / f"{page.stem}.py", python))
    return "\n".join(script)


def _program(path: Path, text: str) -> str:
    path.write_text(text, encoding="utf-8")
    return f"python -W error {path.name}"


def paste(script: str, folder: Path) -> str:
    """Run a session in a folder; gives what it said."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("TESSERA_")}
    env["PATH"] = f"{Path(sys.executable).parent}:{env['PATH']}"
    process = subprocess.Popen(
        ["bash", "-c", PROLOGUE + script], cwd=folder, env=env,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    try:
        said, errors = process.communicate(timeout=PATIENCE_SECONDS)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == 0, said + errors
    assert "Traceback" not in errors
    return said


@pytest.mark.parametrize(("name", "before", "first", "again"), PASTED)
def test_pages_can_be_pasted(
    name: str, before: str, first: list[str], again: list[str], tmp_path: Path
) -> None:
    """Every block of a page works in an empty folder, in order, and does so again in the same folder."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    script = session(ROOT / name, tmp_path, free_port())
    for phrases in (first, again):
        said = paste(f"{before}\n{script}", tmp_path)

        assert [phrase for phrase in phrases if phrase not in said] == [], said


def test_pages_can_be_pasted_one_after_another(tmp_path: Path) -> None:
    """Who reads on in the same folder and shell finds that no page stands in the way of the next."""
    guides = [ROOT / "docs" / "guides" / f"{name}.md" for name in ("service", "client", "workers", "backup")]
    port = free_port()
    pages = [ROOT / "README.md", *guides]

    said = paste("\n".join(session(page, tmp_path, port) for page in pages), tmp_path)

    assert "Nothing needs you to act." in said
