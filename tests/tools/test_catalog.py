"""What a client is told of the tools agrees with what the verbs take and give."""

from __future__ import annotations

import json
from typing import Any

import jsonschema_rs
import pytest

from tessera.errors import REGISTRY, InvalidRequest, StaleLease, TesseraError
from tessera.models import Empty
from tessera.surface import SURFACE
from tessera.tools import texts
from tessera.tools.catalog import catalog, problem

SEVEN = ["queues", "claim", "heartbeat", "submit", "split", "park", "resume"]
LEASE = {"task_id": "t_1", "fencing_token": 1}
GOOD: dict[str, dict[str, Any]] = {
    "queues": {}, "claim": {"worker": "w", "queue": "q", "kinds": ["k"], "wait_seconds": 25},
    "heartbeat": LEASE, "submit": {**LEASE, "output": {"a": [1]}, "idempotency_key": "t_1:1"},
    "split": {**LEASE, "children": [{"brief": {}}, {"brief": {}, "kind": "k", "after": [0]}]},
    "park": {**LEASE, "reason": "?", "resume_within": 1.5, "input_schema": {"type": "string"}},
    "resume": {"task_id": "t_1", "input": None, "park": 1},
    "enqueue": {"queue": "q", "kind": "k", "brief": {}, "priority": 3, "depends_on": ["t_1"]},
    "task": {"task_id": "t_1", "wait": 1}, "results": {"task_id": "t_1"}, "release": LEASE,
    "cancel": {"task_id": "t_1", "reason": "?"}, "get_record": {"store": "s", "key": "k"},
    "put_record": {"store": "s", "key": "k", "value": 1}, "list_records": {"store": "s"},
    "record_history": {"store": "s", "key": "k"}, "feeds": {}, "poll_feed": {"feed": "f", "after": 3},
    "publish_feed": {"feed": "f", "payload": 1}, "search_nouns": {"query": "w", "store": "s", "limit": 3},
    "noun": {"place": "nouns", "key": "k", "home": "bucket"},
    "read_noun": {"place": "nouns", "key": "k", "first": 3}, "match_reflex": {"query": "w"},
}  # fmt: skip


def nodes(schema: Any) -> list[dict[str, Any]]:
    """Every object in a schema, itself among them."""
    if isinstance(schema, list):
        return [node for item in schema for node in nodes(item)]
    if not isinstance(schema, dict):
        return []
    return [schema, *(node for item in schema.values() for node in nodes(item))]


def test_the_sets_are_what_the_surface_says() -> None:
    """A worker has seven tools; the wide set has these and those that the surface marks, each described."""
    assert list(catalog(False)) == SEVEN
    assert set(catalog(True)) == {row.name for row in SURFACE.values() if row.tool} == set(GOOD)
    assert set(catalog(True)) == set(texts.DESCRIPTIONS) == set(texts.TITLES)


@pytest.mark.parametrize("name", sorted(GOOD))
def test_schemas_and_verbs_take_the_same(name: str) -> None:
    """Good arguments fit schema and verb; an unknown one, or one that is left out, fits neither."""
    tool = catalog(True)[name]
    validator = jsonschema_rs.validator_for(tool.takes)
    assert validator.is_valid(GOOD[name])
    assert isinstance(tool.ask(GOOD[name])[0], tool.row.ask)
    assert not validator.is_valid({**GOOD[name], "unknown": 1})
    with pytest.raises(InvalidRequest, match="unknown"):
        tool.ask({**GOOD[name], "unknown": 1})
    for left_out in set(tool.takes.get("required", [])) - {"idempotency_key"}:
        less = {key: value for key, value in GOOD[name].items() if key != left_out}
        assert not validator.is_valid(less)
        with pytest.raises(InvalidRequest, match=left_out):
            tool.ask(less)


@pytest.mark.parametrize("name", sorted(GOOD))
def test_no_schema_allows_what_its_model_has_not(name: str) -> None:
    """Every object with properties, at any depth, is closed; every text is of a field that is there."""
    tool = catalog(True)[name]
    closed = [node for node in nodes([tool.takes, tool.gives]) if isinstance(node.get("properties"), dict)]
    assert closed
    assert all(node["additionalProperties"] is False for node in closed)
    told = {node["description"] for node in nodes(tool.takes) if isinstance(node.get("description"), str)}
    assert {text for field, text in texts.FIELDS.get(name, {}).items() if "." in field} <= told
    assert "$ref" not in json.dumps([tool.takes, tool.gives])


def test_waits_are_shorter_than_a_clients_patience() -> None:
    """25 seconds are taken, more are refused with that number, by schema and verb."""
    for name, field in (("claim", "wait_seconds"), ("task", "wait"), ("poll_feed", "wait")):
        tool = catalog(True)[name]
        assert tool.takes["properties"][field]["maximum"] == 25
        for seconds in (26, 60):
            with pytest.raises(InvalidRequest, match="at most 25"):
                tool.ask({**GOOD[name], field: seconds})


def test_a_claim_answers_in_an_object() -> None:
    """Nothing to claim is a null lease with the seconds until there may be something."""
    claim = catalog(False)["claim"]
    answer = json.loads(claim.answer(Empty(7)))
    assert answer == {"lease": None, "retry_after_seconds": 7}
    assert jsonschema_rs.validator_for(claim.gives).is_valid(answer)


def test_a_misspelt_argument_is_told_with_the_one_that_was_meant() -> None:
    """An argument that a tool has not is refused with the one that was meant."""
    with pytest.raises(InvalidRequest, match=r"^Unknown field 'wroker': did you mean 'worker'\?$"):
        catalog(False)["claim"].ask({"queue": "q", "wroker": "w"})


@pytest.mark.parametrize("code", sorted(set(REGISTRY) - {"method_not_allowed", "range_not_satisfiable"}))
def test_every_refusal_says_what_next(code: str) -> None:
    """The problem document of each code that a tool can meet holds a next step of its own."""
    document = json.loads(problem(REGISTRY[code]()))
    assert document["code"] == code
    assert document["next"] == texts.NEXT[code]


def test_what_is_unforeseen_stays_inside() -> None:
    """An internal error's detail is not told; a refusal's is."""
    assert "secret" not in problem(TesseraError("secret")).decode()
    assert json.loads(problem(StaleLease("it is over")))["detail"] == "it is over"
