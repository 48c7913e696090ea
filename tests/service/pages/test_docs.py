"""`/docs`: every operation is there, whole, and its shell lines run."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable
from html import unescape

import pytest
from service.pages.browsing import Visitor
from service.running import HOST, Running

from tessera.service.openapi.document import document
from tessera.service.pages.docs import curl

Visit = Callable[..., Visitor]
OPERATIONS = {
    operation["operationId"]: (path, method, operation)
    for path, methods in document()["paths"].items()
    for method, operation in methods.items()
}


def articles(service: Running, path: str) -> dict[str, str]:
    """A page's articles, with their elements, by the operation or model they are about."""
    text = service.get(path, key=None).body.decode()
    found = re.findall(r'<article [^>]*aria-labelledby="([\w-]+)">(.*?)</article>', text, re.DOTALL)
    return {name: unescape(article) for name, article in found}


@pytest.fixture(scope="module")
def parts(service: Running) -> dict[str, str]:
    """The operations as they are shown."""
    return articles(service, "/docs")


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_operation_is_shown(parts: dict[str, str], name: str) -> None:
    """Each operation is on the page with its method, path, what it needs, parameters, every status with its
    codes, an example of an answer, and a shell line.
    """
    path, method, operation = OPERATIONS[name]
    shown = parts[name]

    assert f'<span class="method">{method.upper()}</span> <code>{path}</code>' in shown
    assert f"Needs: {operation['x-needs']}." in shown
    for parameter in operation["parameters"]:
        assert f"<code>{parameter['name']}</code>" in shown
    for status in operation["responses"]:
        assert f'<th scope="row">{status}</th>' in shown
    assert curl(path, method, operation) in shown
    if "application/json" in operation.get("requestBody", {}).get("content", {}):
        assert "-d '" in shown


def test_every_model_is_shown(service: Running, parts: dict[str, str]) -> None:
    """Each schema of the description is on the page of models with its fields, and every link to one, from
    there or from an operation, leads somewhere.
    """
    models = articles(service, "/docs/models")
    for name, schema in document()["components"]["schemas"].items():
        for field in schema.get("properties", {}):
            assert f"<code>{field}</code>" in models[name]
    everything = "".join([*parts.values(), *models.values()])
    linked = set(re.findall(r'href="/docs/models#([\w-]+)"', everything))
    assert linked <= models.keys()
    assert {"Lease", "Child", "Problem", "Outcome"} <= linked


def test_the_list_leads_to_all_of_it(service: Running, parts: dict[str, str]) -> None:
    """The contents link to every operation."""
    text = service.get("/docs", key=None).body.decode()
    (contents,) = re.findall(r'<nav aria-label="Operations".*?</nav>', text, re.DOTALL)

    assert set(OPERATIONS) <= set(re.findall(r'href="#([\w-]+)"', contents))


@pytest.mark.parametrize("path", ["/docs", "/docs/models"])
def test_it_is_small_on_the_way(visit: Visit, path: str) -> None:
    """Packed, the page is under 50 KiB, and says that it differs by what the browser takes."""
    with visit().http.stream("GET", path, headers={"accept-encoding": "gzip"}) as answer:
        packed = b"".join(answer.iter_raw())
    assert answer.headers["content-encoding"] == "gzip"
    assert answer.headers["vary"] == "accept-encoding"
    assert len(packed) < 50 << 10


def test_unknown_fields_are_refused(service: Running) -> None:
    """A query that the page does not know is refused, as on every page."""
    assert service.get("/docs?x=1", key=None).status == 400


def test_the_shell_lines_run(service: Running) -> None:
    """Each shell line, pasted as it stands, is understood: what it asks for may not be there, but no line is
    malformed, lacks a key or names a path that is none.
    """
    service.queue("review")
    lines = [
        f"{curl(*OPERATIONS[name])} -m 20 -o /dev/null -w '{name} %{{http_code}}\\n'" for name in OPERATIONS
    ]
    script = "\n".join(lines).replace('"wait_seconds": 20', '"wait_seconds": 0')
    env = {**os.environ, "TESSERA_STORE": f"http://{HOST}:{service.port}", "TESSERA_KEY": service.admin}
    ran = subprocess.run(
        ["bash", "-euc", script], env=env, capture_output=True, text=True, timeout=60, check=True
    )
    said = dict(line.split() for line in ran.stdout.splitlines())

    assert said.keys() == OPERATIONS.keys()
    understood = {"200", "201", "204", "404", "409"}
    assert {name: status for name, status in said.items() if status not in understood} == {}
    for name, status in said.items():
        assert status in OPERATIONS[name][2]["responses"], name
