"""search_nouns: records and objects found by their words, at once, in any language, by who may read them."""

from __future__ import annotations

import json
import threading
from contextlib import closing
from typing import Any

import apsw
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from verbs.bench import Bench
from verbs.refusals import refused

from tessera.library import Tessera
from tessera.limits import NOUN_TEXT_BYTES_MAX, SCENT_TOKENS_MAX
from tessera.models import NounScent

VERBS = ("search_nouns",)
TEXTS = {
    "english": "The payments service restarts at night, see the runbook.",
    "german": "Straßenbahnen fahren über Größe hinaus.",
    "french": "Le café est fermé à Noël.",
    "russian": "Сервер перезапускается ночью.",
    "arabic": "الخادم يعمل في الليل",
    "hebrew": "השרת פועל בלילה",
    "hindi": "सर्वर रात में हिन्दी बोलता है",
    "korean": "서버는 밤에 다시 시작합니다",
    "greek": "διακομιστής ξεκινά τη νύχτα",
    "japanese": "サーバーは夜間に再起動します。東京都の設定です。",
    "chinese": "服务器在夜间重新启动。数据库也是。",
    "thai": "เซิร์ฟเวอร์เริ่มใหม่ตอนกลางคืน",
    "burmese": "ဆာဗာသည်ညအချိန်တွင်ပြန်စသည်",
}
ASKED = [
    ("payments SERVICE", "english"), ("straßenbahnen", "german"), ("grosse", "german"),
    ("cafe noel", "french"), ("сервер", "russian"), ("الليل", "arabic"),
    ("בלילה", "hebrew"), ("हिन्दी", "hindi"), ("서버는", "korean"),
    ("νυχτα", "greek"), ("再起動", "japanese"), ("東京都", "japanese"),
    ("サーバー", "japanese"), ("数据库", "chinese"), ("夜间重新启动", "chinese"),
    ("เริ่ม", "thai"), ("กลางคืน", "thai"), ("အချိန်", "burmese"), ("動し", "japanese"),
]  # fmt: skip


def refs(shop: Tessera, query: str, **how: Any) -> list[str]:
    """What is found, the best first."""
    return [noun.ref for noun in shop.search_nouns(query, **how)]


def test_a_scent(bench: Bench) -> None:
    """Of a record and of an object: what it is, how large, which version, why it was found."""
    record = bench.store.put_record("facts", "paris", {"title": "Paris", "is": "a town on the Seine"})
    meta = bench.store.put_object(
        "nouns", "seine.md", b"# The Seine\n\nA river.", content_type="text/markdown"
    )
    value = b'{"is":"a town on the Seine","title":"Paris"}'
    river, town = bench.store.search_nouns("seine")

    assert river == NounScent(
        "nouns/seine.md", None, "nouns", "The Seine", "A river.", 5, meta.size, meta.sha256, 1, 1.0
    )
    assert (town.ref, town.store, town.bucket, town.title) == ("facts/paris", "facts", None, "Paris")
    assert (town.summary, town.size, town.version) == ("is: a town on the Seine", len(value), record.version)
    assert 0.5 <= town.score < 1.0


@pytest.mark.parametrize(("query", "found"), ASKED)
def test_words_of_any_language(bench: Bench, query: str, found: str) -> None:
    """Words are found whatever their case and accents; in scripts without spaces any run of characters is."""
    for name, text in TEXTS.items():
        bench.store.put_record("texts", name, {"body": text})
    assert refs(bench.store, query) == [f"texts/{found}"]


def test_the_latest_version_is_found(bench: Bench) -> None:
    """What a new version no longer says is not found from its commit on, in records and in objects."""
    bench.store.put_record("s", "k", {"word": "ancient"})
    bench.store.put_object("nouns", "k", b"ancient too")
    assert refs(bench.store, "ancient") == ["nouns/k", "s/k"]
    bench.store.put_record("s", "k", {"word": "modern"}, 1)
    bench.store.put_object("nouns", "k", b"modern too", 1)
    assert refs(bench.store, "ancient") == []
    assert {(one.ref, one.version) for one in bench.store.search_nouns("modern")} == {
        ("s/k", 2),
        ("nouns/k", 2),
    }


def test_a_batch_is_found_as_a_whole(bench: Bench) -> None:
    """Of several versions in one batch the last counts; a batch that is refused leaves nothing to find."""
    bench.store.put_records(
        [
            {"store": "s", "key": "a", "value": "first"},
            {"store": "s", "key": "a", "value": "second", "expected_version": 1},
            {"store": "s", "key": "b", "value": "second"},
        ]
    )
    assert (refs(bench.store, "first"), refs(bench.store, "second")) == ([], ["s/a", "s/b"])
    refused(
        bench, "version_conflict", bench.store.put_records,
        [{"store": "s", "key": "c", "value": "third"}, {"store": "s", "key": "b", "value": "third"}],
    )  # fmt: skip
    assert refs(bench.store, "third") == []


