"""What a request or a setting is refused with, in words."""

from __future__ import annotations

import json

import pytest

from tessera import models
from tessera.errors import InvalidRequest
from tessera.models.base import convert, decode


def refusal(document: object, model: type[models.Model]) -> str:
    """What a document is refused with."""
    with pytest.raises(InvalidRequest) as raised:
        decode(json.dumps(document).encode(), model)
    return raised.value.detail


@pytest.mark.parametrize("sent", ["write", "a - at `$.b`", "a\n - at `$.b`"])
def test_what_is_allowed_is_listed(sent: str) -> None:
    """Where only some words will do they are listed, also deep inside; what was sent is not."""
    task = {"queue": "q", "kind": "k", "brief": {}, "effect_class": sent}
    allowed = "not one of read, write-internal, write-repo, public"
    assert refusal(task, models.TaskSpec) == f"effect_class: {allowed}"
    assert refusal({"tasks": [task]}, models.TaskBatch) == f"tasks[0].effect_class: {allowed}"


def test_a_text_that_is_no_number() -> None:
    """What came as text and should be a number is told to be none; of JSON it is told which type it had."""
    with pytest.raises(InvalidRequest, match=r"^limit: not a whole number$"):
        convert({"limit": "many"}, models.ListTasks)
    assert refusal({"limit": "many"}, models.ListTasks) == "limit: expected an integer, got a string"


@pytest.mark.parametrize(
    ("text", "at"),
    [
        (r'{"queue": "q", "kind": "k", "brief": {"a": "\ud800"}}', 44),
        (r'{"queue": "q", "kind": "k", "brief": {"a": "\uD800"}, "priority": 1000}', 44),
        (r'{"queue": "q", "kind": "k", "brief": {"\\\ud83d\ude00\\ud800\udfff": 1}}', 60),
        (r'{"queue": "\ud800\ud800", "kind": "k", "brief": {}}', 11),
        (r'{"queue": "\uDFFF", "kind": "k", "brief": {}}', 11),
        (r'{"queue": "' + "x" * 600_000 + r'\ud800", "kind": "k", "brief": {}}', None),
        (r'{"queue": "' + r"\ud83d\ude00" * 100_000, None),
        (r'{"queue": "q\ud83d\ude00', None),
    ],
)
def test_half_of_a_pair_is_told_with_its_place(text: str, at: int | None) -> None:
    """JSON text with an escape for half of a surrogate pair is refused in those words, with the byte at which
    it stands; what is malformed otherwise, or too long to look through, in the decoder's.
    """
    with pytest.raises(InvalidRequest) as raised:
        decode(text.encode(), models.TaskSpec)
    if at is not None:
        assert raised.value.detail == f"a lone surrogate is no Unicode text (byte {at})"
        assert text[at : at + 2] == r"\u"
    else:
        assert "surrogate is" not in raised.value.detail


@pytest.mark.parametrize(
    ("document", "model", "words"),
    [
        ({"limit": 1001}, models.ListTasks, "limit: at most 1,000"),
        ({"limit": 0}, models.ListTasks, "limit: at least 1"),
        ({"after": -1}, models.ListEvents, "after: at least 0"),
        ({"task_id": "t", "wait": 30.5}, models.AskTask, "wait: at most 30"),
        ({"tasks": []}, models.TaskBatch, "tasks: at least 1 item"),
        ({"task_id": "t", "reason": "x" * 8193}, models.Cancel, "reason: at most 8,192 characters"),
        (
            {"task_id": "t", "fencing_token": 2**53},
            models.Heartbeat,
            "fencing_token: at most 9,007,199,254,740,991",
        ),
        ({"limit": [1]}, models.ListTasks, "limit: expected an integer, got a list"),
        ({"queue": 7}, models.ListTasks, "queue: expected a string or null, got an integer"),
        ([], models.ListTasks, "Expected an object, got a list"),
    ],
)
def test_bounds_and_types_are_told_in_no_program_s_language(document, model, words) -> None:
    """What is too much, too little or of another type is told as JSON has it, with the bound."""
    assert refusal(document, model) == words
