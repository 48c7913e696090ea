"""No field can forge another, whatever it holds; what others wrote is read as it stands."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from messages.ground import ALICE, BOB, Sent, snapshot
from tessera.errors import InvalidRequest
from tessera.messages import Mail, forms, rendering
from tessera.messages.sending import Draft

BREAKERS = [
    "\n",
    "\r",
    "\x00",
    "\x0b",
    "\x0c",
    "\x1c",
    "\x1e",
    "\x85",
    "\u2028",
    "\u2029",
    "\x1b[2J",
    "\x7f",
    "\ud800",
]
nasty = st.text(st.sampled_from("\n\r-: ,abx\x00\x1b\u2028é") | st.characters(), max_size=30)


@pytest.mark.parametrize("breaker", BREAKERS, ids=ascii)
@pytest.mark.parametrize("field", ["subject", "in_reply_to", "tags", "idempotency_key"])
def test_a_field_that_could_end_its_line_is_refused(
    mail: Mail, alice: Sent, catalog, field: str, breaker: str
) -> None:
    """A line break or control character in any header field refuses the message, and nothing is written."""
    forged = f"x{breaker}from-id: somebody-else"
    before = snapshot(catalog)

    with pytest.raises(InvalidRequest, match=field):
        mail.send(ALICE, BOB, "body", **{field: [forged] if field == "tags" else forged})

    assert snapshot(catalog) == before
    assert not alice.path.exists()


@given(subject=nasty, in_reply_to=nasty, tags=st.lists(nasty, max_size=3), key=nasty, body=nasty)
def test_what_is_rendered_says_what_was_meant(
    subject: str, in_reply_to: str, tags: list[str], key: str, body: str
) -> None:
    """Any texts are refused, or come back as they were, each in its own field."""
    try:
        Draft(body, subject, in_reply_to, tags, key).checked()
    except InvalidRequest:
        return
    clean = [tag.strip() for tag in tags]
    text = rendering.render("h.a", body, from_id="id-1", subject=subject, in_reply_to=in_reply_to,
                            tags=clean, idempotency_key=key)  # fmt: skip
    says = rendering.parse(text)

    assert (says.from_, says.from_id) == ("h.a", "id-1")
    assert (says.subject, says.in_reply_to) == (subject.strip(), in_reply_to.strip())
    assert (says.tags, says.idempotency_key) == (clean, key)
    assert says.body == (body if body.endswith("\n") else body + "\n")
    assert (says.priority, says.stream, says.event_id, says.event_key) == (None, None, None, None)


@pytest.mark.parametrize(
    "body", ["---\nfrom: x\n---\n", "\n---\n", "from-id: y\n", "\r\n---", "", "\n\n"], ids=ascii
)
def test_a_body_stays_a_body(mail: Mail, body: str) -> None:
    """A body that looks like a header changes no field of the message."""
    filename = mail.send(ALICE, BOB, body, subject="s")
    row = mail.read(BOB, filename).row

    assert (row.from_, row.subject, row.from_id) == (ALICE, "s", mail.find(ALICE).agent.id)
    assert row.body == (body if body.endswith("\n") else body + "\n")


@pytest.mark.parametrize("key", ["", " ", " k", "k ", "\u00a0k"])
def test_a_key_must_survive_its_line(mail: Mail, key: str) -> None:
    """A key that a reader would trim, or an empty one, is refused."""
    with pytest.raises(InvalidRequest, match="without surrounding whitespace"):
        mail.send(ALICE, BOB, "b", idempotency_key=key)


@pytest.mark.parametrize("tag", ["a,b", "", "  "])
def test_a_tag_is_one_word_between_commas(mail: Mail, tag: str) -> None:
    """A tag that would read as several, or as none, is refused."""
    with pytest.raises(InvalidRequest, match=r"tags\[1\]"):
        mail.send(ALICE, BOB, "b", tags=["fine", tag])


def test_limits(mail: Mail) -> None:
    """A body over a mebibyte, a line over a thousand characters, and too many tags are refused."""
    with pytest.raises(InvalidRequest, match="body: larger than 1,048,576 bytes"):
        mail.send(ALICE, BOB, "é" * (1 << 19) + "x")
    with pytest.raises(InvalidRequest, match="subject: more than 1,000"):
        mail.send(ALICE, BOB, "b", subject="s" * 1_001)
    with pytest.raises(InvalidRequest, match="tags: more than 100"):
        mail.send(ALICE, BOB, "b", tags=["t"] * 101)
    with pytest.raises(InvalidRequest, match="lone surrogate"):
        mail.send(ALICE, BOB, "\udcff")
    assert mail.send(ALICE, BOB, "é" * (1 << 19), subject="s" * 1_000, tags=["t"] * 100)


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("no header\n", {"body": "no header\n"}),
        ("---\nfrom: a\nno end\n", {"body": "---\nfrom: a\nno end\n"}),
        ("---\n---\nx\n", {"body": "---\n---\nx\n"}),
        ("---\r\nfrom: a\r\n---\r\nx\r\n", {"from_": "a", "body": "x\r\n"}),
        ("---\nfrom: a\nfrom: b\nnoise\nfoo: 1\npriority: high\n---\nx",
         {"from_": "b", "priority": "high", "body": "x"}),
        ("---\ntags: a, ,b ,\n---\n", {"tags": ["a", "b"], "body": ""}),
        ("---\nstream: s\nevent-id: e\nkey: k\n----\nx\n",
         {"stream": "s", "event_id": "e", "event_key": "k", "body": "x\n"}),
        ("---\nsubject: a: b\n---", {"subject": "a: b", "body": ""}),
        (" ---\nfrom: a\n---\n", {"body": " ---\nfrom: a\n---\n"}),
    ],
)  # fmt: skip
def test_what_others_wrote_is_read_as_it_stands(text: str, fields: dict[str, object]) -> None:
    """A foreign message says what its header says; the last of repeated lines counts, unknown ones do not."""
    assert rendering.parse(text) == rendering.Parsed(**fields)


@given(st.text(max_size=200))
def test_no_text_crashes_the_reader(text: str) -> None:
    """Any text is a message."""
    says = rendering.parse(text)

    assert text.endswith(says.body)


@given(st.text(max_size=50))
def test_a_foreign_header_is_made_safe_for_ours(text: str) -> None:
    """What a reply takes over from a foreign message can always be sent."""
    forms.require_line(forms.one_line(text), "subject")
