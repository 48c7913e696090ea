"""What must hold of the blobs, buckets and objects of any store's file."""

from __future__ import annotations

import hashlib
from collections import defaultdict

from raw_sql import Raw


def assert_files_whole(connection: Raw) -> None:
    """Every blob has its bytes, every chunk somebody who needs it or sweeps it, every object its versions
    without a gap, every bucket the totals of its latest versions.
    """
    blobs = _blobs(connection)
    latest: dict[int, list[int]] = defaultdict(list)
    versions: dict[tuple[int, str], list[tuple[int, int]]] = defaultdict(list)
    for bucket, key, version, sha256, size in connection.execute(
        "select bucket, key, version, sha256, size from objects order by bucket, key, version"
    ):
        assert blobs[sha256] == size
        versions[bucket, key].append((version, size))
    heads = {(bucket, key): head for bucket, key, head in connection.execute("select * from object_heads")}
    assert heads == {place: len(known) for place, known in versions.items()}
    for (bucket, _), known in versions.items():
        assert [version for version, _ in known] == list(range(1, len(known) + 1))
        latest[bucket].append(known[-1][1])
    for bucket, objects, total in connection.execute("select bucket, objects, bytes from buckets"):
        assert (objects, total) == (len(latest[bucket]), sum(latest[bucket]))


def _blobs(connection: Raw) -> dict[str, int]:
    """The size of each blob, whose bytes must match its name; no chunk may be nobody's."""
    chunks: dict[str, list[bytes]] = defaultdict(list)
    for upload, number, data in connection.execute("select * from chunks order by upload, chunk"):
        assert number == len(chunks[upload])
        chunks[upload].append(data)
    sizes, owners = {}, set()
    for sha256, size, upload in connection.execute("select sha256, size, upload from blobs"):
        data = b"".join(chunks[upload]) if upload else b""
        assert (hashlib.sha256(data).hexdigest(), len(data)) == (sha256, size)
        sizes[sha256] = size
        owners.add(upload)
    staged = dict(connection.execute("select upload, chunks from uploads"))
    for upload, number in staged.items():
        assert number in (0, len(chunks[upload]))  # 0: what a mended blob has left behind
    assert not owners & staged.keys()
    assert chunks.keys() <= owners | staged.keys()
    return sizes
