"""define_bucket, buckets: where objects are, and what they add up to."""

from __future__ import annotations

import random
from contextlib import closing

import apsw
import pytest
from verbs.bench import Bench
from verbs.refusals import refused, unchanged

from tessera.errors import TesseraError

VERBS = ("define_bucket", "buckets")
AT_THE_START = ["cases", "kits", "nouns", "provisions", "traces", "verbs"]


def totals(bench: Bench) -> dict[str, tuple[int, int]]:
    """Objects and bytes of each bucket, as kept; counted from the objects themselves they are the same."""
    kept = {one.name: (one.objects, one.bytes) for one in bench.store.buckets()}
    with closing(apsw.Connection(str(bench.path))) as file:
        counted = file.execute(
            "select b.name, count(o.key), coalesce(sum(o.size), 0) from buckets b "
            "left join object_heads h using (bucket) "
            "left join objects o using (bucket, key, version) group by 1"
        )
        assert kept == {name: (objects, size) for name, objects, size in counted}
    return kept


def test_six_buckets_are_there_from_the_start(bench: Bench) -> None:
    """A new store has the six buckets of the specification, empty, as old as itself."""
    found = bench.store.buckets()

    assert [one.name for one in found] == AT_THE_START
    assert {(one.objects, one.bytes) for one in found} == {(0, 0)}
    assert len({one.created_at for one in found}) == 1
    assert found[0].created_at <= bench.now()
    assert all(one.description for one in found)


def test_a_new_bucket(bench: Bench) -> None:
    """A bucket is made with its description, now, and is one line of the log without it."""
    keyed, key_id = bench.key(scopes=["store"]), bench.key_id()
    bench.world.pass_seconds(5)
    made = keyed.define_bucket("drafts", "secret words")

    assert (made.name, made.description, made.objects, made.bytes) == ("drafts", "secret words", 0, 0)
    assert made.created_at == bench.now()
    assert made in bench.store.buckets()
    line = bench.log()[-1]
    assert (line.type, line.key_id, line.data) == ("bucket_defined", key_id, {"bucket": "drafts"})
    assert bench.store.define_bucket("plain").description is None


def test_defining_again(bench: Bench) -> None:
    """Defined again, a bucket gets the description that is given and keeps all else; nothing new writes
    nothing.
    """
    bench.store.define_bucket("drafts", "one")
    bench.store.put_object("drafts", "k", b"xyz")
    bench.world.pass_seconds(5)
    before = next(one for one in bench.store.buckets() if one.name == "drafts")
    for same in (None, "one"):
        assert unchanged(bench, bench.store.define_bucket, "drafts", same) == before

    after = bench.store.define_bucket("drafts", "two")
    assert (after.description, after.objects, after.bytes) == ("two", 1, 3)
    assert after.created_at == before.created_at
    assert bench.store.define_bucket("nouns", "").description == ""


@pytest.mark.parametrize("bad", ["", "Drafts", "a b", "a/b", "a\n", "x" * 65, "é", "..", 1, None])
def test_the_form_of_a_bucket(bench: Bench, bad: object) -> None:
    """Bucket names have the form of names."""
    refused(bench, "invalid_request", bench.store.define_bucket, bad)
    assert bench.store.define_bucket("x" * 64).name == "x" * 64


def test_descriptions_have_a_limit(bench: Bench) -> None:
    """A description has at most 8 KiB, counted in bytes."""
    for text in ("x" * 8_193, "é" * 4_097):
        refused(bench, "invalid_request", bench.store.define_bucket, "drafts", text)
    assert bench.store.define_bucket("drafts", "é" * 4_096).description == "é" * 4_096


def test_buckets_need_the_store_scope(bench: Bench) -> None:
    """A key without the store scope neither sees nor defines buckets."""
    stranger = bench.key(scopes=["admin"])
    refused(bench, "forbidden", stranger.buckets)
    refused(bench, "forbidden", stranger.define_bucket, "drafts")
    assert [one.name for one in bench.key(scopes=["store"]).buckets()] == AT_THE_START


def test_totals_equal_a_recount(bench: Bench) -> None:
    """However many versions, conflicts and buckets, totals are those of the latest versions."""
    chance = random.Random(7)
    heads: dict[tuple[str, str], tuple[int, int]] = {}
    for _ in range(150):
        where = chance.choice(("nouns", "kits")), chance.choice("abcd")
        size, stale = chance.randrange(50), chance.random() < 0.3
        version = heads.get(where, (None, 0))[0]
        expected = (version or 0) + 7 if stale else version
        if stale:
            with pytest.raises(TesseraError, match="the object"):
                bench.store.put_object(*where, bytes(size), expected)
        else:
            meta = bench.store.put_object(*where, bytes(size), expected)
            heads[where] = meta.version, size
        for name in ("nouns", "kits"):
            sizes = [kept for (bucket, _), (_, kept) in heads.items() if bucket == name]
            assert totals(bench)[name] == (len(sizes), sum(sizes))
