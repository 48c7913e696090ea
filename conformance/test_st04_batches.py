"""ST04: a batch of writes is all or nothing."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.bench import Bench, code_of, together
from tessera.errors import TesseraError, VersionConflict


def write(store: str, key: str, value: Any, expected_version: int | None = None) -> dict[str, Any]:
    """One write of a batch."""
    return dict(store=store, key=key, value=value, expected_version=expected_version)


def test_all_across_stores(bench: Bench) -> None:
    """Up to 100 writes to several stores appear together; the same key twice makes two versions, in order."""
    stores, client = [bench.name("s") for _ in range(2)], bench.client
    written = client.put_records(
        [write(stores[n % 2], f"k{n}", n) for n in range(98)]
        + [write(stores[0], "k0", "next", 1), write(stores[0], "k0", "last", 2)]
    )
    assert [one.version for one in written] == [1] * 98 + [2, 3]
    assert [client.get_record(one.store, one.key, one.version) for one in written] == written
    lines = [line for line in client.events(bench.began_after, 10_000) if line.type == "records_written"]
    assert [len(line.data["records"]) for line in lines] == [100]


@pytest.mark.parametrize("place", [0, 5, 9])
def test_one_conflict_writes_nothing(bench: Bench, place: int) -> None:
    """One write that lost its comparison refuses all, and says to which version it lost."""
    store, client = bench.name("s"), bench.client
    client.put_record(store, "taken", 0)
    writes = [write(store, f"k{n}", n) for n in range(10)]
    writes[place] = write(store, "taken", 1)
    with pytest.raises(TesseraError) as caught:
        client.put_records(writes)
    assert (caught.value.code, caught.value.extra["current_version"]) == ("version_conflict", 1)
    assert [(one.key, one.value) for one in client.list_records(store).records] == [("taken", 0)]
    assert len(client.record_history(store, "taken").versions) == 1


def test_sizes_of_a_batch(bench: Bench) -> None:
    """No write at all, more than 100, or one that is malformed refuse the whole."""
    store, client = bench.name("s"), bench.client
    good = write(store, "k", 1)
    for writes in ([], [write(store, f"k{n}", n) for n in range(101)], [good, {"store": store}]):
        assert code_of(lambda writes=writes: client.put_records(writes)) == "invalid_request"
    assert code_of(lambda: client.put_records([good, write("negative.knowledge", "k", 1)])) == "forbidden"
    assert client.list_records(store).records == []
    assert len(client.put_records([good])) == 1


def test_batches_that_race(bench: Bench) -> None:
    """Batches over the same keys in opposite order do not mix and do not hang: each version of all keys comes
    from one of them.
    """
    store, client = bench.name("s"), bench.client
    keys = [f"k{n}" for n in range(10)]

    def race(number: int) -> list[int]:
        won = []
        for version in range(5):
            order = keys if number % 2 else keys[::-1]
            try:
                client.put_records([write(store, key, [number, version], version or None) for key in order])
            except VersionConflict:
                continue
            else:
                won.append(version + 1)
        return won

    won = sorted(version for some in together(4, race) for version in some)
    assert won
    assert won == list(range(1, len(won) + 1))
    for version in won:
        values = [client.get_record(store, key, version).value for key in keys]
        assert values == [values[0]] * len(keys)