def test_where_to_look(bench: Bench) -> None:
    """A store, a bucket, both, or everywhere; a store that is not there holds nothing."""
    bench.store.put_record("s", "k", "word")
    bench.store.put_record("nouns", "k", "word")
    bench.store.put_object("nouns", "o", b"word")
    bench.store.put_object("kits", "o", b"word")
    assert refs(bench.store, "word") == ["kits/o", "nouns/k", "nouns/o", "s/k"]
    assert refs(bench.store, "word", store="nouns") == ["nouns/k"]
    assert refs(bench.store, "word", bucket="nouns") == ["nouns/o"]
    assert refs(bench.store, "word", store="s", bucket="kits") == ["kits/o", "s/k"]
    assert refs(bench.store, "word", store="absent") == []
    assert len(refs(bench.store, "word", limit=2)) == 2


def test_all_words_before_any_before_beginnings(bench: Bench) -> None:
    """What has all words comes alone if it fills the answer, else first; beginnings come last."""
    said = {"both": "red apple", "one": "red brick", "other": "an apple", "long": "redaction"}
    for key, value in said.items():
        bench.store.put_record("s", key, value)
    assert refs(bench.store, "red apple", limit=1) == ["s/both"]
    found = bench.store.search_nouns("red apple")
    assert found[0].ref == "s/both"
    assert {one.ref: one.score >= 0.5 for one in found} == {"s/both": True, "s/one": False, "s/other": False}
    assert refs(bench.store, "redact") == ["s/long"]


def test_words_that_are_written_together(bench: Bench) -> None:
    """A path, a flag or an error finds what has it as it stands first, then what has any of its words."""
    said = {"whole": "see src/queue.py", "apart": "the queue in src", "one": "a queue", "none": "py"}
    for key, value in said.items():
        bench.store.put_record("s", key, value)
    found = bench.store.search_nouns("src/queue.rs:12")
    assert [one.ref for one in found] == ["s/apart", "s/whole", "s/one"]
    assert refs(bench.store, "src/queue.py")[0] == "s/whole"
    assert refs(bench.store, 'KeyError:"queue"', limit=1) == ["s/one"]


def test_a_sentence_without_spaces(bench: Bench) -> None:
    """A question in a script without spaces finds what shares some of it, and says how much."""
    bench.store.put_record("s", "a", {"title": "数据库", "body": "数据库服务器的重新启动步骤"})
    bench.store.put_record("s", "b", {"title": "食堂", "body": "今天的菜单"})
    [found] = bench.store.search_nouns("怎样重新启动数据库")
    assert found.ref == "s/a"
    assert 0.5 <= found.score < 1


def test_a_title_counts_more_than_a_line(bench: Bench) -> None:
    """Of two that have the word, the one that is called so comes first."""
    bench.store.put_record("s", "a", {"title": "Something else", "body": "about lanterns, among others"})
    bench.store.put_record("s", "b", {"title": "Lanterns", "body": "something else, among others"})
    assert refs(bench.store, "lanterns") == ["s/b", "s/a"]


def test_keys_are_words_too(bench: Bench) -> None:
    """A noun is found by its key, and no character of a query stands for others."""
    for key in ("a_b", "axb", "A_c", "a.d", "release-notes"):
        bench.store.put_record("s", key, {})
    assert refs(bench.store, "release") == ["s/release-notes"]
    assert refs(bench.store, "a_b") == ["s/a_b"]
    for nothing in ("%", "_", "a%b", "*", "x*b", "?"):
        assert "s/axb" not in refs(bench.store, nothing)


def test_bytes_that_are_no_text(bench: Bench) -> None:
    """Binary, broken and huge files are stored and found: by their key, and by what text they begin with."""
    bench.store.put_object("nouns", "picture.png", bytes(range(256)) * 9)
    bench.store.put_object("nouns", "broken.json", b'{"word": "halfway')
    bench.store.put_object("nouns", "huge.txt", b"colossal\n" + b"filler words\n" * 200_000)
    bench.store.put_object("nouns", "empty", b"")
    bench.store.put_object("nouns", "nulls", b"\x00" * 100)
    assert refs(bench.store, "picture") == ["nouns/picture.png"]
    assert refs(bench.store, "halfway") == ["nouns/broken.json"]
    assert refs(bench.store, "colossal") == ["nouns/huge.txt"]
    assert refs(bench.store, "empty") == ["nouns/empty"]
    assert bench.store.search_nouns("nulls")[0].summary == ""


def test_the_same_bytes_twice(bench: Bench) -> None:
    """An object whose bytes the store had already is found as well as one whose bytes are new."""
    bench.store.put_blob(b"shared words")
    bench.store.put_object("nouns", "a", b"shared words")
    bench.store.put_object("kits", "b", b"shared words")
    assert refs(bench.store, "shared") == ["kits/b", "nouns/a"]


