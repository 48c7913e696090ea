"""put_blob, get_blob, blob_meta: bytes under their hash."""

from __future__ import annotations

import hashlib
import io
import logging
from collections.abc import Callable
from contextlib import closing
from typing import Any

import apsw
import pytest
from verbs.bench import Bench
from verbs.refusals import dump, refused, unchanged

from tessera.errors import TesseraError

VERBS = ("put_blob", "get_blob", "blob_meta")
MIB = 1 << 20
SIZES = (0, 1, MIB - 1, MIB, MIB + 1, 3 * MIB)


def some(size: int, seed: int = 0) -> bytes:
    """Bytes that no other seed gives."""
    return hashlib.shake_256(bytes([seed])).digest(size)


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def spoil(bench: Bench, sql: str) -> None:
    """What a bad disk does to the chunks."""
    with closing(apsw.Connection(str(bench.path))) as file:
        file.execute(sql)


def chunks(bench: Bench) -> int:
    """How many chunks are on disk."""
    return len(dump(bench.path)["chunks"])


class Trickle(io.RawIOBase):
    """A file that gives its bytes in pieces of odd sizes, and may break off."""

    def __init__(self, data: bytes, *, breaks_at: int | None = None) -> None:
        self._file = io.BytesIO(data)
        self._sizes = iter([1, 70_000, 3, 1_048_576, 500_000] * 1_000)
        self._breaks_at = breaks_at

    def read(self, size: int = -1) -> bytes:
        if self._breaks_at is not None and self._file.tell() >= self._breaks_at:
            raise ConnectionResetError("the other side has gone")
        return self._file.read(min(size, next(self._sizes)))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("given", [bytes, io.BytesIO, Trickle], ids=lambda given: given.__name__)
def test_bytes_come_back(bench: Bench, size: int, given: Callable[[bytes], Any]) -> None:
    """What is stored, as bytes or through a file, comes back under its SHA-256, and its size is known."""
    data = some(size)
    name = bench.store.put_blob(given(data))

    assert name == sha256(data)
    assert bench.store.get_blob(name) == data
    assert (bench.store.blob_meta(name).sha256, bench.store.blob_meta(name).size) == (name, size)
    content = bench.store.blob_content(name)
    assert (content.first, content.length, content.size, content.partial) == (0, size, size, False)
    assert content.content_type == "application/octet-stream"


def test_chunks_are_at_most_one_mib(bench: Bench) -> None:
    """Whatever the pieces that bytes come in, they are stored in chunks of 1 MiB and a rest."""
    for seed, given in enumerate((bytes, io.BytesIO, Trickle)):
        before = {row[:2] for row in dump(bench.path)["chunks"]}
        bench.store.put_blob(given(some(2 * MIB + 5, seed)))
        added = [row for row in dump(bench.path)["chunks"] if row[:2] not in before]
        assert sorted((number, len(data)) for _, number, data in added) == [(0, MIB), (1, MIB), (2, 5)]


def test_a_chunk_is_a_transaction_and_so_is_the_end(bench: Bench) -> None:
    """Each chunk is staged by itself and one small transaction publishes them all."""
    bench.world.reached.clear()
    bench.store.put_blob(some(3 * MIB + 1))

    written = [point for point in bench.world.reached if point.endswith((".written", "commit.before"))]
    assert [point for point in written if "commit" not in point] == ["stage_chunk.written"] * 4 + [
        "publish_blob.written"
    ]
    assert written.count("commit.before") == 5


def test_a_blob_is_one_line_of_the_log(bench: Bench) -> None:
    """Storing new bytes is one event with hash, size and key, and none of the bytes."""
    keyed, key_id = bench.key(scopes=["store"]), bench.key_id()
    name = keyed.put_blob(b"secret")

    line = bench.log()[-1]
    assert (line.type, line.key_id, line.data) == ("blob_stored", key_id, {"sha256": name, "size": 6})
    assert line.queue is line.task_id is None


@pytest.mark.parametrize("size", SIZES)
def test_the_same_bytes_again(bench: Bench, size: int) -> None:
    """Bytes that the store has are one blob, however often they are stored: nothing at all is written."""
    data = some(size)
    name = bench.store.put_blob(data)

    assert unchanged(bench, bench.store.put_blob, data) == name


