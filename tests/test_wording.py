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
    assert refusal({"limit": "many"}, models.ListTasks) == "limit: expected `int`, got `str`"
