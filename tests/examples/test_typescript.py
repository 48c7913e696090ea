"""The client in TypeScript: its types come from the description, and it works for a real service."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from service.running import HOST, Running, serving

from tessera.service.openapi.document import document, text

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "examples" / "typescript"
MODULES = ROOT / ".venv" / "typescript" / "node_modules"
# Each of these is an error: the compiler refuses the file if one of them is not.
WRONG = """
import { connect } from "./client.js";
const client = connect("http://127.0.0.1", "key");
// @ts-expect-error no such path
await client.POST("/v1/tasks/clame", { body: { worker: "w" } });
// @ts-expect-error no such field
await client.POST("/v1/tasks/claim", { body: { worker: "w", colour: "red" } });
// @ts-expect-error a field that must be there
await client.POST("/v1/tasks/claim", { body: { queue: "q" } });
// @ts-expect-error another type
await client.POST("/v1/tasks/heartbeat", { body: { task_id: "t", fencing_token: "1" } });
// @ts-expect-error a header that must be there
await client.POST("/v1/tasks/submit", { body: { task_id: "t", fencing_token: 1 } });
// @ts-expect-error not one of the words
await client.POST("/v1/tasks", { body: { queue: "q", kind: "k", brief: {}, effect_class: "write" } });
const { data } = await client.GET("/v1/tasks/{task_id}", { params: { path: { task_id: "t" } } });
// @ts-expect-error an answer has no such field
data?.colour;
export const brief: { [name: string]: unknown } | undefined = data?.brief;
export const state: string | undefined = data?.state;
"""


def ran(*command: str, cwd: Path, **env: str) -> subprocess.CompletedProcess[str]:
    """A program of node's, to its end."""
    words = ["node", *command]
    path = {"PATH": str(Path(shutil.which("node") or "node").parent)}
    return subprocess.run(
        words, cwd=cwd, env={**path, **env}, capture_output=True, text=True, timeout=120, check=False
    )


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example, with types made from the description, compiled beside everything that must not compile."""
    assert MODULES.is_dir(), "run `make typescript`"
    folder = tmp_path_factory.mktemp("typescript")
    for name in ("client.ts", "worker.ts", "tsconfig.json", "package.json"):
        shutil.copy(SOURCE / name, folder)
    (folder / "node_modules").symlink_to(MODULES)
    (folder / "openapi.json").write_text(text())
    (folder / "wrong.ts").write_text(WRONG)
    made = ran("node_modules/openapi-typescript/bin/cli.js", "openapi.json", "-o", "tessera.d.ts", cwd=folder)
    assert made.returncode == 0, made.stderr
    compiled = ran("node_modules/typescript/bin/tsc", cwd=folder)
    assert compiled.returncode == 0, compiled.stdout
    return folder


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A service for the example."""
    with serving(tmp_path_factory.mktemp("service")) as running:
        yield running


def test_every_operation_has_its_types(built: Path) -> None:
    """The generated types have each operation of the description, and the compiler holds the example to
    them: what is wrong in a request, or expected wrongly of an answer, does not compile.
    """
    types = (built / "tessera.d.ts").read_text()
    operations: list[dict[str, Any]] = [
        operation for methods in document()["paths"].values() for operation in methods.values()
    ]
    assert [one["operationId"] for one in operations if f"    {one['operationId']}: {{" not in types] == []
    assert (built / "build" / "wrong.js").is_file()


def test_a_worker_claims_and_submits(service: Running, built: Path) -> None:
    """The worker does what is on the queue, a failure too, prints its receipts, and ends when there is no
    more; of kinds that it was not told to do it takes none.
    """
    queue = service.queue("words", max_attempts=1)
    good = service.enqueue(queue, brief={"text": "one two  three"})
    bad = service.enqueue(queue, brief={"text": 4})
    key = service.key(queues=[queue])
    store = {"TESSERA_STORE": f"http://{HOST}:{service.port}", "TESSERA_KEY": key}

    other = service.enqueue(queue, kind="other", priority=9)

    done = ran("build/worker.js", queue, "ts", "k", cwd=built, **store)

    assert done.returncode == 0, done.stderr
    receipts = [line.split() for line in done.stdout.splitlines()]
    assert [words[:2] for words in receipts] == [[good, "done"], [bad, "dead"]]
    (result,) = service.get(f"/v1/tasks/{good}/results").json["results"]
    assert (result["output"], result["worker"], result["sha256"]) == ({"words": 3}, "ts", receipts[0][2])
    assert service.get(f"/v1/tasks/{other}").json["state"] == "ready"
    assert "no text" in service.get(f"/v1/tasks/{bad}").json["last_error"]


def test_a_refusal_is_thrown(service: Running, built: Path) -> None:
    """What the service refuses ends the worker with the code and the detail, and never shows the key."""
    key = service.key(queues=["elsewhere"])
    service.queue("mine")
    store = {"TESSERA_STORE": f"http://{HOST}:{service.port}", "TESSERA_KEY": key}

    refused = ran("build/worker.js", "mine", cwd=built, **store)

    assert refused.returncode == 1
    assert "Refused: forbidden: " in refused.stderr
    assert key not in refused.stdout + refused.stderr