def test_the_same_bytes_again_through_a_file(bench: Bench) -> None:
    """Through a file the hash is known last: what was staged is gone after the next reap, and no event is."""
    data = some(2 * MIB)
    name = bench.store.put_blob(data)
    before, lines = chunks(bench), len(bench.log())

    assert bench.store.put_blob(io.BytesIO(data)) == name
    assert bench.store.reap() == 0
    assert (chunks(bench), len(bench.log())) == (before, lines)
    assert bench.store.get_blob(name) == data


def test_the_largest_blob(bench: Bench) -> None:
    """16 MiB are a blob; one byte more is refused, and the store holds nothing of it after the next reap."""
    data = bytes(16 * MIB)
    bench.store.put_blob(data)
    refused(bench, "invalid_request", bench.store.put_blob, data + b"x")
    before = chunks(bench)
    with pytest.raises(TesseraError, match="16,777,216") as caught:
        bench.store.put_blob(io.BytesIO(data + b"x"))

    assert caught.value.code == "invalid_request"
    bench.store.reap()
    assert chunks(bench) == before == 16
    assert dump(bench.path)["uploads"] == []
    refused(bench, "not_found", bench.store.get_blob, sha256(data + b"x"))


@pytest.mark.parametrize("nothing", [None, 1, "text", [b"x"]], ids=repr)
def test_what_is_no_bytes(bench: Bench, nothing: Any) -> None:
    """Only bytes and files of bytes can be stored."""
    refused(bench, "invalid_request", bench.store.put_blob, nothing)


def test_a_source_that_breaks_off(bench: Bench) -> None:
    """If the bytes end in an error, the caller gets it, nothing can be read, and the sweep cleans up."""
    with pytest.raises(ConnectionResetError):
        bench.store.put_blob(Trickle(some(3 * MIB), breaks_at=2 * MIB))
    assert chunks(bench) > 0
    for part in (some(3 * MIB), some(3 * MIB)[: 2 * MIB]):
        refused(bench, "not_found", bench.store.get_blob, sha256(part))

    bench.store.reap()
    assert (chunks(bench), dump(bench.path)["uploads"]) == (0, [])


SLICES = [
    (None, None), (0, None), (0, 0 + 1), (5, 10), (MIB - 1, MIB + 1), (MIB, 2 * MIB), (2 * MIB, 9 * MIB),
    (2 * MIB + 4, None), (-1, None), (-3 * MIB, None), (-99 * MIB, None), (0, 99 * MIB),
]  # fmt: skip


@pytest.mark.parametrize("part", SLICES, ids=str)
def test_a_slice(bench: Bench, part: tuple[int | None, int | None]) -> None:
    """A slice gives the bytes that the same slice of Python's gives, and says where they are."""
    data = some(2 * MIB + 5)
    name = bench.store.put_blob(data)
    start, stop = part

    assert bench.store.get_blob(name, start, stop) == data[start:stop]
    content = bench.store.blob_content(name, start, stop)
    assert content.length == len(data[start:stop])
    assert data[content.first :].startswith(data[start:stop])
    assert content.size == len(data)


def test_a_slice_holds_no_more_than_it_gives(bench: Bench) -> None:
    """What is kept of a blob while it is verified is the slice alone."""
    name = bench.store.put_blob(some(3 * MIB))

    pieces = bench.store.blob_content(name, MIB - 2, MIB + 3).pieces
    assert [len(piece) for piece in pieces] == [2, 3]


def test_slices_that_are_refused(bench: Bench) -> None:
    """A slice that begins at the end or later is `range_not_satisfiable` with the size; one that cannot be
    asked for is `invalid_request`.
    """
    name, empty = bench.store.put_blob(b"0123456789"), bench.store.put_blob(b"")
    for start, stop in ((10, None), (10, 11), (99, 1_000)):
        refusal = refused(bench, "range_not_satisfiable", bench.store.get_blob, name, start, stop)
        assert refusal.extra == {"size": 10}
    refused(bench, "range_not_satisfiable", bench.store.get_blob, empty, 0, 1)
    for start, stop in ((5, 5), (5, 4), (-3, -1), (-3, 2), (None, 0)):
        refused(bench, "invalid_request", bench.store.get_blob, name, start, stop)

    assert bench.store.get_blob(empty) == b""


def test_names_that_are_no_hash(bench: Bench) -> None:
    """A hash is 64 small hex digits; of another form it is refused, and unknown it is not found."""
    for name in ("", "0" * 63, "0" * 65, "A" * 64, "g" * 64, "0" * 64 + "\n", "../" + "0" * 61, 1, None):
        refused(bench, "invalid_request", bench.store.get_blob, name)
        refused(bench, "invalid_request", bench.store.blob_meta, name)
    refused(bench, "not_found", bench.store.get_blob, "0" * 64)
    refused(bench, "not_found", bench.store.blob_meta, "0" * 64)


