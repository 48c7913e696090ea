"""What reaches a terminal: never a key, never a command, always the words."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from tessera.wake.text import frame, head, mentioned, one_line, sanitise

KEYS = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
ID = "m_0123456789abcdef"
anything = st.text(st.characters(exclude_categories=[])) | st.binary().map(lambda b: b.decode("latin-1"))


@given(anything)
def test_nothing_that_a_terminal_reads_as_a_key(text: str) -> None:
    """Whatever a body holds, no control, C1, DEL or direction character but LF is left, and it is UTF-8."""
    shown = sanitise(text)
    assert not KEYS.search(shown)
    shown.encode()


@given(anything, anything)
def test_a_frame_is_no_command(sender: str, body: str) -> None:
    """A framed wake begins with `[` and ends with `]`, on one line too, whatever it holds."""
    text = frame(ID, sender, body)
    for form in (text, one_line(text)):
        assert form.startswith(head(ID))
        assert form.endswith("]")
        assert not KEYS.search(form)
    assert "\n" not in one_line(text)


@given(st.text(st.characters(categories=["L", "N", "P", "S"]), min_size=1))
def test_printable_text_stays(text: str) -> None:
    """Letters, digits, punctuation and symbols arrive as they were sent."""
    assert sanitise(text) == text


def test_what_becomes_of_the_rest() -> None:
    """Line ends become LF, tabs blanks, control characters pictures, hidden ones their code; outer lines
    go.
    """
    assert sanitise("\r\na\rb\u2028c\td \n\n") == "a\nb\nc    d"
    assert sanitise("\x1b[201~\x03\x00\x7f") == "\u241b[201~\u2403\u2400\u2421"
    assert sanitise("a\u202eb\u009bc\ud800") == "a\\u{202e}b\\u{009b}c\\u{d800}"
    assert sanitise("e\u0301 \U0001f469\u200d\U0001f4bb") == "e\u0301 \U0001f469\u200d\U0001f4bb"


def test_mentions() -> None:
    """A hook finds each wake that a prompt quotes, once, and nothing that only looks like one."""
    text = f"{frame(ID, 'a', 'x')} [Tessera wake m_12] {head('m_ffffffffffffffff')}"
    assert mentioned(text) == [ID, "m_ffffffffffffffff"]
