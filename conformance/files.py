"""The words for blobs, buckets and objects, and what must hold of them at any instant."""

from __future__ import annotations

import hashlib

from conformance.bench import Bench
from tessera.models import Event, ObjectMeta

MIB = 1 << 20
_PAGE = 1_000


def some(size: int, seed: str) -> bytes:
    """So many bytes that no other seed gives."""
    return hashlib.shake_256(seed.encode()).digest(size)


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def bucket(bench: Bench) -> str:
    """A new bucket."""
    name = bench.name("b")
    made = bench.client.define_bucket(name)
    assert (made.name, made.objects, made.bytes) == (name, 0, 0)
    return name


def lines(bench: Bench, kind: str, **data: object) -> list[Event]:
    """What the log says since the test began, of one type, whose data has these members."""
    found: list[Event] = []
    page = bench.client.events(after=bench.began_after, limit=10_000)
    while page:
        found += [line for line in page if line.type == kind and data.items() <= line.data.items()]
        page = bench.client.events(after=page[-1].seq, limit=10_000)
    return found


def history(bench: Bench, where: str, key: str) -> list[ObjectMeta]:
    """Every version of an object."""
    return bench.client.object_history(where, key, limit=_PAGE).versions


def audit_files(bench: Bench, *buckets: str) -> None:
    """Each object's versions are 1, 2, 3 and so on, all readable, with a line of the log each; each bucket's
    totals are those of the latest versions.
    """
    totals = {one.name: (one.objects, one.bytes) for one in bench.client.buckets()}
    assert buckets
    for where in buckets:
        latest = bench.client.list_objects(where, limit=_PAGE).objects
        assert [meta.key for meta in latest] == sorted(meta.key for meta in latest)
        assert totals[where] == (len(latest), sum(meta.size for meta in latest))
        for head in latest:
            versions = history(bench, where, head.key)
            assert [meta.version for meta in versions] == list(range(1, len(versions) + 1))
            assert versions[-1] == head
            stored = lines(bench, "object_stored", bucket=where, key=head.key)
            assert [(one.data["version"], one.data["sha256"]) for one in stored] == [
                (meta.version, meta.sha256) for meta in versions
            ]
            for meta in versions:
                data = bench.client.get_object(where, head.key, meta.version)
                assert (sha256(data), len(data)) == (meta.sha256, meta.size)
