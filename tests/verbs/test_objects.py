"""put_object, get_object, object_meta, list_objects, object_history: bytes under a key, with versions."""

from __future__ import annotations

import hashlib
import io
from typing import Any

import pytest
from msgspec.structs import replace
from verbs.bench import Bench
from verbs.refusals import dump, refused

from tessera.models import ObjectMeta

VERBS = ("put_object", "get_object", "object_meta", "list_objects", "object_history")
MIB = 1 << 20


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def keys_of(bench: Bench, prefix: str = "", **page: Any) -> list[str]:
    """The keys of a page of `nouns`."""
    return [meta.key for meta in bench.store.list_objects("nouns", prefix, **page).objects]


def test_a_new_object(bench: Bench) -> None:
    """The first version of an object is 1; its bytes come back with their type, its line has no bytes."""
    keyed, key_id = bench.key(scopes=["store"]), bench.key_id()
    meta = keyed.put_object("nouns", "plan.md", b"# Plan", content_type="text/markdown")

    name = sha256(b"# Plan")
    assert meta == ObjectMeta("nouns", "plan.md", 1, name, 6, "text/markdown", created_at=bench.now())
    assert bench.store.get_object("nouns", "plan.md") == b"# Plan"
    assert bench.store.object_meta("nouns", "plan.md") == meta
    content = bench.store.object_content("nouns", "plan.md", start=2)
    assert (content.bucket, content.key, content.version, content.created_at) == (
        "nouns", "plan.md", 1, bench.now()
    )  # fmt: skip
    assert (content.first, content.length, content.size, content.partial) == (2, 4, 6, True)
    assert (content.content_type, content.sha256) == ("text/markdown", name)
    assert bench.store.get_blob(name) == b"# Plan"
    stored, line = bench.log()[-2:]
    assert (stored.type, line.type, line.key_id) == ("blob_stored", "object_stored", key_id)
    assert line.data == {"bucket": "nouns", "key": "plan.md", "version": 1, "sha256": name}


def test_every_version_stays_readable(bench: Bench) -> None:
    """Versions follow each other without a gap; each keeps its bytes, type and time for ever."""
    metas, bodies = [], []
    for n in range(5):
        bodies.append(b"v%d" % n * n)
        metas.append(bench.store.put_object("kits", "k", bodies[n], n or None, content_type=f"text/x-{n}"))
        bench.world.pass_seconds(1)
    bench.reopened()

    assert [meta.version for meta in metas] == [1, 2, 3, 4, 5]
    assert bench.store.object_history("kits", "k").versions == metas
    for meta, body in zip(metas, bodies, strict=True):
        assert bench.store.get_object("kits", "k", meta.version) == body
        assert bench.store.object_meta("kits", "k", meta.version) == meta
    assert bench.store.get_object("kits", "k") == bodies[-1]
    assert bench.store.list_objects("kits").objects == [metas[-1]]


def test_history_pages(bench: Bench) -> None:
    """A history is read in pages, oldest first, and ends with null."""
    for n in range(5):
        bench.store.put_object("kits", "k", b"%d" % n, n or None)

    first = bench.store.object_history("kits", "k", limit=2)
    assert ([meta.version for meta in first.versions], first.next) == ([1, 2], 2)
    rest = bench.store.object_history("kits", "k", limit=3, after=2)
    assert ([meta.version for meta in rest.versions], rest.next) == ([3, 4, 5], None)
    assert bench.store.object_history("kits", "k", after=5).versions == []


def test_a_lost_comparison(bench: Bench) -> None:
    """Another version than the latest is a conflict that names the latest; nothing is staged for it."""
    put = bench.store.put_object
    refusal = refused(bench, "version_conflict", put, "nouns", "k", bytes(3 * MIB), 1)
    assert refusal.extra == {"current_version": None}
    put("nouns", "k", b"1")
    put("nouns", "k", b"2", 1)
    for expected in (None, 1, 3, 2**53 - 1):
        for data in (b"3", b"2", bytes(3 * MIB)):
            refusal = refused(bench, "version_conflict", put, "nouns", "k", data, expected)
            assert refusal.extra == {"current_version": 2}
        refused(bench, "version_conflict", bench.store.put_object, "nouns", "k", io.BytesIO(b"x"), expected)

    assert put("nouns", "k", b"3", 2).version == 3