def test_bytes_need_the_store_scope(bench: Bench) -> None:
    """A key without the store scope neither stores nor reads, whatever else it may do; one with it may."""
    name = bench.store.put_blob(b"x")
    other, stranger = bench.key(scopes=["store"]), bench.key(scopes=["admin"], effect_classes=["write-repo"])
    refused(bench, "forbidden", stranger.put_blob, b"y")
    refused(bench, "forbidden", stranger.put_blob, b"")
    refused(bench, "forbidden", stranger.put_blob, io.BytesIO(b"y"))
    refused(bench, "forbidden", stranger.get_blob, name)
    refused(bench, "forbidden", stranger.blob_meta, name)

    assert other.get_blob(other.put_blob(b"y")) == b"y"


def test_a_key_that_is_revoked_while_it_stores(bench: Bench) -> None:
    """A put goes no further once its key counts no more, and nothing can be read of it."""
    keyed, key_id = bench.key(scopes=["store"]), bench.key_id()
    data = some(3 * MIB)

    class Revoking(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            if self.tell() == 2 * MIB:
                bench.store.revoke_key(key_id)
            return super().read(size)

    with pytest.raises(TesseraError) as caught:
        keyed.put_blob(Revoking(data))
    assert caught.value.code == "unauthorized"
    refused(bench, "not_found", bench.store.get_blob, sha256(data))
    bench.world.pass_seconds(3_600)
    bench.store.reap()
    assert chunks(bench) == 0


SPOILED = {
    "a flipped bit": "update chunks set bytes = cast(substr(bytes, 1, 99) || x'00' || substr(bytes, 101) as"
    " blob) where chunk = 1",
    "a byte less": "update chunks set bytes = substr(bytes, 2) where chunk = 1",
    "a byte more": "update chunks set bytes = cast(bytes || x'00' as blob) where chunk = 2",
    "an empty chunk": "update chunks set bytes = x'' where chunk = 0",
    "a chunk that is gone": "delete from chunks where chunk = 2",
    "chunks that changed places": "update chunks set chunk = 1 - chunk + 100 where chunk < 2;"
    "update chunks set chunk = chunk - 100 where chunk >= 100",
    "a wrong size": "update blobs set size = size - 1",
    "no upload": "update blobs set upload = null",
}


@pytest.mark.parametrize("damage", SPOILED)
def test_damage_is_found_and_never_given_out(
    bench: Bench, caplog: pytest.LogCaptureFixture, damage: str
) -> None:
    """Whatever happens to the bytes on disk, no read gives any of them, not even a slice that is whole; the
    damage is `unavailable`, and logged with the blob's name.
    """
    name = bench.store.put_blob(b"\xff" + some(2 * MIB + 4))
    bench.store.get_blob(name)
    spoil(bench, SPOILED[damage])

    with caplog.at_level(logging.CRITICAL, "tessera"):
        refused(bench, "unavailable", bench.store.get_blob, name)
        refused(bench, "unavailable", bench.store.get_blob, name, 0, 1)
        refused(bench, "unavailable", bench.store.get_blob, name, -1)
    with caplog.at_level(logging.ERROR, "tessera.blobs"):
        refused(bench, "unavailable", bench.store.get_blob, name)
    assert [name in record.getMessage() for record in caplog.records] == [True]


@pytest.mark.parametrize("given", [bytes, io.BytesIO], ids=lambda given: given.__name__)
@pytest.mark.parametrize(
    "damage", [damage for damage in SPOILED if damage not in ("a wrong size", "no upload")]
)
def test_damage_is_mended_by_storing_again(bench: Bench, damage: str, given: Callable[[bytes], Any]) -> None:
    """Storing the bytes again replaces a damaged blob; the damaged chunks are swept by the next reap."""
    data = b"\xff" + some(2 * MIB + 4)
    name = bench.store.put_blob(data)
    spoil(bench, SPOILED[damage])

    assert bench.store.put_blob(given(data)) == name
    assert bench.store.get_blob(name) == data
    bench.store.reap()
    assert (chunks(bench), dump(bench.path)["uploads"]) == (3, [])
    assert bench.store.get_blob(name) == data
