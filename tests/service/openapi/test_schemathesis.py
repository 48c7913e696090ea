"""Whatever is sent to a route, its answer is one that the description tells of, and never a 5xx."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis.checks import CHECKS, load_all_checks
from schemathesis.generation import GenerationMode
from schemathesis.schemas import APIOperation
from service.openapi.town import Town, town
from service.running import HOST

from tessera.limits import WAIT_SECONDS_MAX
from tessera.service.openapi.document import encoded

LONG = os.environ.get("TESSERA_LONG") == "1"
EXAMPLES = {"admin": 100, "worker": 60, "none": 20} if LONG else {"admin": 5, "worker": 4, "none": 2}
ANY = {"type": "string"}


def _operations() -> dict[str, APIOperation[Any, Any, Any]]:
    """Every operation by its label. What it says of keys is left out: the test has its own."""
    description = json.loads(encoded())
    for methods in description["paths"].values():
        for operation in methods.values():
            del operation["security"]
    schema = schemathesis.openapi.from_dict(description)
    return {found.ok().label: found.ok() for found in schema.get_all_operations()}


OPERATIONS = _operations()
load_all_checks()
CHECKED = [
    CHECKS.get_one(name)
    for name in (
        "not_a_server_error", "status_code_conformance", "content_type_conformance",
        "response_headers_conformance", "response_schema_conformance", "negative_data_rejection",
    )
]  # fmt: skip
WAITS = {"wait", "wait_seconds"}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Town]:
    """One town for all of it: what a route changes, others meet."""
    with town(tmp_path_factory.mktemp("town")) as place:
        yield place


@pytest.fixture(scope="module")
def session() -> Iterator[requests.Session]:
    """Connections that are kept."""
    with requests.Session() as session:
        yield session


@pytest.mark.parametrize("key", EXAMPLES)
@pytest.mark.parametrize("label", OPERATIONS)
def test_every_answer_is_documented(place: Town, session: requests.Session, label: str, key: str) -> None:
    """To requests that fit the description and to those that do not, of things that are there and of others,
    with an admin's key, a narrow worker's, or none that counts: a documented status, type, headers and body;
    what breaks a schema is refused.
    """

    @settings(
        max_examples=EXAMPLES[key], derandomize=not LONG, print_blob=True, deadline=None, database=None,
        suppress_health_check=list(HealthCheck), phases=[Phase.generate],
    )  # fmt: skip
    @given(data=st.data())
    def ask(data: st.DataObject) -> None:
        fits = not _can_be_wrong(label) or data.draw(st.booleans())
        mode = GenerationMode.POSITIVE if fits else GenerationMode.NEGATIVE
        case = data.draw(OPERATIONS[label].as_strategy(generation_mode=mode))
        for container in (case.path_parameters, case.query, case.headers, case.body):
            _tame(container)
            if fits:
                _aim(container, place.known, data)
        case.headers["Authorization"] = data.draw(st.sampled_from(place.keys[key]))
        answer = case.call(base_url=f"http://{HOST}:{place.service.port}", session=session, timeout=30)
        case.validate_response(answer, checks=CHECKED)

    ask()


def _can_be_wrong(label: str) -> bool:
    """Whether anything can be sent that breaks a schema: bytes and plain texts cannot."""
    raw = OPERATIONS[label].definition.raw
    bodies = raw.get("requestBody", {}).get("content", {}).values()
    return any(one["schema"] != ANY for one in raw["parameters"]) or any(one["schema"] for one in bodies)


def _tame(value: Any) -> None:
    """Let nothing be waited for, and no stream be opened, for it would not end: test_streams.py."""
    if not hasattr(value, "items"):
        return
    for name, one in list(value.items()):
        if name in WAITS and isinstance(one, int | float) and 0 <= one <= WAIT_SECONDS_MAX:
            value[name] = 0
        elif name == "follow" and str(one).lower() in ("true", "1"):
            value[name] = "false"


def _aim(value: Any, known: dict[str, list[Any]], data: st.DataObject) -> None:
    """Put what is there in the place of some of what was made up."""
    if isinstance(value, list):
        for one in value[:2]:
            _aim(one, known, data)
    if not hasattr(value, "items"):
        return
    for name, one in list(value.items()):
        if name in known and data.draw(st.booleans()):
            value[name] = data.draw(st.sampled_from(known[name]))
        else:
            _aim(one, known, data)
