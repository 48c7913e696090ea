"""Reading a terminal application's screen: is its composer empty, does a wake stand alone in it, was it
taken?

Pure functions of a screen. They know one convention only: a composer's first row begins with a prompt
mark, and what an application suggests, but nobody typed, is faint. Where that cannot be seen, the answer
is "not ready".
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Final

from tessera.wake import states
from tessera.wake.text import head

_ESCAPE: Final = re.compile(
    r"\x1b\[([0-9;:]*)m|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[()][A-Z0-9]|[\x0e\x0f]"
)
_FRAME: Final = " \u2502\u2503|\u2551\u258c\u258f"
_PROMPT: Final = re.compile(rf"^[{_FRAME}]*[\w.@:~/+-]*[>\u203a\u276f\u00bb$%#]+(?= |$)")
_RULE: Final = re.compile(r"^[\s\u2500-\u257f\u2580-\u259f|+_=-]*$")
_DIALOG: Final = re.compile(
    r"^\s*(?:\d+[.):]|\[.?\]|\(.?\)|(?:yes|no|ok|allow|deny|approve|reject|cancel|continue)\b)", re.IGNORECASE
)
_PLACEHOLDER: Final = re.compile(r"\[Pasted (?:Content|text)[^\]\n]*\]")

NO_PROMPT: Final = "no_prompt"
DIALOG: Final = "dialog"
NOT_AT_PROMPT: Final = "not_at_prompt"


@dataclass(frozen=True, slots=True)
class Cell:
    """One character of a row, with what matters of its style."""

    char: str
    faint: bool
    reverse: bool


@dataclass(frozen=True, slots=True)
class Screen:
    """A pane as it is shown now."""

    rows: tuple[tuple[Cell, ...], ...]  # as displayed
    lines: tuple[str, ...]  # the same with rows that the terminal wrapped joined again, without style
    cursor: tuple[int, int] | None  # column and row in cells; None: hidden

    def text(self, row: int) -> str:
        """One row without style."""
        return "".join(cell.char for cell in self.rows[row]).rstrip()


def cells(row: str) -> tuple[Cell, ...]:
    """The characters of a row that carries SGR sequences."""
    found: list[Cell] = []
    faint = reverse = False
    place = 0
    for escape in _ESCAPE.finditer(row):
        found += [Cell(char, faint, reverse) for char in row[place : escape.start()]]
        place = escape.end()
        if escape[1] is not None:
            faint, reverse = _style(escape[1], faint, reverse)
    return (*found, *(Cell(char, faint, reverse) for char in row[place:]))


def _style(codes: str, faint: bool, reverse: bool) -> tuple[bool, bool]:
    numbers = [int(code.split(":")[0] or 0) for code in codes.split(";")]
    while numbers:
        code = numbers.pop(0)
        if code in (38, 48, 58) and numbers:  # a colour, whose own numbers are no styles
            del numbers[: 2 if numbers[0] == 5 else 4]
        elif code == 0:
            faint = reverse = False
        elif code == 2:
            faint = True
        elif code == 22:
            faint = False
        elif code in (7, 27):
            reverse = code == 7
    return faint, reverse


def empty_composer(screen: Screen, *, promptless: bool = False) -> str | None:
    """None when somebody could begin to type a new prompt here; else why not. `promptless` allows an
    application that shows no prompt mark at all.
    """
    if screen.cursor is None:
        marked = [row for row in range(len(screen.rows)) if _PROMPT.match(screen.text(row))]
        return _row_empty(screen.rows[marked[-1]]) if marked else NO_PROMPT
    column, row = screen.cursor
    if row >= len(screen.rows):
        return NO_PROMPT
    here = screen.rows[row]
    before = _before(here, column)
    prompt = _PROMPT.match(before)
    if prompt and before[prompt.end() :].strip():
        return _what_stands(before[prompt.end() :])
    if _PROMPT.match(screen.text(row)):
        return _row_empty(here) or _draft_below(screen, row)
    above = _composer_above(screen, row)
    if above is not None:  # the cursor is in a later line of what a prompt began
        return _what_stands(above) if above.strip() else states.DRAFT
    if any(not cell.faint and cell.char not in _FRAME for cell in here):
        return NOT_AT_PROMPT
    return None if promptless else NO_PROMPT


def _before(row: tuple[Cell, ...], column: int) -> str:
    """What stands left of the cursor; a wide character takes two cells."""
    text, width = "", 0
    for cell in row:
        if width >= column:
            break
        text += cell.char
        width += _width(cell.char)
    return text


def _width(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def _row_empty(row: tuple[Cell, ...]) -> str | None:
    """Whether a row holds a prompt mark and nothing that somebody typed."""
    text = "".join(cell.char for cell in row)
    prompt = _PROMPT.match(text)
    assert prompt is not None
    typed = [cell for cell in row[prompt.end() :] if not cell.faint and cell.char not in _FRAME]
    if [cell for cell in typed if not cell.reverse] or len(typed) > 1:  # one reversed cell is a drawn cursor
        return _what_stands("".join(cell.char for cell in row[prompt.end() :]))
    return None


def _what_stands(text: str) -> str:
    return DIALOG if _DIALOG.match(text) else states.DRAFT


def _draft_below(screen: Screen, row: int) -> str | None:
    """Whether the row under an empty prompt looks like the draft's next line."""
    if row + 1 >= len(screen.rows):
        return None
    below = screen.rows[row + 1]
    text = screen.text(row + 1)
    shown = [cell for cell in below if not cell.faint and not cell.reverse and not cell.char.isspace()]
    if not shown or _RULE.match(text) or not text.startswith("  "):
        return None
    return states.DRAFT


