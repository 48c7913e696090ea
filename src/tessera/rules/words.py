"""Words, as the index keeps them and as a query asks for them. Pure.

The engine's own tokenizer finds words where a language separates them. Before it sees them, case, accents and
width are folded, and scripts that write without spaces are cut into overlapping pairs of characters: a run of
them in a query is then found wherever it stands in a text. (docs/decisions/0034)
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from msgspec import Struct

from tessera.limits import PARTS_PER_QUERY_MAX, WORDS_PER_QUERY_MAX

# Thai, Lao, Tibetan, Burmese, Khmer, kana, Han.
_UNSEPARATED: Final = (
    "\u0e00-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
_SEPARATED: Final = rf"[^\s\x00-\x1f\x7f{_UNSEPARATED}]+"
_RUN_CHARS_MAX: Final = 64  # of a query's run without spaces; more than that is no word
_RUN = re.compile(f"[{_UNSEPARATED}]+")
_RUNS = re.compile(f"(?P<unseparated>[{_UNSEPARATED}]+)|{_SEPARATED}")
_PIECES = re.compile(r"[^\W_]+")
_ACCENTS = re.compile("[\u0300-\u036f]")
_CONTROLS = re.compile(r"[\x00-\x1f\x7f]")


class Phrase(Struct, frozen=True):
    """Something to be found: what the index is asked for, whether a word that only begins so will do, and
    the folded pieces of it that a text shows where it has it.
    """

    asked: str
    begins: bool
    pieces: tuple[str, ...]

    def within(self, said: str) -> bool:
        """Whether a folded text has it."""
        return all(piece in said for piece in self.pieces)


def indexable(text: str) -> str:
    """A text as the index takes it."""
    if text.isascii():
        return text  # the tokenizer folds its case
    return _RUN.sub(lambda run: f" {_pairs(run[0])} {run[0][-1]} ", _plain(text))


def phrases(query: str) -> list[Phrase]:
    """What a query asks for, each once, in order. Of any text at all: what has no letter and no digit asks
    for nothing.
    """
    found: dict[str, Phrase] = {}
    for run in _RUNS.finditer(_plain(query)):
        written = run[0][:_RUN_CHARS_MAX]
        pieces = tuple(_PIECES.findall(written))
        if not pieces:
            continue
        unseparated = run["unseparated"] is not None
        asked = _pairs(written) if unseparated else written
        found.setdefault(written, Phrase(asked, unseparated and len(written) == 1, pieces))
        if len(found) == WORDS_PER_QUERY_MAX:
            break
    return list(found.values())


def loosened(wanted: list[Phrase]) -> list[Phrase]:
    """The same for when any of it will do. Of a script without spaces a whole sentence is one run, so each
    pair of its characters stands for itself here; of words that are written together, as in a path, each
    stands for itself beside the whole.
    """
    found: dict[str, Phrase] = {}
    for one in wanted:
        pairs = one.asked.split() if _RUN.match(one.asked) else []
        if len(pairs) <= 1:
            found.setdefault(one.asked, one)
        joined = [piece for piece in one.pieces if len(piece) > 1] if len(one.pieces) > 1 else []
        for part in pairs if len(pairs) > 1 else joined:
            if pieces := tuple(_PIECES.findall(part)):
                found.setdefault(part, Phrase(part, False, pieces))
    return list(found.values())[:PARTS_PER_QUERY_MAX]


def folded(text: str) -> str:
    """A text without what does not count when texts are compared: case, accents, spaces, controls."""
    return " ".join(_CONTROLS.sub(" ", _plain(text)).split())


def parts(words: list[str]) -> list[str]:
    """The runs of three characters in folded words, each once: what a misspelt word still shares with the
    word that was meant.
    """
    found = {word[place : place + 3]: None for word in words for place in range(len(word) - 2)}
    return list(found)[:PARTS_PER_QUERY_MAX]


def _plain(text: str) -> str:
    """Without case, accents and width. Characters that only look composed, as those of Korean, stay whole."""
    if text.isascii():
        return text.lower()
    bare = _ACCENTS.sub("", unicodedata.normalize("NFKD", text))
    return unicodedata.normalize("NFKC", bare.casefold())


def _pairs(run: str) -> str:
    return " ".join(run[place : place + 2] for place in range(len(run) - 1)) or run
