"""The description of the HTTP interface: whole, exact, and the same by every way to it."""

from __future__ import annotations

import importlib
import json
import pkgutil
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from service.running import Reply, Running, serving
from service.stage import ROWS, Stage, ask
from verbs.refusals import EVERY_VERB, REFUSALS

import tessera.service
from tessera import models
from tessera.errors import KINDS, RateLimited, UnsupportedMedia
from tessera.models import Claim, Submitted
from tessera.service.openapi.document import document
from tessera.service.openapi.refusals import of_verb, refusals
from tessera.service.own import OWN
from tessera.surface import SURFACE

OPERATIONS = {
    operation["operationId"]: (path, method, operation)
    for path, methods in document()["paths"].items()
    for method, operation in methods.items()
}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A service for this file."""
    with serving(tmp_path_factory.mktemp("service")) as running:
        yield running


def validator(schema: dict[str, Any]) -> jsonschema.Draft202012Validator:
    """What checks a value against a schema of the description."""
    return jsonschema.Draft202012Validator({**schema, "components": document()["components"]})


def followed(part: dict[str, Any]) -> dict[str, Any]:
    """A part of the description, or what it points at."""
    if "$ref" not in part:
        return part
    _, kind, name = part["$ref"][2:].split("/")
    return dict(document()["components"][kind][name])


def operation_of(name: str) -> dict[str, Any]:
    """The operation by which a row is met: its own, or that of the row without a flag."""
    row = ROWS[name]
    return dict(document()["paths"][row.path][row.method.lower()])


@pytest.mark.parametrize("name", ROWS)
def test_every_row_is_described(name: str) -> None:
    """Each row with a path is an operation under its own name, or a flag of the operation it shares; every
    field of its ask is a parameter or a field of the body, exactly once.
    """
    row, operation = ROWS[name], operation_of(name)
    parameters = {one["name"].lower().replace("-", "_") for one in operation["parameters"]}
    if row.flag is None:
        assert operation["operationId"] == name
    else:
        assert row.flag in parameters
    body: set[str] = set()
    if row.body == "json" and not row.reads:
        (content,) = operation["requestBody"]["content"].values()
        body = set(followed(content["schema"])["properties"])
    fields = set(row.ask.__struct_fields__) - ({"content_type"} if row.body == "bytes" else set())
    assert fields <= parameters | body
    assert not parameters & body


def test_every_path_of_the_service_is_described(service: Running) -> None:
    """Whatever path the service's modules name, for its own use or its clients', is a page or in the
    description, and each path of the description is served.
    """
    named = set()
    for module in pkgutil.walk_packages(tessera.service.__path__, "tessera.service."):
        held = vars(importlib.import_module(module.name)).values()
        named |= {
            one.rstrip("/")
            for one in held
            if isinstance(one, str) and re.fullmatch(r"/[a-z]+(\.json)?/?", one)
        }
    assert {"/healthz", "/mcp", "/openapi.json"} <= named
    assert named <= set(document()["paths"])
    for path in document()["paths"]:
        assert service.call("OPTIONS", path.replace("{", "").replace("}", "")).status == 204, path


@pytest.mark.parametrize("name", SURFACE)
def test_refusals_are_those_that_the_tests_provoke(name: str) -> None:
    """What is read off a verb's code is exactly what the tests of that verb provoke. Of a verb that answers
    with some of its refusals it is at least that: what is caught on the way looks like what is raised.
    """
    found = {kind.code for kind in of_verb(SURFACE[name].verb)}
    if SURFACE[name].answer is Submitted:
        found = set()  # what its submits are refused with are values
    door = EVERY_VERB | {"invalid_request"}  # a request that is no ask, before any verb
    if SURFACE[name].answer.__struct_config__.tag is not None:
        assert REFUSALS[name] - door <= found
        return
    assert found - door == REFUSALS[name] - door


def test_the_door_adds_its_own_refusals() -> None:
    """Beside its verb's a row has those of the door: too many wrong keys where one is needed, a type where
    there is a body; a batch whose answer holds refusals has no others.
    """
    assert RateLimited in refusals(SURFACE["queues"])
    assert RateLimited not in refusals(SURFACE["health"])
    assert UnsupportedMedia in refusals(SURFACE["put_blob"])
    assert UnsupportedMedia not in refusals(SURFACE["get_blob"])
    assert {kind.status for kind in refusals(SURFACE["submit_batch"])} == {
        400, 401, 403, 414, 415, 429, 431, 500, 503
    }  # fmt: skip


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_refusal_is_a_problem_document(name: str) -> None:
    """Each documented 4xx and 5xx is a problem document whose code is one of its status, with an example."""
    _, _, operation = OPERATIONS[name]
    for status, response in operation["responses"].items():
        if int(status) < 400:
            continue
        content = followed(response)["content"]["application/problem+json"]
        for code, example in content["examples"].items():
            assert (code, int(status)) in {(kind.code, kind.status) for kind in KINDS}
            assert example["value"]["status"] == int(status)


def _contents() -> Iterator[tuple[str, dict[str, Any]]]:
    """Every body of the description with its place, requests' and answers'."""
    for name, (_, _, operation) in OPERATIONS.items():
        bodies = [operation["requestBody"]] if "requestBody" in operation else []
        for body in [*bodies, *map(followed, operation["responses"].values())]:
            for media_type, content in body.get("content", {}).items():
                yield f"{name} {media_type}", content


def test_every_example_fits_its_schema() -> None:
    """There is an example for every JSON body and required parameter, and it is what its schema says."""
    for _, _, operation in OPERATIONS.values():
        for parameter in operation["parameters"]:
            if parameter.get("required"):
                validator(parameter["schema"]).validate(parameter["example"])
    for place, content in _contents():
        values = [one["value"] for one in content.get("examples", {}).values()]
        values += [content["example"]] if "example" in content else []
        assert values or "json" not in place or content["schema"] == {}, place
        for value in values:
            validator(content["schema"]).validate(value)


def test_every_parameter_says_what_it_is_for() -> None:
    """No parameter of a path, a query or a header is without a text."""
    silent = {
        (name, parameter["name"])
        for name, (_, _, operation) in OPERATIONS.items()
        for parameter in operation["parameters"]
        if not parameter["description"]
    }
    assert silent == set()


def test_every_example_of_a_request_is_one() -> None:
    """The models take the examples of their requests."""
    for name, row in ROWS.items():
        _, _, operation = OPERATIONS.get(name, ("", "", {}))
        content = operation.get("requestBody", {}).get("content", {}).get("application/json")
        if content is not None:
            named = {one["name"]: one["example"] for one in operation["parameters"] if one["in"] == "path"}
            models.decode(json.dumps({**content["example"], **named}).encode(), row.ask)


def as_described(name: str, reply: Reply) -> None:
    """The answer has a documented status, the headers of that, and a body of its type and schema."""
    response = followed(operation_of(name)["responses"][str(reply.status)])
    for header, described in response["headers"].items():
        if followed(described).get("required"):
            assert header.lower() in reply.headers
    content = response.get("content", {})
    if not content:
        assert reply.body == b""
        return
    said = content.get(reply.headers["content-type"], content.get("*/*"))
    assert said is not None, reply.headers["content-type"]
    if "json" in reply.headers["content-type"]:
        validator(said["schema"]).validate(reply.json)


@pytest.mark.parametrize("name", ROWS)
def test_every_answer_is_as_described(service: Running, name: str) -> None:
    """A real answer of each row has the described status, headers, type, and a body of its schema."""
    stage, row = Stage(service), ROWS[name]
    worker = row.needs.startswith("the key that claimed") or issubclass(row.ask, Claim)
    reply = ask(stage, row, stage.worker_key if worker else service.admin)

    assert reply.status == row.status
    as_described(name, reply)


def test_the_second_answers_are_as_described(service: Running) -> None:
    """What comes where nothing new was made, nothing is there, or only a part was asked for."""
    stage = Stage(service)
    blob, key, task = stage.blob(), stage.object(), stage.ready()
    spec = {"queue": stage.queue, "kind": "k", "brief": {}, "task_id": task}
    lease = stage.leased()
    job = {"task_id": lease, "fencing_token": 1, "job_id": f"{lease}-job", "model": "m"}
    service.post("/v1/jobs", job, key=stage.worker_key)
    path, thing = f"/v1/blobs/{blob}", f"/v1/buckets/nouns/objects/{key}"
    empty = service.queue(f"{stage.queue}-empty")
    replies = [
        ("enqueue", 200, service.post("/v1/tasks", spec)),
        ("register_job", 200, service.post("/v1/jobs", job, key=stage.worker_key)),
        ("claim", 204, service.claim(empty)),
        ("get_blob", 206, service.get(path, headers={"range": "bytes=0-1"})),
        ("get_blob", 304, service.get(path, headers={"if-none-match": f'"{blob}"'})),
        ("get_blob", 416, service.get(path, headers={"range": "bytes=9999-"})),
        ("get_object", 206, service.get(thing, headers={"range": "bytes=0-1"})),
        ("put_object", 409, service.post(thing, b"other")),
    ]

    for name, status, reply in replies:
        assert reply.status == status, (name, reply.body)
        as_described(name, reply)


def test_it_is_served_to_everybody(service: Running) -> None:
    """`/openapi.json` needs no key, is what the command prints, and is read only."""
    reply = service.get("/openapi.json", key=None)
    assert reply.headers["content-type"] == "application/json"
    assert reply.json == document()
    printed = subprocess.run(
        [sys.executable, "-m", "tessera.cli.main", "openapi"], capture_output=True, text=True, timeout=60,
        check=True,
    )  # fmt: skip
    assert json.loads(printed.stdout) == document()
    assert service.call("HEAD", "/openapi.json", key=None).body == b""
    refused = service.post("/openapi.json", key=None)
    assert (refused.status, refused.headers["allow"]) == (405, "GET, HEAD, OPTIONS")
    assert service.get("/openapi.json?key=x", key=None).code == "unauthorized"


def test_it_stands_behind_the_edge(tmp_path: Path) -> None:
    """Where there is an edge, the description is answered through it alone, and says so."""
    with serving(tmp_path, TESSERA_EDGE_SECRET="e" * 32) as service:
        assert service.get("/openapi.json", key=None).code == "forbidden"
        assert service.get("/openapi.json", key=None, headers={"x-edge-auth": "e" * 32}).status == 200
    assert "403" in document()["paths"]["/openapi.json"]["get"]["responses"]


def test_operations_are_rows_and_the_services_own() -> None:
    """There is an operation for each row with a path, but for those that a flag picks, and nothing else but
    what the service answers itself.
    """
    assert set(OPERATIONS) == {name for name, row in ROWS.items() if row.flag is None} | {
        own.name for own in OWN
    }


def test_every_status_is_told_of() -> None:
    """Each status of each code stands in the description and on the page of errors; and whatever is asked may
    be refused before it is looked at.
    """
    page = (Path(__file__).parents[3] / "docs" / "errors.md").read_text(encoding="utf-8")
    told = {status for _, _, operation in OPERATIONS.values() for status in operation["responses"]}
    for kind in KINDS:
        assert f"| `{kind.code}` | {kind.status} |" in page
        assert str(kind.status) in told or f"{kind.status} with `Allow`" in document()["info"]["description"]
    for _, _, operation in OPERATIONS.values():
        assert {"400", "401", "414", "431", "500"} <= operation["responses"].keys()
