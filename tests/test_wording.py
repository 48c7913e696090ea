"""What a request or a setting is refused with, in words."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tessera import models
from tessera.errors import InvalidRequest
from tessera.limits import DETAIL_CHARS_MAX, FIELD_CHARS_SHOWN_MAX
from tessera.models.base import Nothing, convert, decode
from tessera.surface import SURFACE
from tessera.wording import lone_surrogate


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


TASK = {"queue": "q", "kind": "k", "brief": {}}
TAKEN = (
    "(required: brief, kind, queue; optional: delay_seconds, depends_on, effect_class, priority, task_id, "
    "traceparent)"
)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("queu", "queue"), ("Queue", "queue"), ("effectClass", "effect_class"), ("prio", "priority"),
        ("task-id", "task_id"), ("dealy_seconds", "delay_seconds"), ("delay", "delay_seconds"),
    ],
)  # fmt: skip
def test_of_an_unknown_field_the_one_that_was_meant_is_told(name: str, meant: str) -> None:
    """A field that there is not is told with the one that is most like it, also deep inside."""
    said = f"unknown field '{name}': did you mean '{meant}'?"
    assert refusal({**TASK, name: "secret"}, models.TaskSpec) == f"U{said[1:]}"
    assert refusal({"tasks": [TASK, {**TASK, name: "secret"}]}, models.TaskBatch) == f"tasks[1]: {said}"


def test_of_an_unknown_field_that_is_like_none_all_are_told() -> None:
    """Where no name is near, those that the object takes are listed, the required ones first; for a field
    that is missing, too; of a query as of JSON.
    """
    assert refusal({**TASK, "colour": 1}, models.TaskSpec) == f"Unknown field 'colour' {TAKEN}"
    assert (
        refusal({"tasks": [{"queue": "q"}]}, models.TaskBatch) == f"tasks[0]: field 'kind' is missing {TAKEN}"
    )
    assert refusal({"colour": 1}, Nothing) == "Unknown field 'colour' (none is taken)"
    with pytest.raises(InvalidRequest) as raised:
        convert({"colour": "red"}, models.ListTasks)
    assert raised.value.detail == "Unknown field 'colour' (optional: after, kind, limit, queue, state)"


@pytest.mark.parametrize(
    "name",
    [
        "", "x" * (FIELD_CHARS_SHOWN_MAX + 1), "x" * 100_000, "a\nb", "a\x1b[2J", "a\u202eb", "queue\x00",
        "a\n` - at `$.tasks", "a\n` - at `$.tasks`", "a` - at `$.b\nc", "a` - at `$.b\nc`",
        "tessera_" + "A" * 43,
    ],
)  # fmt: skip
def test_an_odd_name_is_not_repeated(name: str) -> None:
    """A field's name that is long, as every key is, empty, not printable, or made to look like a place is
    not repeated.
    """
    assert refusal({name: 1, **TASK}, models.TaskSpec) == f"Unknown field, its name not shown {TAKEN}"
    assert refusal({"tasks": [{name: 1}]}, models.TaskBatch).endswith(
        f"unknown field, its name not shown {TAKEN}"
    )


@pytest.mark.parametrize(
    "end", ["tasks[\x1b]", "tasks[" + "A" * 43 + "]", "tasks[" + "1" * 43 + "]", "tasks\n"]
)
def test_no_place_is_made_up_of_a_name(end: str) -> None:
    """A name that ends like a place, as the decoder writes them, smuggles nothing into the refusal."""
    said = refusal({f"a` - at `$.{end}": 1}, models.TaskBatch)
    assert said == "Unknown field, its name not shown (required: tasks)"


def test_no_request_has_so_many_fields_that_a_refusal_is_cut() -> None:
    """The fields of every request and the longest name that is repeated fit into a detail."""
    for row in SURFACE.values():
        said = refusal({"~" * FIELD_CHARS_SHOWN_MAX: 1}, row.ask)
        assert said.endswith(")")
        assert len(said) < DETAIL_CHARS_MAX - len("tasks[999]: ")
        assert all(len(name) < FIELD_CHARS_SHOWN_MAX for name in row.ask.__struct_fields__)


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


PIECES = st.sampled_from(
    [
        r"\ud83d",
        r"\uDBFF",
        r"\ude00",
        r"\uDFFF",
        r"\ud7ff",
        r"\ue000",
        r"\u0041",
        r"\\",
        r"\"",
        r"\n",
        "ud83d",
        "é",
    ]
)


@given(st.lists(PIECES, max_size=12).map("".join))
def test_the_first_half_of_a_pair_is_where_python_s_parser_leaves_one(text: str) -> None:
    """In any string of escapes the place that is told is that of the first surrogate which Python's own
    parser leaves alone; without one there is nothing to tell.
    """
    document = f'"{text}"'.encode()
    try:
        msgspec.json.decode(document)
        said = None
    except msgspec.DecodeError as error:
        said = lone_surrogate(error, document)
    if not holds_half(document):
        assert said is None
        return
    assert said is not None
    at = int(said.removeprefix("a lone surrogate is no Unicode text (byte ").removesuffix(")"))
    assert not holds_half(document[:at] + b'"')
    assert holds_half(document[: at + 6] + b'"')


def holds_half(document: bytes) -> bool:
    """Whether Python's parser finds half of a pair in the text."""
    return any("\ud800" <= character <= "\udfff" for character in json.loads(document))


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
