"""ST02: every version of a record stays readable."""

from __future__ import annotations

from conformance.bench import Bench, code_of


def test_every_version_stays(bench: Bench) -> None:
    """Each version keeps its value and its time, whatever follows, also after a restart."""
    store, client = bench.name("s"), bench.client
    values = [None, {"b": 1, "a": [1.0, "é"]}, "text", [], 17]
    written = [client.put_record(store, "k", value, n or None) for n, value in enumerate(values)]
    assert [(one.version, one.value) for one in written] == list(enumerate(values, 1))
    bench.backend.restart()
    client = bench.client
    for one in written:
        assert client.get_record(store, "k", one.version) == one
    assert client.get_record(store, "k") == written[-1]
    assert client.record_history(store, "k").versions == written
    assert code_of(lambda: client.get_record(store, "k", 6)) == "not_found"
    assert code_of(lambda: client.get_record(store, "absent")) == "not_found"
    assert code_of(lambda: client.record_history(store, "absent")) == "not_found"


def test_pages_follow_each_other(bench: Bench) -> None:
    """Histories and lists are read in pages without a gap; a prefix is literal and the order is of bytes."""
    store, client = bench.name("s"), bench.client
    for n in range(7):
        client.put_record(store, "a_b", n, n or None)
    for key in ("axb", "A_b", "a.b", "a:b", "b"):
        client.put_record(store, key, key)
    versions, after = [], 0
    while True:
        page = client.record_history(store, "a_b", limit=3, after=after)
        versions += [one.version for one in page.versions]
        if page.next is None:
            break
        after = page.next
    assert versions == [1, 2, 3, 4, 5, 6, 7]
    expected = {"": ["A_b", "a.b", "a:b", "a_b", "axb", "b"], "a_": ["a_b"], "A": ["A_b"], "%": [], "_": []}
    for prefix, keys in expected.items():
        assert [one.key for one in client.list_records(store, prefix).records] == keys
    first = client.list_records(store, limit=4)
    assert first.next == "a_b"
    assert [one.key for one in client.list_records(store, after=first.next).records] == ["axb", "b"]
    assert client.list_records(store, "a_b").records[0].version == 7


def test_stores_are_listed(bench: Bench) -> None:
    """A store exists once it holds a record, and is listed once, sorted."""
    names = [bench.name("s") for _ in range(3)]
    assert not set(names) & set(bench.client.stores())
    for name in names:
        for key in ("k", "l"):
            bench.client.put_record(name, key, 1)
    stores = bench.client.stores()
    assert stores == sorted(set(stores))
    assert set(names) <= set(stores)
