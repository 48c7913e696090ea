"""The message of a claim: what it holds, what it cannot, and what is none."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lite.ground import IDS, SECRET, claim, message
from tessera.errors import InvalidRequest
from tessera.limits import INTEGER_MAX, TOPIC_MESSAGE_BYTES_MAX
from tessera.lite.message import Commitments, LiteClaim, decode, encode

FORBIDDEN = (
    "task_title", "task_brief", "brief_ref", "task_input", "plan_json", "workflow_name", "dependency_graph",
    "artifact_ref", "artifact_body", "completion_summary", "model_output", "logs", "secrets",
    "private_memory",
)  # fmt: skip
MADE = [name for name in LiteClaim.__struct_fields__ if name not in ("fencing_token", "lease_seconds")]
TEXTS = ["type", *MADE]


def with_fields(**fields: Any) -> bytes:
    """The bytes of a claim with other or more fields."""
    return msgspec.json.encode({**json.loads(message()), **fields})


def test_a_claim_comes_back() -> None:
    """What was encoded decodes to the same claim: its ids are commitments, its numbers are as given."""
    found = claim()

    assert encode(found) == message()
    assert message().startswith(b'{"type":"lite_claim_v1","version":1,"claim_id":"clm_00000001",')
    assert found.claim_id == IDS["claim_id"]
    assert (found.fencing_token, found.lease_seconds, found.created_at) == (1, 600, IDS["created_at"])
    names = Commitments(SECRET)
    assert found.task == names.of("task", "t_1")
    assert found.agent == names.of("agent", "agt_1")
    assert (found.role, found.queue) == (names.of("role", "role_writer"), names.of("queue", "mail"))
    assert found.workspace == names.of("workspace", "ws_a")
    assert found.idempotency_sha256 == names.of("idempotency", "once")


@pytest.mark.parametrize("name", FORBIDDEN)
def test_no_such_field(name: str) -> None:
    """A message with a field of the task's content, also in another case or inside an allowed one, is no
    claim; nor can one be made.
    """
    assert decode(with_fields()) is not None
    assert decode(with_fields(**{name: "words"})) is None
    assert decode(with_fields(**{name.upper(): "words"})) is None
    assert decode(with_fields(task={name: "words"})) is None
    with pytest.raises(TypeError):
        LiteClaim(**{**msgspec.structs.asdict(claim()), name: "words"})


@pytest.mark.parametrize("field", TEXTS)
@pytest.mark.parametrize("form", ["{}", "task_{}", "{}\n", " {}"])
def test_no_words_in_an_allowed_field(field: str, form: str) -> None:
    """No field that is a string takes a text, whatever it is dressed as."""
    text = form.format("the quarterly numbers of Acme")
    assert decode(with_fields(**{field: text})) is None
    if field in MADE:
        with pytest.raises(InvalidRequest) as refused:
            encode(msgspec.structs.replace(claim(), **{field: text}))
        assert "Acme" not in refused.value.detail


@pytest.mark.parametrize("field", TEXTS)
def test_a_value_has_one_form(field: str) -> None:
    """A right value with a line's end, a blank or in capitals is wrong."""
    right = json.loads(message())[field]
    for wrong in (right + "\n", f" {right}", right.swapcase(), "", None, 7, [right]):
        assert decode(with_fields(**{field: wrong})) is None


@pytest.mark.parametrize("field", ["version", "fencing_token", "lease_seconds"])
def test_numbers_are_whole_and_positive(field: str) -> None:
    """No field that is a number takes anything else."""
    for wrong in (0, -1, 1.5, "1", True, None, INTEGER_MAX + 1):
        assert decode(with_fields(**{field: wrong})) is None


