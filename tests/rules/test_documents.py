"""What a document says: title and lines, of Markdown, text, JSON and bytes that are none of them."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tessera.limits import NOUN_TEXT_BYTES_MAX, TITLE_BYTES_MAX
from tessera.rules import documents
from tessera.rules.documents import Told

MARKDOWN = b"""\
---
name: rotate-keys
owner: ops
---
![badge](https://img.example/x.svg)

***

# Rotating the **signing** keys

> Do this [every month](https://x.example/why).

- [ ] stop `signer`
1. make new keys

| step | who |
|------|-----|
| one  | ann |

```sh
make rotate
```
"""


def of_bytes(data: bytes, content_type: str = "application/octet-stream", key: str = "k") -> Told:
    """The whole of a small file."""
    return documents.of_bytes(data, True, content_type, key)


def test_markdown() -> None:
    """Marks, rules, links and pictures go, what they mark stays; front matter comes last."""
    told = of_bytes(MARKDOWN, "text/markdown; charset=utf-8")
    assert told == Told(
        "rotate-keys",
        "badge\nRotating the signing keys\nDo this every month.\nstop signer\nmake new keys\n| step | who |\n"
        "| one | ann |\nmake rotate\nname: rotate-keys\nowner: ops",
    )
    assert of_bytes(b"intro\n\n## Second\nrest", key="a.md") == Told("Second", "intro\nrest")
    assert of_bytes(b"no heading\nrest", key="a.md").title == "no heading"


def test_text() -> None:
    """The first line that says something is the title; lines that only draw are passed over."""
    assert of_bytes(b"\n=====\n Report  of May \n-----\n\nall\twell\n") == Told("Report of May", "all well")


def test_a_title_that_is_too_long_stays_in_the_text() -> None:
    """What a cut title leaves out can still be found."""
    told = of_bytes(b"word " * 100 + b"needle")
    assert len(told.title.encode()) <= TITLE_BYTES_MAX
    assert told.text.endswith("needle")


@pytest.mark.parametrize(
    ("value", "title", "text"),
    [
        ({"title": "T", "n": 1}, "T", "n: 1"),
        ({"a": {"b": ["x", True, None, 1.5]}, "name": " N "}, "N", "b: x\nb: true\nb: 1.5"),
        ({"name": 3}, "k", "name: 3"),
        (["x", ["y"]], "k", "x\ny"),
        ("line one\nline two", "line one", "line two"),
        (7, "k", "7"),
        (None, "k", ""),
        ({}, "k", ""),
    ],
)
def test_json(value: Any, title: str, text: str) -> None:
    """A line for every value under its name; the title is what is called one, else the key."""
    assert documents.of_value(value, "k") == Told(title, text)


def test_json_in_a_file() -> None:
    """JSON is known by its type, its name or its look; what is broken or cut off is read as text."""
    whole = b'{"title":"T","text":"found"}'
    for how in ({"content_type": "application/json"}, {"key": "a.json"}, {}):
        assert of_bytes(whole, **how) == Told("T", "text: found")
    assert "found" in of_bytes(whole[:-1]).title
    assert "found" in documents.of_bytes(whole, False, "application/json", "k").title
    assert of_bytes(b"[" * 10_000, "application/json").title


@pytest.mark.parametrize(
    "data", [b"", bytes(range(256)), b"\x89PNG\r\n\x1a\n\x00", b"\xff\xfe\xfd" * 50, b"\x00" * 9]
)
def test_what_is_no_text_is_told_by_its_key(data: bytes) -> None:
    """Bytes of no text, and none at all."""
    assert of_bytes(data, key="picture.png").title in ("picture.png", "\ufefffd") or not of_bytes(data).text


def test_damage_here_and_there_is_passed_over() -> None:
    """A text with a broken byte, or cut in the middle of a character, is still a text."""
    text = "Überall steht Text, und nur hier ist etwas kaputt".encode()
    assert of_bytes(text[:20] + b"\xff" + text[20:]).title.startswith("Überall steht Text")
    assert documents.of_bytes(text[:1], False, "text/plain", "k").title == "k"
    assert of_bytes("日本語".encode("utf-16")).title == "日本語"
    assert of_bytes(b"\xef\xbb\xbfmarked").title == "marked"


@pytest.mark.parametrize(("charset", "codec"), [
    ("shift_jis", "shift_jis"), ('"EUC-JP"', "euc_jp"), ("ms932", "cp932"), ("utf-16le", "utf-16-le"),
])  # fmt: skip
def test_a_declared_character_set_is_believed(charset: str, codec: str) -> None:
    """Text in another character set than UTF-8 is told if its type declares the set, by its key if not."""
    data = "署名鍵\n毎月更新する".encode(codec)
    told = of_bytes(data, f"text/plain; charset={charset}")
    assert told == Told("署名鍵", "毎月更新する")
    assert of_bytes(data, "text/plain", "k").title == "k"


@pytest.mark.parametrize("charset", ["nonsense", "zip", "hex", "unicode_escape", "punycode", "utf-8", ""])
def test_what_is_no_character_set_is_passed_over(charset: str) -> None:
    """A set that nobody knows, or that is a codec of something else, leaves the bytes to be read as UTF-8."""
    assert of_bytes("Schlüssel".encode(), f"text/plain; charset={charset}").title == "Schlüssel"


def test_what_cannot_be_seen_is_not_told() -> None:
    """Control and direction characters leave no trace in title or lines."""
    told = of_bytes("a\x1b[2Jb\u202ec\ud7ff\u2066d\nx\u0085y\x7fz".encode())
    assert told == Told("a [2Jb c\ud7ff d", "x\ny z")


@given(st.binary(max_size=400) | st.text(max_size=200).map(lambda text: text.encode(errors="ignore")))
@settings(max_examples=60, deadline=None)
def test_any_bytes_at_all(data: bytes) -> None:
    """Nothing raises, under any type; title and lines keep to their bounds and hold no line breaks."""
    for content_type in ("text/markdown", "application/json", "text/plain"):
        told = documents.of_bytes(data, True, content_type, "k")
        assert told.title
        assert len(told.title.encode()) <= TITLE_BYTES_MAX
        assert all(line == documents.line(line) for line in told.text.split("\n"))


@pytest.mark.parametrize(
    "piece", ["<a", "[", "![a](", "<!--", "`", "#", "> ", "- ", "1. ", "**", "---\n", "|"]
)
def test_hostile_markup_costs_no_more_than_other(piece: str) -> None:
    """A page of marks that open and never close is read about as fast as any page."""
    begun = time.perf_counter()
    of_bytes((piece * NOUN_TEXT_BYTES_MAX)[:NOUN_TEXT_BYTES_MAX].encode(), "text/markdown")
    assert time.perf_counter() - begun < 2  # what grows with the square takes minutes


def test_large_documents_are_told_by_their_beginning() -> None:
    """A noun's text has its bound, in bytes, and is cut between characters."""
    told = of_bytes(("zeile ü\n" * 20_000).encode())
    assert NOUN_TEXT_BYTES_MAX - 20 <= len(told.text.encode()) <= NOUN_TEXT_BYTES_MAX
    assert len(documents.of_value({"a": "ü" * 100_000}, "k").text.encode()) <= NOUN_TEXT_BYTES_MAX
