"""Random puts, gets, lists, clock steps, damage and restarts, played on a store and on plain dictionaries:
every answer and refusal, and after every step every version and total, must be what the dictionaries say.
"""

from __future__ import annotations

import hashlib
import io
import logging
import os
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
from crash.files import assert_files_whole
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

import tessera
from tessera.errors import TesseraError
from tessera.limits import UPLOAD_SECONDS
from tessera.testing import World

LONG = os.environ.get("TESSERA_LONG") == "1"
MEMORY = Path("/dev/shm")
MIB = 1 << 20
SIX = ("cases", "kits", "nouns", "provisions", "traces", "verbs")
BODIES = {"nothing": b"", "a": b"a", "b": b"b", "ab": b"ab", "chunks": b"\x01" * (MIB + 1)}
bodies = st.sampled_from(sorted(BODIES))  # by name: a failing play shall be short to read
buckets = st.sampled_from(["nouns", "kits", "mine", "absent"])
keys = st.sampled_from(["a", "a_b", "axb", "A"])
versions = st.sampled_from([None, 1, 2, 3])
types = st.sampled_from(["text/plain", "application/octet-stream"])
steps = st.sampled_from([0, 0, 0, 1, 7])  # how far an expected version is off


class Torn(io.BytesIO):
    """Bytes that break off in the middle."""

    def read(self, size: int | None = -1) -> bytes:
        if self.tell():
            raise ConnectionResetError
        return super().read(min(size or MIB, max(1, len(self.getbuffer()) // 2)))


class Files(RuleBasedStateMachine):
    """The store, and what it must hold: blobs by hash, and every version of every object."""

    @initialize()
    def begin(self) -> None:
        self.folder = tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None)
        self.path = f"{self.folder.name}/store.db"
        self.world = World()
        self.blobs: dict[str, bytes] = {}
        self.damaged: set[str] = set()
        self.objects: dict[str, dict[str, list[tuple[str, str]]]] = {name: {} for name in SIX}
        self.words: dict[str, str | None] = {}
        self.lines = 0
        self.store = tessera.open(self.path, runtime=self.world.runtime())

        logging.getLogger("tessera.blobs").disabled = True  # damage is what is played here

    def teardown(self) -> None:
        logging.getLogger("tessera.blobs").disabled = False
        if hasattr(self, "store"):
            self.store.close()
            self.folder.cleanup()

    def refused(self, code: str | None, act: Callable[[], Any]) -> Any:
        """The answer of an act that must be refused with this code, or with none."""
        try:
            answer = act()
        except TesseraError as refusal:
            answer, said = None, refusal.code
        else:
            said = None
        assert said == code
        return answer

    def stored(self, body: bytes) -> str:
        """Bytes that were put: new ones are a line of the log, damaged ones are mended."""
        sha256 = hashlib.sha256(body).hexdigest()
        self.lines += sha256 not in self.blobs
        self.blobs[sha256] = body
        self.damaged.discard(sha256)
        return sha256

    @rule(body=bodies, as_file=st.booleans())
    def put_blob(self, body: str, as_file: bool) -> None:
        data = BODIES[body]
        name = self.store.put_blob(io.BytesIO(data) if as_file else data)
        assert name == self.stored(data)

    @rule(bucket=buckets, key=keys, body=bodies, kind=types, off=steps, as_file=st.booleans())
    def put_object(self, bucket: str, key: str, body: str, kind: str, off: int, as_file: bool) -> None:
        """Store a version that follows the latest, or one that does not."""
        known = self.objects.get(bucket, {}).get(key, [])
        expected = len(known) + off or None
        code = "not_found" if bucket not in self.objects else "version_conflict" if off else None
        data, number = BODIES[body], len(known) + 1
        given = io.BytesIO(data) if as_file else data
        meta = self.refused(
            code, lambda: self.store.put_object(bucket, key, given, expected, content_type=kind)
        )
        if code is None:
            sha256 = self.stored(data)
            self.lines += 1
            self.objects[bucket].setdefault(key, []).append((sha256, kind))
            told = (meta.version, meta.sha256, meta.size, meta.content_type)
            assert told == (number, sha256, len(data), kind)

    @rule(bucket=buckets, key=keys, body=bodies)
    def break_off(self, bucket: str, key: str, body: str) -> None:
        """A put whose bytes end in the middle changes nothing that can be seen."""
        known = self.objects.get(bucket, {}).get(key, [])
        try:
            self.store.put_object(bucket, key, Torn(BODIES[body] or b"x"), len(known) or None)
        except ConnectionResetError:
            assert bucket in self.objects
        except TesseraError as refusal:
            code = refusal.code
            assert (code, bucket in self.objects) == ("not_found", False)

    @rule(bucket=buckets, key=keys, version=versions, start=st.sampled_from([None, 1, -1]))
    def get_object(self, bucket: str, key: str, version: int | None, start: int | None) -> None:
        known = self.objects.get(bucket, {}).get(key, [])
        place = len(known) if version is None else version
        code, body = "not_found", b""
        if 0 < place <= len(known):
            sha256 = known[place - 1][0]
            body = self.blobs[sha256]
            beyond = start is not None and start >= len(body) and start > 0
            code = (
                "range_not_satisfiable" if beyond else "unavailable" if sha256 in self.damaged else None
            )  # fmt: skip
        answer = self.refused(code, lambda: self.store.get_object(bucket, key, version, start=start))
        assert answer is None or answer == body[start:]

    @rule(bucket=st.sampled_from(["mine", "kits"]), words=st.sampled_from([None, "one", "two"]))
    def define_bucket(self, bucket: str, words: str | None) -> None:
        new = bucket not in self.objects
        before = self.words.get(bucket)
        made = self.store.define_bucket(bucket, words)
        self.objects.setdefault(bucket, {})
        self.lines += new or words not in (None, before)
        if words is not None:
            self.words[bucket] = words
        if bucket in self.words or new:
            assert made.description == self.words.get(bucket)

    @rule(data=st.data())
    def rot(self, data: st.DataObject) -> None:
        """What a bad disk does to a blob."""
        sound = sorted(name for name in self.blobs if self.blobs[name] and name not in self.damaged)
        if not sound:
            return
        name = data.draw(st.sampled_from(sound))
        with closing(apsw.Connection(self.path)) as file:
            file.execute(
                "update chunks set bytes = cast(x'ff' || substr(bytes, 2) as blob) where chunk = 0 "
                "and upload = (select upload from blobs where sha256 = ?)",
                (name,),
            )
        self.damaged.add(name)

    @rule(seconds=st.sampled_from([1, UPLOAD_SECONDS]))
    def reap(self, seconds: int) -> None:
        """Time passes and the reaper comes: what is published stays."""
        self.world.pass_seconds(seconds)
        assert self.store.reap() == 0

    @rule()
    def restart(self) -> None:
        self.store.close()
        self.store = tessera.open(self.path, runtime=self.world.runtime())

    @invariant()
    def the_store_is_what_the_dictionaries_say(self) -> None:
        """Blobs, lists, histories, totals and the number of lines."""
        totals = {one.name: (one.objects, one.bytes) for one in self.store.buckets()}
        assert totals.keys() == self.objects.keys()
        for bucket, known in self.objects.items():
            shown = {
                meta.key: [(one.sha256, one.content_type) for one in self.history(bucket, meta.key)]
                for meta in self.store.list_objects(bucket).objects
            }
            assert shown == known
            assert list(shown) == sorted(known)
            latest = [len(self.blobs[versions[-1][0]]) for versions in known.values()]
            assert totals[bucket] == (len(latest), sum(latest))
            prefixed = self.store.list_objects(bucket, "a_").objects
            assert [meta.key for meta in prefixed] == [key for key in sorted(known) if key.startswith("a_")]
        for name, body in self.blobs.items():
            code = "unavailable" if name in self.damaged else None
            assert self.refused(code, lambda name=name: self.store.get_blob(name)) in (body, None)
        assert len(self.store.events(limit=10_000)) == self.lines
        if not self.damaged:
            with closing(apsw.Connection(self.path)) as file:
                assert_files_whole(file)

    def history(self, bucket: str, key: str) -> list[Any]:
        return self.store.object_history(bucket, key).versions


Files.TestCase.settings = settings(
    max_examples=400 if LONG else 25,
    stateful_step_count=40 if LONG else 25,
    deadline=None,
    database=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
)
TestFiles = Files.TestCase
TestFiles.__doc__ = "Blobs and objects played at random are never anything but what plain dictionaries say."