def test_large_records(bench: Bench) -> None:
    """What stands in the first 32 KiB of a text is found; the rest is not, and costs nothing."""
    bench.store.put_record("s", "k", {"a": "early " + "x " * NOUN_TEXT_BYTES_MAX, "b": "late"})
    assert (refs(bench.store, "early"), refs(bench.store, "late")) == (["s/k"], [])


def test_large_batches(bench: Bench) -> None:
    """Of many long records in one call the beginnings are found, so that no call takes long for all."""
    writes = [
        {"store": "s", "key": f"k-{n}", "value": {"a": f"early{n} " + "x " * 3_000, "b": "late"}}
        for n in range(100)
    ]
    bench.store.put_records(writes)
    assert refs(bench.store, "early77") == ["s/k-77"]
    assert refs(bench.store, "late") == []
    bench.store.put_records([{**one, "expected_version": 1} for one in writes[:8]])
    assert len(refs(bench.store, "late")) == 8


def test_damage_on_disk(bench: Bench) -> None:
    """A value and a blob that were damaged behind the store's back are still found, and nothing fails."""
    bench.store.put_record("s", "k", {"word": "sound"})
    bench.store.put_object("nouns", "o", b"sound bytes")
    bench.store.close()
    with closing(apsw.Connection(str(bench.path))) as file:
        file.execute("update records set value = cast(x'ff00fe' as text)")
        file.execute("update chunks set bytes = x'00ff'")
    bench.reopened()
    assert refs(bench.store, "sound") == ["nouns/o", "s/k"]
    bench.store.put_object("nouns", "other", b"sound bytes")  # the blob is there, and damaged
    assert refs(bench.store, "other") == ["nouns/other"]


def test_whoever_may_not_read_finds_nothing(bench: Bench) -> None:
    """A key without the store scope is refused, admin or not; one with it finds what it may read."""
    bench.store.put_record("s", "k", "word")
    for key in (bench.key(scopes=["admin"]), bench.key()):
        refused(bench, "forbidden", key.search_nouns, "word")
    assert refs(bench.key(scopes=["store"]), "word") == ["s/k"]


@pytest.mark.parametrize(
    "fields",
    [
        {"query": "w" * 4_097}, {"query": 1}, {"query": None}, {"query": "w", "limit": 0},
        {"query": "w", "limit": 101}, {"query": "w", "store": "No"}, {"query": "w", "bucket": ""},
    ],
)  # fmt: skip
def test_what_is_no_search(bench: Bench, fields: dict[str, Any]) -> None:
    """Queries, places and limits have their forms, and a bucket must exist."""
    refused(bench, "invalid_request", bench.raw, "search_nouns", json.dumps(fields).encode())
    refused(bench, "invalid_request", bench.store.search_nouns, **fields)
    refused(bench, "not_found", bench.store.search_nouns, "word", bucket="absent")


SIGNS = [
    '"', "'", "*", "(", ")", "AND", "OR", "NOT", "NEAR(", "^", ":", "-", "+", "{", "}", "\\", "\x00",
    "\ufeff", "a", "東", "京都", "ก", "é", "\u0301", "\U0001f600", "title:", "%",
]  # fmt: skip


@given(query=st.text(max_size=60) | st.lists(st.sampled_from(SIGNS), max_size=12).map("".join))
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_text_is_a_query(shelf: Tessera, query: str) -> None:
    """No text at all is refused or fails, whatever it means to a search engine, and every answer fits."""
    for noun in shelf.search_nouns(query):
        assert noun.tokens <= SCENT_TOKENS_MAX
        assert 0 < noun.score <= 1
    shelf.match_reflex(query)


@pytest.fixture
def shelf(bench: Bench) -> Tessera:
    """A store with a text of each language, reflexes and a dead end among them."""
    for name, text in TEXTS.items():
        bench.store.put_record("texts", name, {"body": text, "note": "title: (a OR b*) AND NOT \"c\" 'é'"})
        bench.store.put_record("tessera.reflexes", name, {"trigger": text, "step": 1})
    bench.dead(kind="a", brief={"title": "東京 é"})
    return bench.store


def test_a_text_is_found_by_any_of_its_words(shelf: Tessera) -> None:
    """Whatever stands between spaces in a text finds that text."""
    for name, text in TEXTS.items():
        for word in text.split():
            assert f"texts/{name}" in refs(shelf, word, store="texts"), word


def test_searches_beside_writers(bench: Bench) -> None:
    """A search sees whole commits: of two records that change together always both or neither."""
    stop, torn = threading.Event(), []

    def search() -> None:
        while not stop.is_set():
            versions = {noun.version for noun in bench.store.search_nouns("pair")}
            if len(versions) > 1:
                torn.append(versions)

    searcher = threading.Thread(target=search)
    searcher.start()
    try:
        for version in range(60):
            one = {"store": "s", "value": f"pair {version}", "expected_version": version or None}
            bench.store.put_records([{**one, "key": key} for key in ("a", "b")])
    finally:
        stop.set()
        searcher.join()
    assert torn == []