def test_a_comparison_lost_on_the_way(bench: Bench) -> None:
    """Somebody else's version that comes while the bytes do wins; what was staged is gone with the next
    reap.
    """

    class Overtaken(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            if self.tell() == 0:
                bench.store.put_object("nouns", "k", b"quicker")
            return super().read(size)

    with pytest.raises(Exception, match="is at version 1") as caught:
        bench.store.put_object("nouns", "k", Overtaken(bytes(2 * MIB)))
    assert caught.value.extra == {"current_version": 1}
    bench.store.reap()
    tables = dump(bench.path)
    assert (len(tables["chunks"]), len(tables["uploads"]), len(tables["objects"])) == (1, 0, 1)


def test_versions_share_their_blobs(bench: Bench) -> None:
    """The same bytes under other keys and in later versions are stored once."""
    data = bytes(2 * MIB)
    bench.store.put_object("nouns", "a", data)
    bench.store.put_object("nouns", "a", data, 1)
    bench.store.put_object("kits", "b", io.BytesIO(data))
    bench.store.reap()

    tables = dump(bench.path)
    assert (len(tables["blobs"]), len(tables["chunks"]), len(tables["objects"])) == (1, 2, 3)
    assert [line.type for line in bench.log()].count("blob_stored") == 1


def test_the_largest_object(bench: Bench) -> None:
    """16 MiB are an object, one byte more is refused and leaves no version."""
    assert bench.store.put_object("nouns", "k", bytes(16 * MIB)).size == 16 * MIB
    refused(bench, "invalid_request", bench.store.put_object, "nouns", "k", bytes(16 * MIB + 1), 1)
    with pytest.raises(Exception, match="larger than"):
        bench.store.put_object("nouns", "k", io.BytesIO(bytes(16 * MIB + 1)), 1)
    assert bench.store.object_meta("nouns", "k").version == 1


def test_an_object_whose_bytes_are_damaged(bench: Bench) -> None:
    """A damaged version is refused whole and in slices; its meta and its other versions stay readable."""
    bench.store.put_object("nouns", "k", b"first")
    meta = bench.store.put_object("nouns", "k", b"second", 1)
    bench.store._door._engine._writer.connection.execute(
        "update chunks set bytes = cast('SECOND' as blob) where bytes = cast('second' as blob)"
    )

    with pytest.raises(Exception, match="damaged") as caught:
        bench.store.get_object("nouns", "k")
    assert caught.value.code == "unavailable"
    with pytest.raises(Exception, match="damaged"):
        bench.store.get_object("nouns", "k", 2, start=-1)
    assert bench.store.get_object("nouns", "k", 1) == b"first"
    assert bench.store.object_meta("nouns", "k") == meta


KEYS = ["a", "A", "a_b", "a.b", "a:b", "axb", "A_b", "a-b", "b", "0", "aa", "z" * 256]


@pytest.mark.parametrize(
    "prefix", ["", "a", "A", "a_", "a_b", "a.", "z" * 256, "%", "_", "a%", "á", "\x7f", "c"]
)
def test_a_prefix_is_literal(bench: Bench, prefix: str) -> None:
    """A prefix stands for itself, case and all, and keys come in byte order, whatever the page."""
    for key in KEYS:
        bench.store.put_object("nouns", key, key.encode())
    bench.store.put_object("kits", "elsewhere", b"")

    expected = sorted(key for key in KEYS if key.startswith(prefix))
    assert keys_of(bench, prefix) == expected
    found: list[str] = []
    page = bench.store.list_objects("nouns", prefix, limit=2)
    found += [meta.key for meta in page.objects]
    while page.next:
        page = bench.store.list_objects("nouns", prefix, limit=2, after=page.next)
        found += [meta.key for meta in page.objects]
    assert found == expected


def test_the_form_of_an_object(bench: Bench) -> None:
    """Keys, versions, types, prefixes and limits have their forms; the refusal names the field."""
    store = bench.store
    for key in ("", ".", "..", "a/b", "a b", "a\n", "é", "%61", "-a", "x" * 257, 1, None):
        said = refused(bench, "invalid_request", store.put_object, "nouns", key, b"")
        assert "key" in said.detail
        refused(bench, "invalid_request", store.get_object, "nouns", key)
        refused(bench, "invalid_request", store.object_meta, "nouns", key)
        refused(bench, "invalid_request", store.object_history, "nouns", key)
    for version in (0, -1, 1.5, "1", True, 2**53):
        refused(bench, "invalid_request", store.put_object, "nouns", "k", b"", version)
        refused(bench, "invalid_request", store.get_object, "nouns", "k", version)
    for kind in ("", "text", "/", "text/", "text/a\n", "text/a\r\nX: y", "a b/c", "té/xt", "x" * 300, None):
        refused(bench, "invalid_request", store.put_object, "nouns", "k", b"", content_type=kind)
    for limit in (0, -1, 1_001, "5"):
        refused(bench, "invalid_request", store.list_objects, "nouns", limit=limit)
        refused(bench, "invalid_request", store.object_history, "nouns", "k", limit=limit)
    refused(bench, "invalid_request", store.list_objects, "nouns", "x" * 257)
    for bucket in ("", "Nouns", "no uns", "nouns/x", "nouns\n"):
        refused(bench, "invalid_request", store.put_object, bucket, "k", b"")
        refused(bench, "invalid_request", store.list_objects, bucket)

    assert store.put_object("nouns", "x" * 256, b"", content_type='text/plain; charset="utf-8"').version == 1


def test_what_is_not_there(bench: Bench) -> None:
    """Unknown buckets, keys and versions are not found, by any verb."""
    store = bench.store
    store.put_object("nouns", "k", b"")
    refused(bench, "not_found", store.put_object, "absent", "k", bytes(2 * MIB))
    refused(bench, "not_found", store.list_objects, "absent")
    for where in (("absent", "k"), ("nouns", "absent"), ("kits", "k")):
        refused(bench, "not_found", store.get_object, *where)
        refused(bench, "not_found", store.object_meta, *where)
        refused(bench, "not_found", store.object_history, *where)
    refused(bench, "not_found", store.get_object, "nouns", "k", 2)
    refused(bench, "not_found", store.object_meta, "nouns", "k", 2)
    refused(bench, "range_not_satisfiable", store.get_object, "nouns", "k", start=0, stop=1)


def test_objects_need_the_store_scope(bench: Bench) -> None:
    """A key without the store scope sees and changes no object, whatever else it may do."""
    stranger = bench.key(scopes=["admin"], effect_classes=["read", "write-repo"])
    bench.store.put_object("nouns", "k", b"x")
    refused(bench, "forbidden", stranger.put_object, "nouns", "k", b"y", 1)
    refused(bench, "forbidden", stranger.put_object, "absent", "k", b"y")
    refused(bench, "forbidden", stranger.get_object, "nouns", "k")
    refused(bench, "forbidden", stranger.object_meta, "nouns", "k")
    refused(bench, "forbidden", stranger.list_objects, "nouns")
    refused(bench, "forbidden", stranger.object_history, "nouns", "k")

    keyed = bench.key(scopes=["store"])
    assert keyed.put_object("nouns", "k", b"y", 1) == replace(
        bench.store.object_meta("nouns", "k"), version=2, sha256=sha256(b"y")
    )
    assert keyed.get_object("nouns", "k", 1) == b"x"
