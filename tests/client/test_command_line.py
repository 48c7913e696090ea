"""Every command takes a service's URL for a store."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tessera.cli.main import COMMANDS, main


@pytest.fixture
def run(service, key):
    def run(*args: str, code: int = 0, **env: str) -> Any:
        env = {"TESSERA_STORE": service.url, "TESSERA_KEY": key, **env}
        result = CliRunner().invoke(main, args, env=env, prog_name="tessera")
        assert result.exit_code == code, result.output
        return result

    return run


def test_a_task_from_its_queue_to_its_receipt(run) -> None:
    """Define, enqueue, claim, submit, look: the same commands with the same answers."""
    run("queues", "define", "far")
    task_id = json.loads(run("enqueue", "far", "k", '{"n": 1}', "--json").stdout)["task_id"]
    lease = json.loads(run("claim", "far", "--worker", "w", "--wait", "5", "--json").stdout)
    assert (lease["task_id"], lease["brief"]) == (task_id, {"n": 1})
    run("submit", task_id, "1", '{"done": true}')
    assert json.loads(run("tasks", "wait", task_id, "--json").stdout)["tasks"][0]["state"] == "done"
    assert run("counts", "--recount").exit_code == 0
    assert "submitted" in run("events", "--limit", "10000").stdout


def test_a_refusal_is_a_line_and_an_exit_code(run) -> None:
    """What the service refuses ends as it does with a store at hand."""
    assert run("tasks", "show", "nobody", code=1).stderr == "error: not_found: no such task\n"
    wrong = run("counts", code=1, TESSERA_KEY="wrong")
    assert wrong.stderr.startswith("error: unauthorized: ")


def test_no_key_is_told_where_to_put_one(run) -> None:
    """Without any key the line says how to give one here; a key that is wrong is not told so."""
    none = run("counts", code=1, TESSERA_KEY="").stderr

    assert none == "error: unauthorized: no key: set TESSERA_KEY or --key-file (in Python: key=)\n"
    assert "no key" not in run("counts", code=1, TESSERA_KEY="wrong").stderr


def test_a_key_comes_from_a_file(run, key, tmp_path) -> None:
    """`--key-file` names the key's file and counts more than the environment; one that is not there is wrong
    usage.
    """
    file = tmp_path / "key"
    file.write_text(f"{key}\n")

    run("counts", "--key-file", str(file), TESSERA_KEY="wrong")
    run("counts", TESSERA_KEY_FILE=str(file), TESSERA_KEY="wrong")
    run("counts", "--key-file", str(tmp_path / "absent"), code=2)


def test_a_key_is_never_an_argument(run) -> None:
    """No command has an option that takes a key itself."""
    names = [name for rows in COMMANDS.values() for name in rows]
    assert names
    assert [name for name in names if "--key " in run(name, "--help").stdout] == []


def test_a_program_works_for_a_service(run, service, key, tmp_path: Path) -> None:
    """`tessera work` carries a service's tasks, and its command finds the service and the key by itself."""
    run("queues", "define", "work")
    task_id = json.loads(run("enqueue", "work", "k", "{}", "--json").stdout)["task_id"]
    file = tmp_path / "key"
    file.write_text(key)
    parks = f'{sys.executable} -m tessera.cli.main park "$TESSERA_TASK_ID" "$TESSERA_FENCING_TOKEN" why'
    worked = subprocess.run(
        [sys.executable, "-m", "tessera.cli.main", "work", "work", "--worker", "w", "--once", "--store",
         service.url, "--key-file", "key", "--", "sh", "-c", f"cd / && {parks}"],
        cwd=tmp_path, env={**os.environ, "PYTHONWARNINGS": "error"}, capture_output=True, text=True,
        check=False, timeout=60,
    )  # fmt: skip

    assert worked.returncode == 0, worked.stderr
    assert worked.stderr.startswith(f"handed back by the command: {task_id} ")
    assert json.loads(run("tasks", "show", task_id, "--json").stdout)["park_reason"] == "why"
