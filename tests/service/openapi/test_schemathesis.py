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
from schemathesis.generation.case import Case
from service.openapi.town import Town, town
from service.running import HOST

from tessera.service.openapi.document import encoded

LONG = os.environ.get("TESSERA_LONG") == "1"
EXAMPLES = {"admin": 150, "worker": 150, "none": 40} if LONG else {"admin": 6, "worker": 5, "none": 2}
OPERATIONS = {
    found.ok().label: found.ok()
    for found in schemathesis.openapi.from_dict(json.loads(encoded())).get_all_operations()
}
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
        max_examples=EXAMPLES[key], derandomize=True, deadline=None, database=None,
        suppress_health_check=list(HealthCheck), phases=[Phase.generate],
    )  # fmt: skip
    @given(data=st.data())
    def ask(data: st.DataObject) -> None:
        case = data.draw(_cases(label))
        _aim(case, place.known, data)
        case.headers["Authorization"] = data.draw(st.sampled_from(place.keys[key]))
        answer = case.call(base_url=f"http://{HOST}:{place.service.port}", session=session, timeout=30)
        case.validate_response(answer, checks=CHECKED)

    ask()


def _cases(label: str) -> st.SearchStrategy[Case]:
    """Requests that fit and, where anything can be sent, requests that do not."""
    operation = OPERATIONS[label]
    fits = operation.as_strategy(generation_mode=GenerationMode.POSITIVE)
    if not operation.definition.raw["parameters"] and "requestBody" not in operation.definition.raw:
        return fits
    return st.one_of(fits, operation.as_strategy(generation_mode=GenerationMode.NEGATIVE))


def _aim(case: Case, known: dict[str, list[Any]], data: st.DataObject) -> None:
    """Put what is there in the place of some of what was made up, and wait for nothing."""
    for container in (case.path_parameters, case.query, case.headers, case.body):
        _replace(container, known, data)


def _replace(value: Any, known: dict[str, list[Any]], data: st.DataObject) -> None:
    if isinstance(value, list):
        for one in value[:2]:
            _replace(one, known, data)
    if not hasattr(value, "items"):
        return
    for name, one in list(value.items()):
        if name in WAITS and isinstance(one, int | float):
            value[name] = 0
        elif name == "follow":  # a stream does not end by itself: test_streams.py
            del value[name]
        elif name in known and data.draw(st.booleans()):
            value[name] = data.draw(st.sampled_from(known[name]))
        else:
            _replace(one, known, data)
