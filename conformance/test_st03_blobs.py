"""ST03: blobs are content-addressed."""

from __future__ import annotations

import pytest

from conformance.bench import Bench, code_of, together
from conformance.files import MIB, lines, sha256, some


@pytest.mark.parametrize("size", [0, 1, MIB - 1, MIB, MIB + 1, 16 * MIB])
def test_bytes_are_named_by_their_hash(bench: Bench, size: int) -> None:
    """Bytes are stored under their SHA-256 and come back unchanged, up to 16 MiB."""
    data = some(size, bench.name())
    name = bench.client.put_blob(data)
    assert name == sha256(data)
    assert bench.client.get_blob(name) == data
    assert (bench.client.blob_meta(name).sha256, bench.client.blob_meta(name).size) == (name, size)


def test_the_same_bytes_are_one_blob(bench: Bench) -> None:
    """Bytes stored again, also by many at once, keep their name and are one line of the log."""
    data = some(MIB + 1, bench.name())
    names = together(8, lambda _: bench.client.put_blob(data))
    assert {*names, bench.client.put_blob(data)} == {sha256(data)}
    assert len(lines(bench, "blob_stored", sha256=sha256(data))) == 1
    assert lines(bench, "blob_stored", sha256=sha256(data))[0].data["size"] == len(data)


def test_a_byte_too_many(bench: Bench) -> None:
    """More than 16 MiB are refused, and nothing of them can be read."""
    data = some(16 * MIB + 1, bench.name())
    assert code_of(lambda: bench.client.put_blob(data)) == "invalid_request"
    assert code_of(lambda: bench.client.get_blob(sha256(data))) == "not_found"
    assert code_of(lambda: bench.client.get_blob(sha256(data[:-1]))) == "not_found"


def test_a_slice_of_a_blob(bench: Bench) -> None:
    """Any one range of a blob can be read, cut at its end; a range that begins there or later is refused."""
    data = some(2 * MIB + 5, bench.name())
    name = bench.client.put_blob(data)
    for start, stop in ((0, 1), (5, 10), (MIB - 1, MIB + 1), (MIB, None), (2 * MIB + 4, 9 * MIB), (-7, None)):
        assert bench.client.get_blob(name, start, stop) == data[start:stop]
        content = bench.client.blob_content(name, start, stop)
        assert (content.size, content.length) == (len(data), len(data[start:stop]))
        assert content.first == (start if start >= 0 else len(data) + start)
    assert bench.client.get_blob(name, -99 * MIB) == data
    for start, stop in ((len(data), None), (len(data), len(data) + 1), (99 * MIB, None)):
        assert (
            code_of(lambda part=(start, stop): bench.client.get_blob(name, *part)) == "range_not_satisfiable"
        )


def test_names_that_are_no_hash(bench: Bench) -> None:
    """A hash of another form is refused, an unknown one is not found."""
    for name in ("0" * 63, "A" * 64, "g" * 64, "0" * 65):
        assert code_of(lambda name=name: bench.client.get_blob(name)) == "invalid_request"
    unknown = sha256(some(40, bench.name()))
    assert code_of(lambda: bench.client.get_blob(unknown)) == "not_found"
    assert code_of(lambda: bench.client.blob_meta(unknown)) == "not_found"


def test_blobs_need_the_store_scope(bench: Bench) -> None:
    """Only a key with the store scope stores and reads blobs."""
    data = some(10, bench.name())
    keyed, stranger = bench.backend.keyed(scopes=["store"]), bench.backend.keyed(scopes=["admin"])
    assert code_of(lambda: stranger.put_blob(data)) == "forbidden"
    name = keyed.put_blob(data)
    assert name == sha256(data)
    assert keyed.get_blob(name) == data
    assert code_of(lambda: stranger.get_blob(name)) == "forbidden"
    assert code_of(lambda: stranger.blob_meta(name)) == "forbidden"


def test_blobs_survive_a_restart(bench: Bench) -> None:
    """What was stored is there after a restart."""
    data = some(MIB + 1, bench.name())
    name = bench.client.put_blob(data)
    bench.backend.restart()
    assert name == sha256(data)
    assert bench.client.get_blob(name) == data
