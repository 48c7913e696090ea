"""ST03: objects are versions of content-addressed bytes under a key."""

from __future__ import annotations

import pytest

from conformance.bench import Bench, code_of, together
from conformance.files import MIB, audit_files, bucket, history, sha256, some
from tessera.errors import TesseraError
from tessera.models import ObjectMeta

AT_THE_START = {"nouns", "verbs", "kits", "cases", "provisions", "traces"}


def test_six_buckets_are_there(bench: Bench) -> None:
    """Every store has the six buckets; others are defined, and described anew by defining them again."""
    name = bucket(bench)
    assert {one.name for one in bench.client.buckets()} > AT_THE_START
    assert bench.client.define_bucket(name, "words").description == "words"
    assert bench.client.define_bucket(name).description == "words"
    for bad in ("", "Upper", "a b", "a/b", "x" * 65):
        assert code_of(lambda bad=bad: bench.client.define_bucket(bad)) == "invalid_request"
    audit_files(bench, name)


def test_every_version_stays(bench: Bench) -> None:
    """A version follows the one that its writer expects; all stay readable, whatever follows, also after a
    restart.
    """
    where, bodies = bucket(bench), [some(size, bench.name()) for size in (0, 5, MIB + 3)]
    for n, body in enumerate(bodies):
        meta = bench.client.put_object(where, "k", body, n or None, content_type=f"text/x-{n}")
        assert (meta.bucket, meta.key, meta.version, meta.size) == (where, "k", n + 1, len(body))
        assert (meta.sha256, meta.content_type) == (sha256(body), f"text/x-{n}")
        assert bench.client.object_meta(where, "k") == meta
    bench.backend.restart()
    for n, body in enumerate(bodies):
        assert bench.client.get_object(where, "k", n + 1) == body
    assert bench.client.get_object(where, "k") == bodies[-1]
    assert bench.client.get_object(where, "k", start=-2) == bodies[-1][-2:]
    assert code_of(lambda: bench.client.get_object(where, "k", 4)) == "not_found"
    assert bench.client.get_blob(sha256(bodies[1])) == bodies[1]
    assert len(history(bench, where, "k")) == 3
    audit_files(bench, where)


def test_a_comparison_has_one_winner(bench: Bench) -> None:
    """Of 8 that expect the same latest version one stores the next; the others learn which it is now."""
    where = bucket(bench)
    for expected in (None, 1, 2):

        def put(n: int, expected: int | None = expected) -> ObjectMeta | TesseraError:
            try:
                return bench.client.put_object(where, "k", some(100, f"{expected} {n}"), expected)
            except TesseraError as conflict:
                return conflict

        answers = together(8, put)
        refusals = [answer for answer in answers if isinstance(answer, TesseraError)]
        assert [(refusal.code, refusal.extra["current_version"]) for refusal in refusals] == [
            ("version_conflict", (expected or 0) + 1)
        ] * 7
        (won,) = [answer for answer in answers if isinstance(answer, ObjectMeta)]
        assert bench.client.object_meta(where, "k") == won
    with pytest.raises(TesseraError) as caught:
        bench.client.put_object(where, "absent", b"", 1)
    assert (caught.value.code, caught.value.extra) == ("version_conflict", {"current_version": None})
    audit_files(bench, where)


def test_a_prefix_is_literal(bench: Bench) -> None:
    """A list has the keys that begin with a prefix, character by character, in byte order, page by page."""
    where, keys = bucket(bench), ["A_b", "a.b", "a:b", "a_b", "axb", "b"]
    for key in reversed(keys):
        bench.client.put_object(where, key, b"")
    for prefix, expected in (
        ("", keys), ("a_", ["a_b"]), ("A", ["A_b"]), ("a", keys[1:5]), ("%", []), ("_", []), ("c", []),
    ):  # fmt: skip
        assert [meta.key for meta in bench.client.list_objects(where, prefix).objects] == expected
    page = bench.client.list_objects(where, "a", limit=3)
    assert ([meta.key for meta in page.objects], page.next) == (keys[1:4], "a_b")
    page = bench.client.list_objects(where, "a", limit=3, after=page.next)
    assert ([meta.key for meta in page.objects], page.next) == (["axb"], None)
    audit_files(bench, where)


def test_the_form_of_an_object(bench: Bench) -> None:
    """Keys, versions and types of another form are refused; unknown buckets and keys are not found."""
    where, client = bucket(bench), bench.client
    for key in ("", "..", "a/b", "a b", "é", "x" * 257):
        assert code_of(lambda key=key: client.put_object(where, key, b"")) == "invalid_request"
        assert code_of(lambda key=key: client.get_object(where, key)) == "invalid_request"
    for version in (0, -1):
        assert code_of(lambda v=version: client.put_object(where, "k", b"", v)) == "invalid_request"
    for kind in ("", "text", "text/a\r\nX: y"):
        assert (
            code_of(lambda kind=kind: client.put_object(where, "k", b"", content_type=kind))
            == "invalid_request"
        )
    absent = bench.name("absent")
    assert code_of(lambda: client.put_object(absent, "k", b"")) == "not_found"
    assert code_of(lambda: client.get_object(where, "k")) == "not_found"
    assert code_of(lambda: client.object_history(where, "k")) == "not_found"
    assert code_of(lambda: client.list_objects(absent)) == "not_found"
    audit_files(bench, where)


def test_objects_need_the_store_scope(bench: Bench) -> None:
    """Only a key with the store scope sees buckets and objects."""
    where, stranger = bucket(bench), bench.backend.keyed(scopes=["admin"])
    keyed = bench.backend.keyed(scopes=["store"])
    assert keyed.put_object(where, "k", b"x").version == 1
    assert keyed.get_object(where, "k") == b"x"
    for act in (
        stranger.buckets,
        lambda: stranger.define_bucket(where),
        lambda: stranger.put_object(where, "k", b"y", 1),
        lambda: stranger.get_object(where, "k"),
        lambda: stranger.object_meta(where, "k"),
        lambda: stranger.list_objects(where),
        lambda: stranger.object_history(where, "k"),
    ):
        assert code_of(act) == "forbidden"
    audit_files(bench, where)
