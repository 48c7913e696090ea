"""The guide to PostgreSQL says what is so: what it shows runs when it is pasted, in order."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

from chaos.cluster import SETTINGS, Cluster
from chaos.nodes import free_port
from tessera.settings import Settings

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs" / "guides" / "postgres.md"
DEPLOY = ROOT / "deploy"


def test_postgres_guide_runs_as_it_stands(tmp_path: Path) -> None:
    """Every block of shell in the guide, pasted into one shell beside a new server, ends well: nodes that
    share the store, a dump that comes back in a new epoch, a log in partitions that still verifies.
    """
    blocks = re.findall(r"```sh\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    script = "\n".join(["trap 'kill $(jobs -p) 2> /dev/null || true' EXIT", *blocks])
    for port in ("8787", "8788"):
        script = script.replace(port, str(free_port()))
    with Cluster(settings={**SETTINGS, "max_replication_slots": "4"}) as server:
        env = {name: value for name, value in os.environ.items() if not name.startswith(("TESSERA_", "PG"))}
        env["PATH"] = f"{server.programs}:{Path(sys.executable).parent}:{env['PATH']}"
        env |= {"PGHOST": str(server.folder), "PGUSER": "postgres"}
        shell = subprocess.Popen(
            ["bash", "-euo", "pipefail", "-c", script], cwd=tmp_path, env=env, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, start_new_session=True,
        )  # fmt: skip
        try:
            said, _ = shell.communicate(timeout=120)
        finally:
            if shell.poll() is None:
                os.killpg(shell.pid, signal.SIGKILL)
    assert shell.returncode == 0, said
    assert '"claimed_at"' in said
    assert '"replayed":false' in said
    assert "tokens handed out before are refused" in said
    assert said.count("The store is sound.") == 2
    assert "NOT sound" not in said


def test_postgres_deployment_names_what_there_is() -> None:
    """Every variable of Tessera's in the deployment's files is a setting, or one of the proxy's own."""
    settings = {f"TESSERA_{name.upper()}" for name in Settings.__struct_fields__}
    named = {
        name
        for path in (DEPLOY / "compose.yaml", DEPLOY / "Caddyfile", DEPLOY / "Dockerfile")
        for name in re.findall(r"TESSERA_\w+", path.read_text(encoding="utf-8"))
    }
    assert {"TESSERA_STORE", "TESSERA_EDGE_SECRET", "TESSERA_HOST"} <= named
    assert named - settings == {"TESSERA_NODES", "TESSERA_PROXY_PORT"}
