"""put_record, get_record, record_history, stores, list_records: documents under a key, with versions."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from verbs.bench import Bench
from verbs.refusals import refused

from tessera import Tessera
from tessera.models import RecordVersion

VERBS = ("put_record", "get_record", "record_history", "stores", "list_records")
MIB = 1 << 20


def keys_of(bench: Bench, prefix: str = "", **page: Any) -> list[str]:
    """The keys of a page of the store `s`."""
    return [record.key for record in bench.store.list_records("s", prefix, **page).records]


def test_a_new_record(bench: Bench) -> None:
    """The first version of a record is 1; it is answered, kept and logged without its value."""
    keyed, key_id = bench.key(scopes=["store"]), bench.key_id()
    version = keyed.put_record("facts", "capital", {"of": "France", "is": "secret-Paris"})

    value = {"is": "secret-Paris", "of": "France"}
    assert version == RecordVersion("facts", "capital", 1, value, bench.now())
    assert keyed.get_record("facts", "capital") == version
    line = bench.log()[-1]
    assert (line.type, line.key_id) == ("records_written", key_id)
    assert line.data == {"records": [{"store": "facts", "key": "capital", "version": 1}]}
    assert "Paris" not in str(bench.log())


@pytest.mark.parametrize("value", [None, True, 0, -1.5, "", "é\n", [], {}, [1, [2, {"a": None}]]])
def test_any_json_is_a_value(bench: Bench, value: Any) -> None:
    """Every kind of JSON value comes back as it went in."""
    assert bench.store.put_record("s", "k", value).value == value
    assert bench.store.get_record("s", "k").value == value


def test_every_version_stays_readable(bench: Bench) -> None:
    """Versions follow each other without a gap; each keeps its value and time for ever."""
    versions = []
    for n in range(5):
        versions.append(bench.store.put_record("s", "k", {"n": n}, n or None))
        bench.world.pass_seconds(1)
    bench.reopened()

    assert [one.version for one in versions] == [1, 2, 3, 4, 5]
    assert bench.store.record_history("s", "k").versions == versions
    for version in versions:
        assert bench.store.get_record("s", "k", version.version) == version
    assert bench.store.list_records("s").records == [versions[-1]]


def test_history_pages(bench: Bench) -> None:
    """A history is read in pages, oldest first, and ends with null."""
    for n in range(5):
        bench.store.put_record("s", "k", n, n or None)

    first = bench.store.record_history("s", "k", limit=2)
    assert ([one.version for one in first.versions], first.next) == ([1, 2], 2)
    rest = bench.store.record_history("s", "k", limit=3, after=2)
    assert ([one.version for one in rest.versions], rest.next) == ([3, 4, 5], None)
    assert bench.store.record_history("s", "k", after=5).versions == []


def test_large_values_share_pages(bench: Bench) -> None:
    """A page holds about 4 MiB of values and at least one; following it misses none."""
    big = "x" * (MIB - 2)
    for n in range(9):
        bench.store.put_record("s", f"k{n}", big)
        bench.store.put_record("t", "k", big, n or None)

    page, keys, pages = bench.store.list_records("s"), [], 1
    while True:
        keys += [record.key for record in page.records]
        if page.next is None:
            break
        page, pages = bench.store.list_records("s", after=page.next), pages + 1
    assert (keys, pages) == ([f"k{n}" for n in range(9)], 3)
    history = bench.store.record_history("t", "k")
    assert ([one.version for one in history.versions], history.next) == ([1, 2, 3, 4], 4)


def test_a_lost_comparison(bench: Bench) -> None:
    """Another version than the latest is a conflict that names the latest."""
    put = bench.store.put_record
    refusal = refused(bench, "version_conflict", bench.store.put_record, "s", "k", 1, 1)
    assert refusal.extra == {"current_version": None}
    put("s", "k", 1)
    put("s", "k", 2, 1)
    for expected in (None, 1, 3, 2**53 - 1):
        refusal = refused(bench, "version_conflict", bench.store.put_record, "s", "k", 3, expected)
        assert refusal.extra == {"current_version": 2}
    assert put("s", "k", 3, 2).version == 3


def test_the_largest_value(bench: Bench) -> None:
    """A value of 1 MiB is kept, one byte more is refused."""
    assert bench.store.put_record("s", "k", "x" * (MIB - 2)).version == 1
    refused(bench, "invalid_request", bench.store.put_record, "s", "k", "x" * (MIB - 1), 1)


KEYS = ["a", "A", "a_b", "a.b", "a:b", "axb", "A_b", "a-b", "b", "0", "aa", "z" * 256]


@pytest.mark.parametrize(
    "prefix", ["", "a", "A", "a_", "a_b", "a.", "z" * 256, "%", "_", "a%", "á", "\x7f", "c"]
)
def test_a_prefix_is_literal(bench: Bench, prefix: str) -> None:
    """A prefix stands for itself, case and all, and keys come in byte order, whatever the page."""
    for key in KEYS:
        bench.store.put_record("s", key, key)
    bench.store.put_record("elsewhere", "a", 1)

    expected = sorted(key for key in KEYS if key.startswith(prefix))
    assert keys_of(bench, prefix) == expected
    page, found = bench.store.list_records("s", prefix, 2), []
    found += [record.key for record in page.records]
    while page.next:
        page = bench.store.list_records("s", prefix, 2, after=page.next)
        found += [record.key for record in page.records]
    assert found == expected


def test_stores_are_listed(bench: Bench) -> None:
    """A store is there once it holds a record, however many it holds; the names are sorted."""
    assert bench.store.stores() == []
    for name in ("z", "a.b", "a", "a-b"):
        for key in ("k", "l"):
            bench.store.put_record(name, key, 1)
    assert bench.store.stores() == ["a", "a-b", "a.b", "z"]


class Wire:
    """The verbs of a store as they travel, a method for each."""

    def __init__(self, store: Tessera) -> None:
        self.store = store

    def __getattr__(self, verb: str) -> Callable[..., Any]:
        return partial(self.store._call, verb)


def test_names_come_in_pages(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stores, feeds and buckets are listed a page at a time, in byte order; the library puts the pages
    together.
    """
    names = sorted(f"name{number}" for number in range(7))
    at_the_start = [one.name for one in bench.store.buckets()]
    for name in reversed(names):
        bench.store.put_record(name, "k", 1)
        bench.store.publish_feed(name, 1)
        bench.store.define_bucket(name)
    wire = Wire(bench.store)
    refused(bench, "invalid_request", wire.stores, limit=0)
    refused(bench, "invalid_request", wire.feeds, limit=1_001)
    refused(bench, "invalid_request", wire.buckets, after="x" * 257)
    whole = {"stores": names, "feeds": names, "buckets": sorted([*at_the_start, *names])}
    for verb, expected in whole.items():
        found: list[str] = []
        after = None
        for first in range(0, len(expected), 3):
            page = getattr(wire, verb)(limit=3, after=after)
            found += [getattr(one, "feed", None) or getattr(one, "name", one) for one in getattr(page, verb)]
            assert found == expected[: first + 3]
            assert page.next == (found[-1] if len(found) < len(expected) else None)
            after = page.next

    monkeypatch.setattr("tessera.limits.PAGE_MAX", 3)
    assert bench.store.stores() == names
    assert [one.feed for one in bench.store.feeds()] == names
    assert [one.name for one in bench.store.buckets()] == whole["buckets"]
    assert bench.store.list_records("absent").records == []


