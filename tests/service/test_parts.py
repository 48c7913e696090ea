"""Bodies of more lists and objects than the loop has time for are refused unread; all others are let in."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from service.running import Running
from service.tools import ACCEPT

from tessera.errors import InvalidRequest
from tessera.limits import PARTS_PER_BODY_MAX
from tessera.service import parts
from tessera.service.express import EXPRESS_BODY_BYTES_MAX
from tessera.service.parts import refuse_many_parts

TOO_MANY = "the body holds more than 200,000 lists and objects: send less at once"
TEXT = st.text() | st.text('"\\[{]},:/u', max_size=20)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXT,
    lambda inner: st.lists(inner) | st.dictionaries(TEXT, inner), max_leaves=40,
)  # fmt: skip


def number_of_parts(value: Any) -> int:
    """The lists and objects of a value."""
    if isinstance(value, dict):
        return 1 + sum(map(number_of_parts, value.values()))
    return 1 + sum(map(number_of_parts, value)) if isinstance(value, list) else 0


@given(JSON, st.booleans())
def test_the_brackets_outside_of_strings_are_counted(value: Any, ascii: bool) -> None:
    """Of any JSON exactly its lists and objects are counted, whatever its strings and names hold."""
    bare = parts._without_strings(json.dumps(value, ensure_ascii=ascii).encode())
    assert parts._opened(bare) == len(bare) == number_of_parts(value)


@pytest.mark.parametrize("one", [b"[]", b"{}", b'{"a":1}', b"[", b"]["])
def test_so_many_and_no_more(one: bytes) -> None:
    """As many as allowed are let in, and one more is refused, well formed or not."""
    refuse_many_parts(b",".join([one] * PARTS_PER_BODY_MAX))
    with pytest.raises(InvalidRequest) as raised:
        refuse_many_parts(b",".join([one] * (PARTS_PER_BODY_MAX + 1)))
    assert raised.value.detail == TOO_MANY


def test_a_body_of_the_express_way_cannot_hold_too_many() -> None:
    """What goes the express way is too short to be counted."""
    assert EXPRESS_BODY_BYTES_MAX <= PARTS_PER_BODY_MAX


def test_too_many_are_refused_unread(service: Running) -> None:
    """At a verb's path and at /mcp the count comes before any reading: it is told though the JSON is torn."""
    for path, headers in (("/v1/tasks", {}), ("/v1/tasks/batch", {}), ("/mcp", ACCEPT)):
        for body in (b"[" * (PARTS_PER_BODY_MAX + 1), b'{"a": [' + b"[]," * 1_000_000):
            reply = service.post(path, body, headers=headers)
            assert (reply.status, reply.code, reply.json["detail"]) == (400, "invalid_request", TOO_MANY)


def test_what_people_send_is_let_in(service: Running) -> None:
    """A large text full of brackets, a list of 10,000 objects, half a million numbers, a mebibyte of points,
    and a thousand tasks of fifty lists each are stored.
    """
    service.queue("parts")
    for value in (
        "[{,}]" * 200_000,
        [{"place": n, "tags": ["a"]} for n in range(10_000)],
        [1] * 500_000,
        [[1, 2]] * 170_000,
    ):
        reply = service.post("/v1/tasks", {"queue": "parts", "kind": "k", "brief": {"value": value}})
        assert reply.status == 201
    task = {"queue": "parts", "kind": "k", "brief": {"value": [[1, 2]] * 50}}
    assert service.post("/v1/tasks/batch", {"tasks": [task] * 1_000}).status == 201