def _composer_above(screen: Screen, row: int) -> str | None:
    """The text behind the prompt mark of the block of rows that ends here, if there is one."""
    for above in range(row - 1, -1, -1):
        text = screen.text(above)
        if not text.strip(_FRAME) or _RULE.match(text):
            return None
        if prompt := _PROMPT.match(text):
            return text[prompt.end() :]
    return None


def stands_alone(screen: Screen, message_id: str, *, promptless: bool = False) -> bool | None:
    """Whether the wake stands in the composer with nothing else: True, False (something stands before it), or
    None (it is not seen).
    """
    for place in range(len(screen.lines) - 1, -1, -1):
        line = screen.lines[place]
        found = line.rfind(head(message_id))
        if found < 0:
            continue
        before = line[:found]
        if prompt := _PROMPT.match(before):
            return not before[prompt.end() :].strip()
        if before.strip(_FRAME):
            return False
        if _marked_above(screen.lines, place):
            return False
        return True if promptless else None
    return None


def _marked_above(lines: tuple[str, ...], place: int) -> bool:
    for above in range(place - 1, -1, -1):
        if not lines[above].strip(_FRAME) or _RULE.match(lines[above]):
            return False
        if _PROMPT.match(lines[above]):
            return True
    return False


def stands(screen: Screen, message_id: str, text: str, *, tried: bool, promptless: bool = False) -> bool:
    """Whether the wake waits in the composer for its Enter. If it was `tried` before, a stand-in of its
    size or its end on a screen that its beginning has left count as well.
    """
    if empty_composer(screen, promptless=promptless) is None:
        return False
    if stands_alone(screen, message_id, promptless=promptless):
        return not taken(screen, message_id, text, promptless=promptless)
    if not tried:
        return False
    whole = head(message_id) in " ".join(screen.lines)
    return _stand_in(screen, text) or (not whole and _holds(screen, f"[end of {message_id};"))


def proven(
    before: Screen, after: Screen, message_id: str, text: str, *, promptless: bool = False
) -> bool | None:
    """Whether a paste is seen to have arrived alone in a composer that was empty before: True, False (it
    stands with something else), None (not seen yet). An application may show a stand-in for a long paste,
    or so much of it that its beginning has left the screen.
    """
    seen = stands_alone(after, message_id, promptless=promptless)
    if seen is not None:
        return seen
    if _stand_in(after, text) and not _stand_in(before, text):
        return True
    end = f"[end of {message_id};"
    whole = head(message_id) in " ".join(after.lines)
    if not whole and _holds(after, end) and not _holds(before, end):
        return True
    return None


def _holds(screen: Screen, text: str) -> bool:
    return any(text in line for line in screen.lines)


def _stand_in(screen: Screen, text: str) -> bool:
    """Whether a prompt is followed by a stand-in whose numbers fit the text, and by nothing else."""
    sizes = {str(len(text)), str(text.count("\n")), str(text.count("\n") + 1)}
    for line in screen.lines:
        found = _PLACEHOLDER.search(line)
        if found is None:
            continue
        prompt = _PROMPT.match(line[: found.start()])
        alone = prompt is not None and not line[prompt.end() : found.start()].strip()
        numbers = set(re.findall(r"\d+", found[0].replace(",", "")))
        if alone and numbers & sizes and not line[found.end() :].strip(_FRAME):
            return True
    return False


def taken(screen: Screen, message_id: str, text: str, *, promptless: bool = False) -> bool:
    """Whether the wake has left the composer after Enter."""
    if empty_composer(screen, promptless=promptless) is None:
        return True
    places = [place for place, line in enumerate(screen.lines) if head(message_id) in line]
    if not places:
        return not _holds(screen, f"[end of {message_id};") and not _stand_in(screen, text)
    below = screen.lines[places[-1] + 1 :]
    return any(_PROMPT.match(line) for line in below)