def test_a_message_has_one_form() -> None:
    """Blanks, other orders, escapes, repeated or missing fields, and anything around it make it no claim."""
    right = message()
    fields = json.loads(right)
    first = b'{"type":"lite_claim_v1",'
    wrong = [
        json.dumps(fields).encode(), b" " + right, right + b" ", right + b"\n", b"\xef\xbb\xbf" + right,
        msgspec.json.encode(dict(sorted(fields.items()))), right.replace(first, first + first[1:]),
        right.replace(b'"lite_claim_v1"', rb'"\u006cite_claim_v1"'), right.replace(b'":1,', b'":1.0,'), b"",
        b"null", b"[]", b"{}", b"\xff", b"[" * 1_000, right[:-1], right + right,
        right[:-1] + b" " * (TOPIC_MESSAGE_BYTES_MAX - len(right)) + b"}",
    ]  # fmt: skip

    assert [one for one in wrong if decode(one) is not None] == []
    for name in fields:
        assert decode(msgspec.json.encode({key: fields[key] for key in fields if key != name})) is None


def test_the_longest_fits_one_chunk() -> None:
    """Ids of the greatest length and the greatest numbers stay below 1,024 bytes."""
    longest = message(
        claim_id="clm_" + "f" * 40, workspace_id="w" * 128, queue_id="q" * 64, role_id="r" * 128,
        task_id="t" * 128, agent_id="a" * 128, fencing_token=INTEGER_MAX, lease_seconds=INTEGER_MAX,
        idempotency_key="i" * 255,
    )  # fmt: skip

    assert len(longest) < TOPIC_MESSAGE_BYTES_MAX


@given(st.binary(max_size=1_100))
@settings(max_examples=200, deadline=None)
def test_noise_is_no_claim(noise: bytes) -> None:
    """Whatever bytes stand in a topic, reading them ends in a claim of exactly them or in none."""
    found = decode(noise)
    assert found is None or encode(found) == noise


WORDS = st.text(min_size=12, max_size=60).filter(lambda text: text.strip("0123456789abcdef \0"))


@given(
    st.dictionaries(
        st.sampled_from(
            [name for name in IDS if name.endswith("_id") and name != "claim_id"] + ["idempotency_key"]
        ),
        WORDS,
    )
)
@settings(max_examples=200, deadline=None)
def test_no_id_is_in_the_message(ids: dict[str, str]) -> None:
    """Whatever text stands as an id, none of it is in the bytes, plain or escaped."""
    made, without = message(**ids), message()
    for text in ids.values():
        for form in (text.encode(), json.dumps(text)[1:-1].encode()):
            assert form in without or form not in made  # but for the names of fields


@given(st.text(max_size=40), st.text(max_size=40))
@settings(max_examples=100, deadline=None)
def test_workspaces_are_unlinkable(one: str, other: str) -> None:
    """The same ids in two workspaces have no commitment in common; in one workspace no two kinds of id, and
    no two ids of a kind, have either.
    """
    ids = {name: one for name in IDS if name.endswith(("_id", "_key")) and name != "claim_id"}
    mine, theirs = (json.loads(message(secret, **ids)) for secret in (SECRET, SECRET[::-1]))
    commitments = [name for name, value in mine.items() if len(str(value)) == 64]

    assert len(commitments) == 6
    assert len({found[name] for found in (mine, theirs) for name in commitments}) == 12
    names = Commitments(SECRET)
    assert (names.of("task", one) == names.of("task", other)) is (one == other)


def test_a_secret_is_long() -> None:
    """A secret that could be guessed is refused."""
    with pytest.raises(ValueError, match="16 bytes"):
        Commitments(b"short")


def test_a_topic_of_its_own() -> None:
    """Each role of each workspace has its own topic, whose number is an entity's and no text of the role."""
    roles = ["role_a", "role_b"]
    topics = {Commitments(secret).topic(role) for secret in (SECRET, SECRET[::-1]) for role in roles}

    assert len(topics) == 4
    assert all(topic.startswith("0.0.") and int(topic[4:]) < 1 << 48 for topic in topics)
