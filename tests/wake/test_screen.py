"""Reading composers: what counts as empty, as a draft, as a dialog, as ours."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tessera.wake.endpoints.screen import Screen, cells, empty_composer, proven, stands, stands_alone, taken
from tessera.wake.text import frame

ID = "m_0123456789abcdef"
TEXT = frame(ID, "api", "hello")


def screen(rows: str, cursor: tuple[int, int] | None = None) -> Screen:
    """A screen of these rows; `cursor` as column and row, or hidden."""
    drawn = rows.split("\n")
    plain = tuple("".join(cell.char for cell in cells(row)).rstrip() for row in drawn)
    return Screen(rows=tuple(cells(row) for row in drawn), lines=plain, cursor=cursor)


@pytest.mark.parametrize(
    ("rows", "cursor", "answer"),
    [
        ("> ", (2, 0), None),
        ("old text\n\n\u203a \x1b[2mAsk for anything\x1b[0m", (2, 2), None),
        ("\u2502 > \x1b[38;5;2mx\x1b[39m", (4, 0), "draft"),
        ("ptk> ", (5, 0), None),
        ("user@host:~/x$ ", (15, 0), None),
        ("> typed", (7, 0), "draft"),
        ("> typed", (2, 0), "draft"),
        ("> typed\n  more", (6, 1), "draft"),
        ("> typed\n  ", (2, 1), "draft"),
        ("> \n  second line", (2, 0), "draft"),
        ("> \n\u2500\u2500\u2500\u2500", (2, 0), None),
        ("Proceed? [Y/n] ", (15, 0), "not_at_prompt"),
        ("Allow?\n> 1. Yes\n  2. No", None, "dialog"),
        ("Allow?\n\u276f Yes\n  No", None, "dialog"),
        ("Allow?\n\u276f 1. Yes\n  2. No", (0, 1), "dialog"),
        ("\u276f \x1b[7m \x1b[27m\n\n  ? for shortcuts", None, None),
        ("\u276f \x1b[2mTry this\x1b[22m\x1b[7m \x1b[27m", None, None),
        ("\u276f hello\x1b[7m \x1b[27m", None, "draft"),
        ("nothing here", None, "no_prompt"),
        ("", (0, 0), "no_prompt"),
        ("> \u4f60\u597d", (6, 0), "draft"),
    ],
)
def test_empty_or_not(rows: str, cursor: tuple[int, int] | None, answer: str | None) -> None:
    """A prompt mark with nothing but faint text after it is an empty composer; all else is not."""
    assert empty_composer(screen(rows, cursor)) == answer


def test_reader_without_prompt() -> None:
    """A blank line is a place to type only where that was asked for."""
    assert empty_composer(screen("said before\n", (0, 1)), promptless=True) is None
    assert empty_composer(screen("half a li", (9, 0)), promptless=True) == "not_at_prompt"
    assert empty_composer(screen("Sure?", (0, 0)), promptless=True) == "not_at_prompt"


def test_proof() -> None:
    """The wake is proven when it follows a prompt mark alone, not when a draft stands before it on its
    row or above it, and not while it is not seen.
    """
    before = screen("> ", (2, 0))
    shown = TEXT.replace("\n", "\n  ")
    assert proven(before, screen(f"> {shown}", (9, 2)), ID, TEXT) is True
    assert proven(before, screen(f"> draft{shown}", (9, 2)), ID, TEXT) is False
    assert proven(before, screen(f"> draft\n  {shown}", (9, 3)), ID, TEXT) is False
    assert proven(before, screen("> ", (2, 0)), ID, TEXT) is None
    assert proven(before, screen(f"some {shown}", (9, 2)), ID, TEXT) is False
    other = frame("m_ffffffffffffffff", "api", "hello").replace("\n", "\n  ")
    assert proven(before, screen(f"> {other}", (9, 2)), ID, TEXT) is None


def test_stand_in() -> None:
    """A stand-in counts when its numbers fit the text and it stands alone after the mark."""
    before = screen("> ", (2, 0))
    fitting = f"[Pasted Content {len(TEXT)} chars]"
    assert proven(before, screen(f"> {fitting}", (9, 0)), ID, TEXT) is True
    assert proven(before, screen("> [Pasted text #1 +2 lines]", (9, 0)), ID, TEXT) is True
    assert proven(before, screen("> [Pasted Content 9999 chars]", (9, 0)), ID, TEXT) is None
    assert proven(before, screen(f"> draft {fitting}", (9, 0)), ID, TEXT) is None
    assert stands(screen(f"> {fitting}", (9, 0)), ID, TEXT, tried=True)
    assert not stands(screen(f"> {fitting}", (9, 0)), ID, TEXT, tried=False)


def test_taken() -> None:
    """After Enter the wake has gone when the composer is empty or another prompt follows, not when a line
    end was added to it.
    """
    shown = TEXT.replace("\n", "\n  ")
    assert taken(screen(f"> {shown}\n\n> ", (2, 4)), ID, TEXT)
    assert taken(screen(f"> {shown}\n\n> next dra", (10, 4)), ID, TEXT)
    assert taken(screen("working", (0, 0)), ID, TEXT)
    assert not taken(screen(f"> {shown}", (9, 2)), ID, TEXT)
    assert not taken(screen(f"> {shown}\n  ", (2, 3)), ID, TEXT)
    assert stands(screen(f"> {shown}\n  ", (2, 3)), ID, TEXT, tried=True)


rows_of = st.lists(st.text(alphabet="> 1.abYes\u276f\x1b[2m7;0\u4f60", max_size=12), min_size=1, max_size=5)


@given(rows_of, st.none() | st.tuples(st.integers(0, 12), st.integers(0, 6)))
def test_any_screen_is_read(rows: list[str], cursor: tuple[int, int] | None) -> None:
    """Every screen gets an answer, and where a wake could stand alone after a draft it never does."""
    drawn = screen("\n".join(rows), cursor)
    assert empty_composer(drawn) in (None, "draft", "dialog", "not_at_prompt", "no_prompt")
    assert stands_alone(drawn, ID) is None
    typed = screen("> abc " + TEXT.split("\n")[0])
    assert stands_alone(typed, ID) is False
