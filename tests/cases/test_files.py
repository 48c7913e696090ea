"""Blobs and objects: ranges, half uploads, damage, refused writes that leave something."""

from __future__ import annotations

import hashlib
import io
import json
import time
from contextlib import closing
from typing import Any

import apsw
import pytest
from cases.mortal import Mortal
from crash.files import assert_files_whole
from verbs.bench import Bench
from verbs.refusals import dump, refused

MIB = 1 << 20
TEN = b"0123456789"


def ask(bench: Bench, header: str | None) -> tuple[bytes, bool, int] | str:
    """What a `Range` header is answered with for ten bytes: those given, whether they are a part, and where
    they begin; or the code of the refusal. The same for a blob, an object, and a version of it.
    """
    sha256 = bench.store.put_blob(TEN)
    if not bench.store.list_objects("nouns").objects:
        bench.store.put_object("nouns", "k", TEN)
    answers = []
    for verb, fields in (
        ("get_blob", {"sha256": sha256}),
        ("get_object", {"bucket": "nouns", "key": "k"}),
        ("get_object", {"bucket": "nouns", "key": "k", "version": 1}),
    ):
        try:
            content = bench.raw(verb, json.dumps({**fields, "range": header}).encode())
        except Exception as refusal:
            answers.append(refusal.code)
        else:
            assert content.size == 10
            answers.append((b"".join(content.pieces), content.partial, content.first))
    assert answers == [answers[0]] * 3
    return answers[0]


def test_b03_ranges_that_cost_time(bench: Bench) -> None:
    """B03: a header of thousands of ranges or endless digits is ignored or refused within 50 ms."""
    ask(bench, None)
    pairs = ",".join(f"{n}-{n + 5}" for n in range(10_000))
    for header, right in (
        (f"bytes={pairs}", (TEN, False, 0)),
        ("bytes=" + "9" * 100_000, (TEN, False, 0)),
        ("bytes=" + "9" * 100_000 + "-", "range_not_satisfiable"),
        ("bytes=0-" + "9" * 100_000, (TEN, True, 0)),
        ("bytes=-" + "9" * 100_000, (TEN, True, 0)),
        ("bytes=0-1,0-1,0-1", (TEN, False, 0)),
        ("bytes=" + "0-," * 21_000, (TEN, False, 0)),
    ):
        start = time.process_time()  # of which the disk takes none
        assert ask(bench, header) == right
        assert time.process_time() - start < 4 * 0.05  # a put and three gets


def test_b05_the_last_bytes(bench: Bench) -> None:
    """B05: of the last 0 bytes there are none; the last 1, 10, 11 and very many are cut at the first byte."""
    assert ask(bench, "bytes=-0") == "range_not_satisfiable"
    assert ask(bench, "bytes=-1") == (b"9", True, 9)
    for header in ("bytes=-10", "bytes=-11", "bytes=-99999999999999999999"):
        assert ask(bench, header) == (TEN, True, 0)


def test_b06_a_range_of_everything(bench: Bench) -> None:
    """B06: a range that happens to cover all is a part like others, for blobs, objects and versions alike."""
    for header in ("bytes=0-9", "bytes=0-"):
        assert ask(bench, header) == (TEN, True, 0)


def test_b07_ranges_that_are_none(bench: Bench) -> None:
    """B07: another unit or bad syntax is ignored; the unit's case is not; other scripts' digits are none."""
    for header in (
        "invalid", "bytes", "bytes=", "bytes=a-b", "items=0-5", "bytes=0-5x", "bytes = 0-4",
        "bytes=\u0660-\u0664", "bytes=0-4, bytes=5-6", "",
    ):  # fmt: skip
        assert ask(bench, header) == (TEN, False, 0)
    assert ask(bench, "BYTES=0-4") == (TEN[:5], True, 0)


def put(bench: Bench, data: bytes) -> Any:
    return bench.store.put_object("nouns", "k", io.BytesIO(data))


def test_b14_a_put_that_dies_anywhere(bench: Bench) -> None:
    """B14: wherever a put dies, there is nothing of it or all of it; what it leaves is swept, and it can be
    made again.
    """
    data = hashlib.shake_256(b"b14").digest(2 * MIB + 5)
    mortal, nth = Mortal(bench), 1
    outcomes = set()
    while mortal.dies_in(lambda: put(bench, data), nth):
        with closing(apsw.Connection(str(bench.path))) as file:
            assert_files_whole(file)
        stored = bool(bench.store.list_objects("nouns").objects)
        outcomes.add(stored)
        if stored:
            assert bench.store.get_object("nouns", "k") == data
            break
        refused(bench, "not_found", bench.store.get_blob, hashlib.sha256(data).hexdigest())
        bench.world.pass_seconds(3_600)
        bench.store.reap()
        assert dump(bench.path)["chunks"] == dump(bench.path)["uploads"] == []
        nth += 1
    assert outcomes == {False, True}
    assert nth > 12  # read, written and the commit of each of three chunks and of the end


def test_b14_an_upload_that_breaks_off(bench: Bench) -> None:
    """B14: half an upload is absent, under its own hash and under that of the whole."""

    class Torn(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            if self.tell() >= MIB:
                raise ConnectionResetError
            return super().read(size)

    data = bytes(2 * MIB)
    with pytest.raises(ConnectionResetError):
        bench.store.put_object("nouns", "k", Torn(data))
    for part in (data, data[:MIB]):
        refused(bench, "not_found", bench.store.get_blob, hashlib.sha256(part).hexdigest())
    refused(bench, "not_found", bench.store.get_object, "nouns", "k")


def test_b14_a_flipped_bit(bench: Bench) -> None:
    """B14: one bit flipped on disk, and no byte is given, by hash or by key, nor of a range elsewhere."""
    data = hashlib.shake_256(b"bit").digest(3 * MIB)
    meta = bench.store.put_object("nouns", "k", data)
    bench.store.close()
    raw = bench.path.read_bytes()
    place = raw.index(data[2 * MIB + 100 : 2 * MIB + 164])
    bench.path.write_bytes(raw[:place] + bytes([raw[place] ^ 1]) + raw[place + 1 :])
    bench.reopened()

    for part in ({}, {"start": 0, "stop": 1}, {"start": -1}):
        refused(bench, "unavailable", bench.store.get_blob, meta.sha256, **part)
        refused(bench, "unavailable", bench.store.get_object, "nouns", "k", **part)
    assert bench.store.object_meta("nouns", "k") == meta


def test_b15_writes_that_are_refused_leave_nothing(bench: Bench) -> None:
    """B15: a lost comparison and a byte too many, at 16 MiB and through a file, leave no version, no blob, no
    total and no line of the log.
    """
    bench.store.put_object("nouns", "k", b"first")
    full = bytes(16 * MIB)
    before, log = dump(bench.path), bench.log()
    refused(bench, "version_conflict", bench.store.put_object, "nouns", "k", full, 7)
    refused(bench, "invalid_request", bench.store.put_object, "nouns", "k", full + b"x", 1)
    with pytest.raises(Exception, match="larger"):
        bench.store.put_object("nouns", "k", io.BytesIO(full + b"x"), 1)
    bench.store.reap()

    after = dump(bench.path)
    del before["meta"], after["meta"]  # when the reaper ran
    assert after == before
    assert bench.log() == log
