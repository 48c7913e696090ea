"""publish_feed, poll_feed, feeds: streams that readers follow by a cursor."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

import pytest
from verbs.bench import Bench
from verbs.refusals import refused

import tessera
from tessera.errors import Unauthorized
from tessera.limits import SECOND_US
from tessera.models import FeedHead, FeedItem, FeedPage, Published

VERBS = ("publish_feed", "poll_feed", "feeds")
MIB = 1 << 20


def test_a_new_feed(bench: Bench) -> None:
    """The first item makes the feed and has the cursor 1; the log names feed and cursor, not the payload."""
    keyed, key_id = bench.key(scopes=["store"]), bench.key_id()
    published = keyed.publish_feed("findings", {"what": "secret-thing"})

    assert published == Published("findings", 1, bench.now())
    item = FeedItem(1, {"what": "secret-thing"}, bench.now())
    assert keyed.poll_feed("findings") == FeedPage("findings", [item], next=1)
    assert keyed.feeds() == [FeedHead("findings", 1, bench.now())]
    line = bench.log()[-1]
    assert (line.type, line.key_id, line.data) == (
        "feed_published", key_id, {"feed": "findings", "cursor": 1}
    )  # fmt: skip
    assert "thing" not in str(bench.log())


@pytest.mark.parametrize("payload", [None, False, 0, "", [], {}, {"a": [1, None]}])
def test_any_json_is_a_payload(bench: Bench, payload: Any) -> None:
    """Every kind of JSON value comes back as it went in."""
    bench.store.publish_feed("f", payload)
    assert bench.store.poll_feed("f").items[0].payload == payload


def test_a_feed_is_followed(bench: Bench) -> None:
    """Cursors rise by one per feed, whatever other feeds do; pages follow each other without a gap; at the
    end `next` stays where it is.
    """
    for n in range(10):
        bench.store.publish_feed("a", n)
        bench.store.publish_feed("b", -n)
        bench.world.pass_seconds(1)
    bench.reopened()
    seen, after = [], 0
    while (page := bench.store.poll_feed("a", after, limit=3)).items:
        seen += [(item.cursor, item.payload) for item in page.items]
        after = page.next
    assert seen == [(n + 1, n) for n in range(10)]
    assert (page.next, bench.store.poll_feed("a", 99).next) == (10, 99)
    assert [(one.feed, one.head) for one in bench.store.feeds()] == [("a", 10), ("b", 10)]


def test_a_reader_may_come_first(bench: Bench) -> None:
    """A feed that nobody has published to is empty."""
    assert bench.store.poll_feed("f", 7) == FeedPage("f", [], next=7)
    assert bench.store.feeds() == []


def test_large_items_share_pages(bench: Bench) -> None:
    """A page holds about 4 MiB of items and at least one; following it misses none."""
    for n in range(9):
        bench.store.publish_feed("f", f"{n}" * (MIB - 2))
    sizes, after = [], 0
    while (page := bench.store.poll_feed("f", after, limit=10_000)).items:
        sizes.append(len(page.items))
        after = page.next
    assert (sizes, after) == ([4, 4, 1], 9)


def test_publishers_and_readers_at_once(bench: Bench) -> None:
    """While 8 threads publish, a reader that goes on after the last cursor it saw misses nothing."""
    number, seen = 30, []

    def publish(worker: int) -> None:
        for n in range(number):
            bench.store.publish_feed("f", [worker, n])

    crew = [threading.Thread(target=publish, args=(worker,)) for worker in range(8)]
    for thread in crew:
        thread.start()
    after = 0
    while len(seen) < 8 * number:
        page = bench.store.poll_feed("f", after, limit=7)
        seen += page.items
        after = page.next
    for thread in crew:
        thread.join()
    assert [item.cursor for item in seen] == list(range(1, 8 * number + 1))
    for worker in range(8):
        assert [n for who, n in (item.payload for item in seen) if who == worker] == list(range(number))


def test_the_form_of_a_feed(bench: Bench) -> None:
    """Names, cursors, limits, waits and payloads have their forms."""
    store = bench.store
    for name in ("", "Feed", "a b", "a/b", "a\n", "é", "x" * 65, None, 1):
        refused(bench, "invalid_request", store.publish_feed, name, 1)
        refused(bench, "invalid_request", store.poll_feed, name)
    for after in (-1, 1.5, "1", True, 2**53):
        refused(bench, "invalid_request", store.poll_feed, "f", after)
    for limit in (0, -1, 10_001, "5"):
        refused(bench, "invalid_request", store.poll_feed, "f", limit=limit)
    for wait in (-1, 30.1, "5", None):
        refused(bench, "invalid_request", store.poll_feed, "f", wait_seconds=wait)
    for payload in (float("nan"), 2**53, "\ud800", "x" * (MIB - 1)):
        assert "payload" in refused(bench, "invalid_request", store.publish_feed, "f", payload).detail
    assert store.publish_feed("x" * 64, "x" * (MIB - 2)).cursor == 1


def test_feeds_need_the_store_scope(bench: Bench) -> None:
    """A key without the store scope neither reads nor publishes."""
    stranger = bench.key(scopes=["admin"])
    bench.store.publish_feed("f", 1)
    refused(bench, "forbidden", stranger.publish_feed, "f", 2)
    refused(bench, "forbidden", stranger.poll_feed, "f")
    refused(bench, "forbidden", stranger.feeds)


def test_waiting_for_an_item(bench: Bench) -> None:
    """A poll that waits is answered as soon as something is there, at the latest when its time is up, and
    counts no more than its key does at that instant.
    """
    assert bench.store.poll_feed("f", wait_seconds=5).items == []
    assert bench.world.elapsed_us == 5 * SECOND_US
    bench.store.publish_feed("f", 1)
    assert bench.store.poll_feed("f", wait_seconds=5).items[0].payload == 1
    assert bench.world.elapsed_us == 5 * SECOND_US

    keyed, key_id = bench.key(scopes=["store"]), bench.key_id()
    sleep = bench.store._door._runtime.sleep

    def revokes(seconds: float) -> None:
        sleep(seconds)
        bench.store.revoke_key(key_id)

    keyed._door._runtime = replace(keyed._door._runtime, sleep=revokes)
    with pytest.raises(Unauthorized):
        keyed.poll_feed("f", 1, wait_seconds=5)


def test_another_process_publishes(bench: Bench) -> None:
    """What is published through another handle on the file ends the wait."""
    beside = bench.beside()
    published = threading.Timer(0.3, lambda: beside.publish_feed("f", "there"))
    published.start()
    with tessera.open(str(bench.path)) as waiting:
        assert waiting.poll_feed("f", wait_seconds=30).items[0].payload == "there"
    published.join()
    beside.close()
