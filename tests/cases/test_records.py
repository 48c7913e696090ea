"""Faults of records, keys, lists and feeds that users of comparable systems have reported."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pytest
from cases.races import attempt, rounds, together
from verbs.bench import Bench
from verbs.refusals import refused

from tessera.errors import VersionConflict

# Keys that a router, a shell or a file system might take for something else.
PATHS = (
    "..", ".", "%2e%2e", "a%2Fb", "a/../b", "a/b", "/", "//", "a/", "%00", "\x00", "a\x00", "a%0Ab", "a\n",
    "\na", "%252e", "k%3Ak", "%61", "a\\b", "a?version=1", "a#b", "a b", "~", "-a",
)  # fmt: skip
COMPOSED, DECOMPOSED = "caf\u00e9", "cafe\u0301"


def test_b09_a_prefix_is_no_pattern(bench: Bench) -> None:
    """B09: a prefix stands for itself in lists of records and of objects: `_` and `%` are characters, case
    matters, and keys come in byte order whatever the limit.
    """
    keys = ["a_b", "axb", "A_b", "a.b", "a:b"]
    for key in keys:
        bench.store.put_record("s", key, key)
        bench.store.put_object("nouns", key, key.encode())
    refused(bench, "invalid_request", bench.store.put_record, "s", "a%b", 1)
    refused(bench, "invalid_request", bench.store.put_object, "nouns", "a%b", b"1")

    expected = {
        "a_": ["a_b"], "A": ["A_b"], "": ["A_b", "a.b", "a:b", "a_b", "axb"], "a_b": ["a_b"], "%": [],
        "_": [], "a": ["a.b", "a:b", "a_b", "axb"], "a__": [], "a%": [],
    }  # fmt: skip
    for prefix, found in expected.items():
        assert [one.key for one in bench.store.list_records("s", prefix).records] == found
        assert [one.key for one in bench.store.list_objects("nouns", prefix).objects] == found
        for limit in range(1, 6):
            page = bench.store.list_records("s", prefix, limit)
            assert [one.key for one in page.records] == found[:limit]
            assert page.next == (found[limit - 1] if limit < len(found) else None)


def test_b09_a_query_is_no_pattern(bench: Bench) -> None:
    """B09: a search takes `_`, `%` and `*` for no pattern: what has no word in it finds nothing, and a key is
    found by its own words.
    """
    for key in ("a_b", "axb", "A_c", "a.d"):
        bench.store.put_record("s", key, {})
        bench.store.put_object("nouns", key, b"")
    for query in ("%", "_", "*", "%%", "_ %"):
        assert bench.store.search_nouns(query) == []
    for query in ("a_b", "a%b", "a*b"):
        assert {noun.ref for noun in bench.store.search_nouns(query)} == {"s/a_b", "nouns/a_b"}


def test_b10_one_first_version(bench: Bench) -> None:
    """B10: of 16 that make one key, one does, then of 16 that follow its first version, one does; the others
    are told the version there is, and the history has no gap.
    """
    for number in rounds(6, 200):
        key = f"k{number}"
        for expected in (None, 1):
            acts = [
                lambda n=n, key=key, expected=expected: bench.store.put_record("s", key, n, expected).version
                for n in range(16)
            ]
            after = 1 if expected is None else 2
            assert sorted(map(str, together(acts))) == [str(after), *["version_conflict"] * 15]
            with pytest.raises(VersionConflict) as lost:
                bench.store.put_record("s", key, 0, expected)
            assert lost.value.extra == {"current_version": after}
        assert [one.version for one in bench.store.record_history("s", key).versions] == [1, 2]


@pytest.mark.parametrize("version", ["0", "-1", "1.0", "1.5", '"1"', "true", "[]", "1e999", "9" * 400, "NaN"])
def test_b10_what_is_no_version(bench: Bench, version: str) -> None:
    """B10: an expected version is a whole number from 1: what a lenient reader would turn into one is
    refused.
    """
    bench.store.put_record("s", "k", "first")
    ask = f'{{"store":"s","key":"k","value":2,"expected_version":{version}}}'
    refused(bench, "invalid_request", bench.raw, "put_record", ask.encode())


def test_b11_heads_only_rise(bench: Bench) -> None:
    """B11: while one record is written, no reader ever misses it, sees its version fall, or finds an earlier
    version changed.
    """
    bench.store.put_record("s", "k", {"n": 1})
    last, over = 150, threading.Event()

    def read(_: int) -> list[int]:
        seen = []
        while not over.is_set():
            head = bench.store.get_record("s", "k")
            assert head.value == {"n": head.version}
            assert bench.store.get_record("s", "k", 1).value == {"n": 1}
            assert bench.store.list_records("s").records[0].version >= head.version
            seen.append(head.version)
        return seen

    with ThreadPoolExecutor(4) as pool:
        readers = [pool.submit(read, n) for n in range(4)]
        try:
            for version in range(1, last):
                bench.store.put_record("s", "k", {"n": version + 1}, version)
        finally:
            over.set()
        for reader in readers:
            assert all(before <= after for before, after in pairwise(reader.result()))
    assert [one.value for one in bench.store.record_history("s", "k", limit=last).versions] == [
        {"n": n + 1} for n in range(last)
    ]


def test_b12_a_batch_is_whole_or_nothing(bench: Bench) -> None:
    """B12: the same key twice makes two versions in order; one bad write, no write at all or too many of them
    leave nothing, and a conflict names the write that lost.
    """
    one, two = dict(store="s", key="k", value=1), dict(store="s", key="k", value=2, expected_version=1)
    assert [record.version for record in bench.store.put_records([one, two])] == [1, 2]
    fresh = [dict(store="s", key=f"new-{n}", value=n) for n in range(3)]
    for bad, code in (
        (one, "version_conflict"), (fresh[0], "version_conflict"), ({**one, "key": "a/b"}, "invalid_request"),
        ({**one, "store": "negative.knowledge"}, "forbidden"),
    ):  # fmt: skip
        before = bench.log()
        with_bad = [fresh[0], fresh[1], bad, fresh[2]]
        assert attempt(lambda batch=with_bad: bench.store.put_records(batch)) == code
        assert bench.log() == before
    refusal = refused(bench, "version_conflict", bench.store.put_records, [fresh[0], fresh[1], one])
    assert (refusal.detail[:9], refusal.extra) == ("writes[2]", {"current_version": 2})
    refused(bench, "invalid_request", bench.store.put_records, [])
    many = [dict(store="s", key=f"many-{n}", value=n) for n in range(10_000)]
    refused(bench, "invalid_request", bench.store.put_records, many)
    assert [record.key for record in bench.store.list_records("s").records] == ["k"]


def test_b12_batches_in_opposite_order(bench: Bench) -> None:
    """B12: two batches of the same keys in opposite order never wait for each other for ever; one wins them
    all.
    """
    for number in rounds(15, 300):
        keys = [f"{number}-{n}" for n in range(5)]

        def write(name: str, order: list[str]) -> str:
            bench.store.put_records([dict(store="s", key=key, value=name) for key in order])
            return name

        answers = together(
            [lambda k=keys: write("forth", k), lambda k=keys: write("back", list(reversed(k)))]
        )
        (won,) = set(answers) - {"version_conflict"}
        assert answers.count("version_conflict") == 1
        assert {record.value for record in bench.store.list_records("s", f"{number}-").records} == {won}


@pytest.mark.parametrize("key", PATHS, ids=ascii)
def test_b16_a_key_is_no_path(bench: Bench, key: str) -> None:
    """B16: a key that could be taken for a path, or for an escape of another key, is refused everywhere; it
    is never decoded, and nothing appears beside the store.
    """
    for known in ("a", "k:k", "b"):
        bench.store.put_record("s", known, known)
        bench.store.put_object("nouns", known, known.encode())
    beside = {path.name for path in bench.path.parent.iterdir()}
    refused(bench, "invalid_request", bench.store.put_record, "s", key, 1)
    refused(bench, "invalid_request", bench.store.get_record, "s", key)
    refused(bench, "invalid_request", bench.store.record_history, "s", key)
    refused(bench, "invalid_request", bench.store.put_object, "nouns", key, b"1")
    refused(bench, "invalid_request", bench.store.get_object, "nouns", key)
    refused(bench, "invalid_request", bench.store.put_record, key, "k", 1)
    refused(bench, "invalid_request", bench.store.publish_feed, key, 1)
    assert bench.store.get_record("s", "k:k").value == "k:k"
    assert {path.name for path in bench.path.parent.iterdir()} == beside


def test_b17_names_are_ascii(bench: Bench) -> None:
    """B17: a name with an accent is refused in either of its forms, so no two names can look alike."""
    for name in (COMPOSED, DECOMPOSED):
        refused(bench, "invalid_request", bench.store.put_record, name, "k", 1)
        refused(bench, "invalid_request", bench.store.put_record, "s", name, 1)
        refused(bench, "invalid_request", bench.store.publish_feed, name, 1)
        refused(bench, "invalid_request", bench.store.define_bucket, name)
        refused(bench, "invalid_request", bench.store.define_queue, name)
        refused(bench, "invalid_request", bench.store.enqueue, queue="q", kind=name, brief={})
        refused(bench, "invalid_request", bench.store.enqueue, queue="q", kind="k", brief={}, task_id=name)


def test_b17_text_keeps_its_form(bench: Bench) -> None:
    """B17: free text comes back byte for byte: the two forms of one word stay two, in values, in the names
    inside them, in payloads and for workers.
    """
    both = {COMPOSED: DECOMPOSED, DECOMPOSED: COMPOSED}
    assert bench.store.put_record("s", "k", both).value == both
    bench.store.publish_feed("f", both)
    for _ in range(2):
        bench.enqueue()
    workers = [bench.claim(worker=name).worker for name in both]
    bench.reopened()

    assert bench.store.get_record("s", "k").value == both
    assert bench.store.poll_feed("f").items[0].payload == both
    assert workers == [COMPOSED, DECOMPOSED]
    assert [line.worker for line in bench.log() if line.type == "claimed"] == workers


def test_b19_pages_of_a_burst(bench: Bench) -> None:
    """B19: a log that grew by 25,000 lines at once is read in three pages without loss or repeat; a page of
    more than the limit, or of none, is refused, and an empty one stays where it is.
    """
    start = bench.seq()
    spec = dict(queue="q", kind="k", brief={})
    for _ in range(25):
        bench.store.enqueue_batch([spec] * 1_000)
    seqs, after, pages = [], start, 0
    while lines := bench.store.events(after, 10_000):
        seqs += [line.seq for line in lines]
        after, pages = seqs[-1], pages + 1
    assert (seqs, pages) == (list(range(start + 1, start + 25_001)), 3)
    assert [line.seq for line in bench.store.events(start, 1)] == [start + 1]
    for limit in (10_001, 0, -1):
        refused(bench, "invalid_request", bench.store.events, 0, limit)
        refused(bench, "invalid_request", bench.store.poll_feed, "f", limit=limit)


def test_b19_a_feed_that_is_followed(bench: Bench) -> None:
    """B19: a reader that goes on after `next` gets every item once while others publish; an empty page leaves
    it where it was.
    """
    publishers, each = 8, 60
    seen: list[int] = []
    after = 0

    def publish(name: int) -> None:
        for n in range(each):
            bench.store.publish_feed("f", {"by": name, "n": n})

    with ThreadPoolExecutor(publishers) as pool:
        work = [pool.submit(publish, name) for name in range(publishers)]
        while len(seen) < publishers * each:
            page = bench.store.poll_feed("f", after, limit=7)
            assert page.next == (page.items[-1].cursor if page.items else after)
            seen += [item.cursor for item in page.items]
            after = page.next
        for one in work:
            one.result()
    assert seen == list(range(1, publishers * each + 1))
    assert (bench.store.poll_feed("f", after).items, bench.store.poll_feed("f", after).next) == ([], after)


def test_b19_pages_of_what_is_mostly_hidden(bench: Bench) -> None:
    """B19: a key that sees few of many tasks gets every one of them, and full pages while there are more."""
    bench.queue("hidden")
    shown = []
    for n in range(300):
        queue = "q" if n % 29 == 0 else "hidden"
        task_id = bench.enqueue(queue)
        shown += [task_id] if queue == "q" else []
    keyed = bench.key(queues=["q"])
    page, found = keyed.tasks(limit=3), []
    while page.next:
        assert len(page.tasks) == 3
        found += [task.task_id for task in page.tasks]
        page = keyed.tasks(limit=3, after=page.next)
    assert found + [task.task_id for task in page.tasks] == shown
