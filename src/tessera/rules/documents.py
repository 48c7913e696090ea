"""What a document says, as plain lines under a title, whatever it is made of: Markdown, text, JSON or bytes
that nobody can read. Pure, and safe for any bytes. (Specification §6.)
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec
from msgspec import Struct

from tessera.limits import BATCH_TEXT_BYTES_MAX, NOUN_TEXT_BYTES_MAX, TITLE_BYTES_MAX

_TITLES: Final = ("title", "name", "subject", "headline", "trigger", "question", "summary", "description")
_DAMAGED_MAX: Final = 20  # one broken character in so many, and the bytes are no text
_UNSEEN = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufffd]+")
_RULE = re.compile(r"^[\s|:*_=~`#>+-]*(?:```\w*|~~~\w*)?$")  # lines that draw instead of saying something
_MARK = re.compile(r"^\s*(?:#{1,6}\s+|>\s?|[-*+]\s+(?:\[[ xX]\]\s+)?|\d{1,3}[.)]\s+)+")
# What may be long has a bound, or a page of opening brackets would be read again for each of them.
_LINK = re.compile(r"!?\[([^\[\]\n]{0,300})\]\([^()\n]{0,300}\)")
_EMPHASIS = re.compile(r"\*\*|__|`|<!--[^\n]{0,300}?-->|</?[a-zA-Z][^<>\n]{0,300}>")
_CHARSET = re.compile(r";\s*charset\s*=\s*[\"']?([A-Za-z0-9_.:-]{1,40})", re.IGNORECASE)
# As Python names them: not UTF-8, which needs no word, and none of its codecs that are no character sets.
_CHARSETS: Final = (
    "big5", "cp", "euc", "gb", "hz", "iso", "johab", "koi8", "mac", "ptcp", "shift_jis", "tis", "utf-16",
    "utf-32",
)  # fmt: skip
_HEADING = re.compile(r"^#{1,6}\s+\S")
_FRONT = re.compile(r"\A---[ \t]*\n(.*?)\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)


class Told(Struct, frozen=True):
    """A document's title and its lines."""

    title: str
    text: str


def of_value(value: Any, key: str, bytes_max: int = NOUN_TEXT_BYTES_MAX) -> Told:
    """What a JSON value says: one line for each name and what stands under it, in order."""
    title = ""
    if isinstance(value, dict):
        words = (value.get(name) for name in _TITLES)
        title = next((word for word in words if isinstance(word, str) and word.strip()), "")
        if title and len(title.encode()) <= TITLE_BYTES_MAX:  # then it need not be said again
            name = next(name for name in _TITLES if value.get(name) == title)
            value = {other: said for other, said in value.items() if other != name}
    elif isinstance(value, str):
        return _of_text(value, key, bytes_max)
    return _told(title, _lines_of(value), key, bytes_max)


def of_bytes(beginning: bytes, whole: bool, content_type: str, key: str) -> Told:
    """What a file says, by its first bytes; `whole` says whether they are all. Of what is no text only the
    key is told.
    """
    text = _decoded(beginning, whole, content_type)
    if not text:
        return _told("", (), key)
    kind = content_type.partition(";")[0].strip().lower()
    looks_like_json = kind.endswith("json") or key.endswith(".json") or text.lstrip()[:1] in ("{", "[")
    if whole and looks_like_json:
        try:
            return of_value(msgspec.json.decode(text), key)
        except (msgspec.MsgspecError, RecursionError, ValueError):
            pass  # then it is read as the text that it also is
    if kind == "text/markdown" or key.endswith((".md", ".markdown")):
        return _of_markdown(text, key)
    return _of_text(text, key)


def cut(text: str, bytes_max: int) -> str:
    """The beginning of a text: at most so many bytes of UTF-8, and never half a character."""
    if len(text) * 4 <= bytes_max:
        return text
    return text.encode()[:bytes_max].decode(errors="ignore")


def line(text: str) -> str:
    """A text as one line, without what cannot be seen."""
    return " ".join(_UNSEEN.sub(" ", text).split())


def _decoded(data: bytes, whole: bool, content_type: str) -> str:
    """The text that bytes are, or none: damage here and there is passed over."""
    if (charset := _declared(content_type)) is not None:
        return _sound(data.decode(charset, errors="replace"))
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16", errors="replace")
    if b"\x00" in data:
        return ""
    decoder = codecs.getincrementaldecoder("utf-8-sig")(errors="replace")
    return _sound(decoder.decode(data, final=whole))


def _declared(content_type: str) -> str | None:
    """The character set that a type names, if it is another than UTF-8 and a text has it."""
    found = _CHARSET.search(content_type)
    try:
        name = None if found is None else codecs.lookup(found[1]).name
    except LookupError:
        return None
    return name if name is not None and name.startswith(_CHARSETS) else None


def _sound(text: str) -> str:
    return "" if text.count("\ufffd") * _DAMAGED_MAX > len(text) else text


def _of_text(text: str, key: str, bytes_max: int = NOUN_TEXT_BYTES_MAX) -> Told:
    lines = [said for raw in text.splitlines() if (said := line(raw)) and not _RULE.match(said)]
    title = lines[0] if lines else ""
    fits = len(title.encode()) <= TITLE_BYTES_MAX
    return _told(title, lines[1:] if fits else lines, key, bytes_max)


def _of_markdown(text: str, key: str) -> Told:
    """The title is the front matter's, else the first heading; front matter comes last, for it is about the
    text and not of it.
    """
    front = _FRONT.match(text)
    about = [line(raw) for raw in front[1].splitlines()] if front else []
    title = next(
        (said.partition(":")[2].strip(" \"'") for said in about if said.startswith(("title:", "name:"))), ""
    )
    lines = []
    for raw in (text[front.end() :] if front else text).splitlines():
        if _RULE.match(raw):
            continue
        said = line(_EMPHASIS.sub("", _LINK.sub(r"\1", _MARK.sub("", raw))))
        if not title and _HEADING.match(raw):
            title = said
        elif said:
            lines.append(said)
    return _told(title or (lines[0] if lines else ""), [*lines, *filter(None, about)], key)


def _lines_of(value: Any) -> Iterator[str]:
    """A JSON value's names and what stands under them, without recursion."""
    stack: list[tuple[str, Any]] = [("", value)]
    while stack:
        name, one = stack.pop()
        if isinstance(one, dict):
            stack.extend(reversed([(str(key), inner) for key, inner in one.items()]))
        elif isinstance(one, list):
            stack.extend((name, inner) for inner in reversed(one))
        elif one is not None and one != "":
            word = str(one).lower() if isinstance(one, bool) else str(one)
            yield f"{name}: {word}" if name else word


def share_of(nouns: int) -> int:
    """How much of the text of each of so many nouns is kept, in bytes, when one call writes them."""
    return min(NOUN_TEXT_BYTES_MAX, BATCH_TEXT_BYTES_MAX // nouns)


def _told(title: str, lines: Iterable[str], key: str, bytes_max: int = NOUN_TEXT_BYTES_MAX) -> Told:
    """As much of it as is kept."""
    kept, room = [], bytes_max
    for raw in lines:
        said = cut(line(raw[:room]), room)
        if said:
            kept.append(said)
            room -= len(said.encode()) + 1
        if room <= 0:
            break
    return Told(cut(line(title[: 4 * TITLE_BYTES_MAX]), TITLE_BYTES_MAX) or key, "\n".join(kept))