def test_a_reserved_store(bench: Bench) -> None:
    """Tombstones and stores of ours are read by everybody with the scope and written by nobody; reflexes are
    the users' own.
    """
    dead = bench.dead()
    assert bench.store.list_records("negative.knowledge").records[0].key == dead
    for name in ("negative.knowledge", "tessera.x", "tessera."):
        refused(bench, "forbidden", bench.store.put_record, name, "k", 1)
        refused(bench, "forbidden", bench.store.put_record, name, dead, 1, 1)
    for name in ("tessera.reflexes", "tessera", "negative", "tesserae.x"):
        assert bench.store.put_record(name, "k", {"trigger": "x", "step": "y"}).version == 1


def test_the_form_of_a_record(bench: Bench) -> None:
    """Stores, keys, versions, prefixes and limits have their forms; the refusal names the field."""
    store = bench.store
    for key in ("", ".", "..", "a/b", "a b", "a\n", "é", "%61", "-a", "x" * 257, 1, None):
        assert "key" in refused(bench, "invalid_request", store.put_record, "s", key, 1).detail
        refused(bench, "invalid_request", store.get_record, "s", key)
        refused(bench, "invalid_request", store.record_history, "s", key)
    for version in (0, -1, 1.5, "1", True, 2**53):
        refused(bench, "invalid_request", store.put_record, "s", "k", 1, version)
        refused(bench, "invalid_request", store.get_record, "s", "k", version)
    for limit in (0, -1, 1_001, "5"):
        refused(bench, "invalid_request", store.list_records, "s", limit=limit)
        refused(bench, "invalid_request", store.record_history, "s", "k", limit=limit)
    refused(bench, "invalid_request", store.list_records, "s", "x" * 257)
    for name in ("", "Facts", "a b", "a/x", "a\n", "x" * 65):
        refused(bench, "invalid_request", store.put_record, name, "k", 1)
        refused(bench, "invalid_request", store.list_records, name)
    for value in (float("nan"), 2**53, "\ud800"):
        assert "value" in refused(bench, "invalid_request", store.put_record, "s", "k", value).detail
    assert store.put_record("x" * 64, "x" * 256, 1).version == 1


def test_what_is_not_there(bench: Bench) -> None:
    """Unknown stores, keys and versions are not found."""
    bench.store.put_record("s", "k", 1)
    for where in (("absent", "k"), ("s", "absent")):
        refused(bench, "not_found", bench.store.get_record, *where)
        refused(bench, "not_found", bench.store.record_history, *where)
    refused(bench, "not_found", bench.store.get_record, "s", "k", 2)


def test_records_need_the_store_scope(bench: Bench) -> None:
    """A key without the store scope sees and changes no record, whatever else it may do."""
    stranger = bench.key(scopes=["admin"], effect_classes=["read", "write-repo"])
    bench.store.put_record("s", "k", 1)
    refused(bench, "forbidden", stranger.put_record, "s", "k", 2, 1)
    refused(bench, "forbidden", stranger.get_record, "s", "k")
    refused(bench, "forbidden", stranger.record_history, "s", "k")
    refused(bench, "forbidden", stranger.list_records, "s")
    refused(bench, "forbidden", stranger.stores)
