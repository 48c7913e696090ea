"""Random puts, batches, publications, looks, deaths of tasks, clock steps and restarts, played on a store and
on plain dictionaries: every answer and refusal, and after every step every version, head, item and line, must
be what the dictionaries say.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import msgspec
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

import tessera
from model.things import wire_time
from tessera.errors import TesseraError
from tessera.limits import SECOND_US
from tessera.names import EVENT_TYPES
from tessera.testing import World

LONG = os.environ.get("TESSERA_LONG") == "1"
MEMORY = Path("/dev/shm")
RESERVED = ("negative.knowledge", "tessera.own")
HUSHED = "hushed"  # a word in every value and payload: the log may not hold it

stores = st.sampled_from(["a", "a.b", "tessera.reflexes", "a", "a.b", *RESERVED])
keys = st.sampled_from(["k", "k_1", "kx1", "K", "k:1"])
prefixes = st.sampled_from(["", "k", "k_", "K", "k:1", "_", "%", "z"])
values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.sampled_from([HUSHED, "“é”", "", "\U0001f980"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from([HUSHED, "b"]), inner),
    max_leaves=4,
)
off_by = st.sampled_from([0, 0, 0, 0, -1, 1])  # how far an expected version is from the latest
feeds = st.sampled_from(["news", "news.2"])
limits = st.sampled_from([1, 2, 100])
afters = st.sampled_from([0, 1, 2, 50])
clocks = st.sampled_from([-3_600, -1, 0.000001, 2, 60])

Name = tuple[str, str]
Version = dict[str, Any]


class Refused(Exception):
    """The refusal that the specification asks for, with the version that a conflict names."""


class Records(RuleBasedStateMachine):
    """Two handles on one file, of which one is used at a time; and the dictionaries."""

    @initialize()
    def begin(self) -> None:
        self.folder = tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None)
        self.path = f"{self.folder.name}/store.db"
        self.world = World()
        self.records: dict[Name, list[Version]] = {}
        self.feeds: dict[str, list[dict[str, Any]]] = {}
        self.told: list[tuple[str, Any]] = []  # lines of the log about records and feeds
        self.seq = 0
        self.lines = 0
        self.handles = [self.opened(), self.opened()]
        self.at = 0
        self.store.define_queue("q", max_attempts=1)

    def teardown(self) -> None:
        if hasattr(self, "handles"):
            for handle in self.handles:
                handle.close()
            self.folder.cleanup()

    def opened(self) -> tessera.Tessera:
        """A process that has just started."""
        return tessera.open(self.path, runtime=self.world.runtime())

    @property
    def store(self) -> tessera.Tessera:
        """The handle in use."""
        return self.handles[self.at]

    def play(self, act: Callable[[], Any], expect: Callable[[], Any]) -> Any:
        """The store's answer as JSON, which must be the dictionaries'; or the same refusal by both, None."""
        try:
            answer, refusal = msgspec.to_builtins(act()), None
        except TesseraError as error:
            answer, refusal = None, (error.code, error.extra)
        try:
            expected, refused = expect(), None
        except Refused as error:
            expected, refused = None, error.args
        assert refusal == refused
        return answer, expected

    # Records

    @rule(store=stores, key=keys, value=values, off_by=off_by)
    def put(self, store: str, key: str, value: Any, off_by: int) -> None:
        """One write, most often of what follows."""
        write = self.write(store, key, value, off_by)
        answer, expected = self.play(
            lambda: self.store.put_record(*write.values()), lambda: self.expect_writes([write], batch=False)
        )
        if answer is not None:
            self.keep([answer], expected)

    @rule(writes=st.lists(st.tuples(stores, keys, values, off_by), min_size=1, max_size=4))
    def put_several(self, writes: list[tuple[str, str, Any, int]]) -> None:
        """A batch; a later write of a key means to follow the earlier ones."""
        batch: list[dict[str, Any]] = []
        for store, key, value, off in writes:
            ahead = sum((one["store"], one["key"]) == (store, key) for one in batch)
            batch.append(self.write(store, key, value, off, ahead))
        answer, expected = self.play(
            lambda: self.store.put_records(batch), lambda: self.expect_writes(batch, batch=True)
        )
        if answer is not None:
            self.keep(answer, expected)

    def write(self, store: str, key: str, value: Any, off_by: int, ahead: int = 0) -> dict[str, Any]:
        """A write whose expected version is about right."""
        expected = max(0, len(self.records.get((store, key), [])) + ahead + off_by)
        return dict(store=store, key=key, value=value, expected_version=expected or None)

    def expect_writes(self, writes: list[dict[str, Any]], *, batch: bool) -> list[tuple[Name, int, Any]]:
        """What writes make, one after the other, or the first refusal."""
        ahead: dict[Name, int] = {}
        made = []
        for write in writes:
            name = write["store"], write["key"]
            if write["store"] in RESERVED:
                raise Refused("forbidden", {})
            latest = ahead.get(name, len(self.records.get(name, [])))
            if (write["expected_version"] or 0) != latest:
                raise Refused("version_conflict", {"current_version": latest or None})
            ahead[name] = latest + 1
            made.append((name, latest + 1, write["value"]))
        return made

    def keep(self, answered: list[Version], expected: list[tuple[Name, int, Any]]) -> None:
        """The answers are what was expected; from here on they must never change."""
        assert [((one["store"], one["key"]), one["version"], one["value"]) for one in answered] == expected
        assert {one["created_at"] for one in answered} == {answered[0]["created_at"]}
        for one in answered:
            self.records.setdefault((one["store"], one["key"]), []).append(one)
        named = [{name: one[name] for name in ("store", "key", "version")} for one in answered]
        self.told.append(("records_written", {"records": named}))

    @rule(store=stores, key=keys, version=st.none() | st.integers(1, 4))
    def get(self, store: str, key: str, version: int | None) -> None:
        def expect() -> Version:
            versions = self.records.get((store, key), [])
            if len(versions) < (version or 1):
                raise Refused("not_found", {})
            return versions[-1 if version is None else version - 1]

        answer, expected = self.play(lambda: self.store.get_record(store, key, version), expect)
        assert answer == expected

    @rule(store=stores, key=keys, limit=limits, after=afters)
    def history(self, store: str, key: str, limit: int, after: int) -> None:
        def expect() -> dict[str, Any]:
            if (store, key) not in self.records:
                raise Refused("not_found", {})
            versions = self.records[store, key][after:]
            page = versions[:limit]
            return {"versions": page, "next": page[-1]["version"] if len(versions) > limit else None}

        answer, expected = self.play(
            lambda: self.store.record_history(store, key, limit=limit, after=after), expect
        )
        assert answer == expected

    @rule(store=stores, prefix=prefixes, limit=limits, after=st.none() | keys)
    def list_(self, store: str, prefix: str, limit: int, after: str | None) -> None:
        found = [
            versions[-1]
            for (where, key), versions in sorted(self.records.items())
            if where == store and key.startswith(prefix) and (after is None or key > after)
        ]
        page = found[:limit]
        answer = msgspec.to_builtins(self.store.list_records(store, prefix, limit, after=after))
        assert answer == {"records": page, "next": page[-1]["key"] if len(found) > limit else None}

    @rule(number=st.integers(0, 2))
    def die(self, number: int) -> None:
        """A task fails for good and leaves a tombstone, whose form the queue's own model checks."""
        task_id = self.store.enqueue(queue="q", kind="k", brief={"n": number})
        lease = self.store.claim("q", "w")
        assert lease is not None
        self.store.submit(task_id, lease.fencing_token, None, task_id, ok=False, error=HUSHED)
        stone = msgspec.to_builtins(self.store.get_record("negative.knowledge", task_id))
        assert (stone["version"], stone["value"]["task_id"]) == (1, task_id)
        self.records["negative.knowledge", task_id] = [stone]

    # Feeds

    @rule(feed=feeds, payload=values)
    def publish(self, feed: str, payload: Any) -> None:
        answer = msgspec.to_builtins(self.store.publish_feed(feed, payload))
        items = self.feeds.setdefault(feed, [])
        cursor = len(items) + 1
        assert answer == {"feed": feed, "cursor": cursor, "published_at": answer["published_at"]}
        items.append({"cursor": cursor, "payload": payload, "published_at": answer["published_at"]})
        self.told.append(("feed_published", {"feed": feed, "cursor": cursor}))

    @rule(feed=feeds, after=afters, limit=limits, wait=st.sampled_from([0, 0, 0.3, 30]))
    def poll(self, feed: str, after: int, limit: int, wait: float) -> None:
        """Waiting is passing the scripted time: whoever finds nothing has waited all of it, and no more."""
        items = self.feeds.get(feed, [])[after : after + limit]
        before = self.world.elapsed_us
        answer = msgspec.to_builtins(self.store.poll_feed(feed, after, limit=limit, wait_seconds=wait))
        assert answer == {"feed": feed, "items": items, "next": items[-1]["cursor"] if items else after}
        assert self.world.elapsed_us - before == (0 if items else int(wait * SECOND_US))

    # What else happens

    @rule(seconds=clocks)
    def set_clock(self, seconds: float) -> None:
        self.world.pass_seconds(seconds)

    @rule()
    def change_process(self) -> None:
        self.at = 1 - self.at

    @rule()
    def restart(self) -> None:
        self.store.close()
        self.handles[self.at] = self.opened()

    @invariant()
    def the_file_is_what_the_dictionaries_say(self) -> None:
        """Every version, every head, every item, and the new lines of the log."""
        if not hasattr(self, "handles"):
            return
        with closing(apsw.Connection(self.path, flags=apsw.SQLITE_OPEN_READONLY)) as file, file:
            found: dict[Name, list[Version]] = {}
            for store, key, version, value, at in file.execute(
                "select store, key, version, value, created_at from records order by store, key, version"
            ):
                seen = dict(store=store, key=key, version=version, value=json.loads(value))
                found.setdefault((store, key), []).append({**seen, "created_at": wire_time(at)})
            assert found == self.records
            heads = {(row[0], row[1]): row[2] for row in file.execute("select * from record_heads")}
            assert heads == {name: len(versions) for name, versions in self.records.items()}
            self.compare_feeds(file)
            self.compare_log(file)
        visible = {store for store, _ in self.records}
        assert self.store.stores() == sorted(visible)

    def compare_feeds(self, file: apsw.Connection) -> None:
        items: dict[str, list[dict[str, Any]]] = {}
        for feed, cursor, payload, at in file.execute(
            "select name, cursor, payload, published_at from feed_items join feeds using (feed) "
            "order by feed, cursor"
        ):
            one = {"cursor": cursor, "payload": json.loads(payload), "published_at": wire_time(at)}
            items.setdefault(feed, []).append(one)
        assert items == self.feeds
        shown = [(one.feed, one.head, one.updated_at) for one in self.store.feeds()]
        assert shown == [
            (feed, len(known), known[-1]["published_at"]) for feed, known in sorted(self.feeds.items())
        ]

    def compare_log(self, file: apsw.Connection) -> None:
        """One line for each put, batch and publication that was not refused, without its contents."""
        for seq, number, data in file.execute(
            "select seq, type, data from events where seq > ? order by seq", (self.seq,)
        ):
            assert HUSHED not in (data or "")
            self.seq = seq
            event = EVENT_TYPES[number]
            if event in ("records_written", "feed_published"):
                assert (event, json.loads(data)) == self.told[self.lines]
                self.lines += 1
        assert self.lines == len(self.told)


Records.TestCase.settings = settings(
    max_examples=1_000 if LONG else 30,
    stateful_step_count=50 if LONG else 30,
    deadline=None,
    database=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
)
TestRecords = Records.TestCase
TestRecords.__doc__ = "Records and feeds played by random verbs are what plain dictionaries say they are."
