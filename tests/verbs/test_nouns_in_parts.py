"""noun, read_noun: what a scent leads to, without its text and then some of it."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest
from verbs.bench import Bench
from verbs.refusals import refused

from tessera.models import NounText, NounVersion

VERBS = ("noun", "read_noun")
TEXT = "Zeile für Zeile: 東京都 und 🦊.\n" * 40


def test_what_is_known_of_an_object(bench: Bench) -> None:
    """Hash, size, type, title and the last versions, newest first."""
    bench.store.put_object("nouns", "k.md", b"# One")
    bench.world.pass_seconds(5)
    meta = bench.store.put_object("nouns", "k.md", b"# Two\n\ntext", 1, content_type="text/markdown")
    noun = bench.store.noun("nouns/k.md")
    assert (noun.ref, noun.store, noun.bucket, noun.title) == ("nouns/k.md", None, "nouns", "Two")
    assert (noun.version, noun.size, noun.sha256) == (2, meta.size, meta.sha256)
    assert (noun.content_type, noun.created_at) == ("text/markdown", meta.created_at)
    assert noun.versions == [NounVersion(2, 11, meta.created_at), NounVersion(1, 5, bench.after(-5))]


def test_what_is_known_of_a_record(bench: Bench) -> None:
    """The same of a record: its hash is that of its canonical text."""
    for version in range(25):
        bench.store.put_record("s", "k", {"name": f"v{version}"}, version or None)
    noun = bench.store.noun("s/k")
    value = b'{"name":"v24"}'
    assert (noun.store, noun.bucket, noun.title) == ("s", None, "v24")
    assert (noun.size, noun.sha256) == (len(value), hashlib.sha256(value).hexdigest())
    assert [one.version for one in noun.versions] == list(range(25, 5, -1))


@pytest.mark.parametrize("length", [1, 7, 100, 65_536])
def test_read_in_parts(bench: Bench, length: int) -> None:
    """Parts follow each other by `next` and make the whole, never splitting a character."""
    bench.store.put_object("nouns", "k", TEXT.encode())
    bench.store.put_record("s", "k", TEXT)
    for ref in ("nouns/k", "s/k"):
        said, first = "", 0
        while True:
            part = bench.store.read_noun(ref, first, length)
            assert part.length == len(part.text.encode()) <= max(length, 4)
            said += part.text
            if part.next is None:
                break
            assert part.next == first + part.length > first
            first = part.next
        assert len(said.encode()) == part.size
        assert TEXT.strip().replace("\n", "") in said.replace("\n", "").replace("\\n", "")


def test_an_earlier_version(bench: Bench) -> None:
    """Any version can be read; one that never was is not found."""
    bench.store.put_record("s", "k", "one")
    bench.store.put_record("s", "k", "two", 1)
    bench.store.put_object("nouns", "k", b"one")
    assert bench.store.read_noun("s/k", version=1) == NounText("s/k", 1, 5, 0, 5, '"one"', None)
    assert bench.store.read_noun("s/k").text == '"two"'
    refused(bench, "not_found", bench.store.read_noun, "s/k", version=3)
    refused(bench, "not_found", bench.store.read_noun, "nouns/k", version=2)


def test_a_store_and_a_bucket_of_one_name(bench: Bench) -> None:
    """The bucket's comes first unless it is said which is meant."""
    bench.store.put_record("nouns", "k", "record")
    assert bench.store.read_noun("nouns/k").text == '"record"'
    bench.store.put_object("nouns", "k", b"object")
    assert bench.store.read_noun("nouns/k").text == "object"
    assert bench.store.read_noun("nouns/k", home="store").text == '"record"'
    assert bench.store.noun("nouns/k", home="bucket").bucket == "nouns"
    refused(bench, "not_found", bench.store.noun, "kits/k")
    refused(bench, "not_found", bench.store.noun, "nouns/other", home="store")


def test_what_is_no_text(bench: Bench) -> None:
    """Bytes are refused with a word on how to get them; so is the middle of a character; the end is empty."""
    bench.store.put_object("nouns", "bytes", b"\xff\xfe" * 10)
    bench.store.put_object("nouns", "fox", "🦊".encode())
    said = refused(bench, "invalid_request", bench.store.read_noun, "nouns/bytes")
    assert "no text in UTF-8" in said.detail
    assert "get_object" in said.detail
    said = refused(bench, "invalid_request", bench.store.read_noun, "nouns/fox", 1)
    assert "middle of a character" in said.detail
    assert bench.store.read_noun("nouns/fox", 4) == NounText("nouns/fox", 1, 4, 4, 0, "", None)
    assert bench.store.read_noun("nouns/fox", 99).text == ""


@pytest.mark.parametrize("ref", ["", "k", "s/", "/k", "S/k", "s/k/v", "s/%", "../k", 7])
def test_what_is_no_ref(bench: Bench, ref: Any) -> None:
    """A place, a slash and a key, each in its form."""
    refused(bench, "invalid_request", bench.store.noun, ref)


def test_who_may_read(bench: Bench) -> None:
    """Both need the store scope."""
    bench.store.put_record("s", "k", 1)
    for key in (bench.key(scopes=["admin"]), bench.key()):
        refused(bench, "forbidden", key.noun, "s/k")
        refused(bench, "forbidden", key.read_noun, "s/k")
    assert bench.key(scopes=["store"]).read_noun("s/k").text == "1"
