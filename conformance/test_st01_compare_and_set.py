"""ST01: a record changes by compare-and-set only, and a comparison has one winner."""

from __future__ import annotations

import pytest

from conformance.bench import Bench, code_of, together
from tessera.errors import TesseraError, VersionConflict
from tessera.models import RecordVersion


def test_a_comparison_has_one_winner(bench: Bench) -> None:
    """Of 12 that expect the same latest version one writes the next; the others learn which it is now."""
    store, client = bench.name("s"), bench.client
    for expected in (None, 1, 2):

        def put(n: int, expected: int | None = expected) -> RecordVersion | TesseraError:
            try:
                return client.put_record(store, "k", [expected, n], expected)
            except TesseraError as conflict:
                return conflict

        answers = together(12, put)
        winners = [one for one in answers if isinstance(one, RecordVersion)]
        refusals = [one for one in answers if isinstance(one, TesseraError)]
        version = (expected or 0) + 1
        assert [one.version for one in winners] == [version]
        assert [(one.code, one.extra["current_version"]) for one in refusals] == [
            ("version_conflict", version)
        ] * 11
        assert client.get_record(store, "k") == winners[0]
    assert [one.version for one in client.record_history(store, "k").versions] == [1, 2, 3]


def test_nothing_is_lost_between_readers_and_writers(bench: Bench) -> None:
    """Writers that read, add one and compare count every one of their additions."""
    store, client = bench.name("s"), bench.client
    client.put_record(store, "sum", 0)

    def add(_: int) -> int:
        added = 0
        while added < 5:
            head = client.get_record(store, "sum")
            try:
                client.put_record(store, "sum", head.value + 1, head.version)
            except VersionConflict:
                continue
            else:
                added += 1
        return added

    assert sum(together(8, add)) == 40
    latest = client.get_record(store, "sum")
    assert (latest.value, latest.version) == (40, 41)


@pytest.mark.parametrize("expected", [1, 3, 7])
def test_a_lost_comparison_changes_nothing(bench: Bench, expected: int) -> None:
    """Another version than the latest is refused with the one that there is; so is none."""
    store, client = bench.name("s"), bench.client
    with pytest.raises(TesseraError) as caught:
        client.put_record(store, "k", "new", expected)
    assert (caught.value.code, caught.value.extra) == ("version_conflict", {"current_version": None})
    for version in (None, 1):
        client.put_record(store, "k", version, version)
    for wrong in (None, expected):
        with pytest.raises(TesseraError) as caught:
            client.put_record(store, "k", "new", wrong)
        assert (caught.value.code, caught.value.extra) == ("version_conflict", {"current_version": 2})
    assert client.get_record(store, "k").version == 2


def test_forms_and_rights(bench: Bench) -> None:
    """Names, keys, versions and values have their forms; records need a scope; some stores are ours."""
    store, client = bench.name("s"), bench.client
    for bad in ("", "..", "a/b", "a\n", "é", "x" * 257):
        assert code_of(lambda bad=bad: client.put_record(store, bad, 1)) == "invalid_request"
    for version in (0, -1, True, 1.5):
        assert code_of(lambda version=version: client.put_record(store, "k", 1, version)) == "invalid_request"
    assert code_of(lambda: client.put_record("Upper", "k", 1)) == "invalid_request"
    assert code_of(lambda: client.put_record(store, "k", "x" * (1 << 20))) == "invalid_request"
    for ours in ("negative.knowledge", "tessera.other"):
        assert code_of(lambda ours=ours: client.put_record(ours, "k", 1)) == "forbidden"
    stranger = bench.backend.keyed(effect_classes=["read"])
    assert code_of(lambda: stranger.put_record(store, "k", 1)) == "forbidden"
    assert code_of(lambda: stranger.stores()) == "forbidden"
    assert client.put_record(store, "x" * 256, "x" * ((1 << 20) - 2)).version == 1
