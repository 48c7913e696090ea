"""ST05: a feed's cursors rise, and whoever follows them misses nothing."""

from __future__ import annotations

from conformance.bench import Bench, code_of, together


def test_a_feed_is_followed(bench: Bench) -> None:
    """Items come in the order of their cursors, page after page, also after a restart."""
    feed, client = bench.name("f"), bench.client
    assert (client.poll_feed(feed).items, client.poll_feed(feed, 3).next) == ([], 3)
    published = [client.publish_feed(feed, {"n": n}) for n in range(7)]
    assert [one.cursor for one in published] == [1, 2, 3, 4, 5, 6, 7]
    bench.backend.restart()
    seen, after = [], 0
    while (page := bench.client.poll_feed(feed, after, limit=3)).items:
        seen += page.items
        after = page.next
    assert [(one.cursor, one.payload["n"]) for one in seen] == [(n + 1, n) for n in range(7)]
    assert [one.published_at for one in seen] == [one.published_at for one in published]
    (head,) = [one for one in bench.client.feeds() if one.feed == feed]
    assert (head.head, head.updated_at) == (7, published[-1].published_at)


def test_publishers_that_race(bench: Bench) -> None:
    """While 4 publish and 4 read, each reader sees every item once, and each publisher's in its order."""
    feed, client = bench.name("f"), bench.client

    def act(number: int) -> list[tuple[int, list[int]]]:
        if number < 4:
            for n in range(20):
                client.publish_feed(feed, [number, n])
            return []
        seen, after = [], 0
        while len(seen) < 80:
            page = client.poll_feed(feed, after, limit=9)
            seen += [(one.cursor, one.payload) for one in page.items]
            after = page.next
        return seen

    views = [view for view in together(8, act) if view]
    assert len(views) == 4
    for view in views:
        assert [cursor for cursor, _ in view] == list(range(1, 81))
        for number in range(4):
            assert [n for _, (who, n) in view if who == number] == list(range(20))


def test_forms_and_rights(bench: Bench) -> None:
    """Names, cursors, limits and payloads have their forms; feeds need the store scope."""
    feed, client = bench.name("f"), bench.client
    for bad in ("", "Feed", "a b", "x" * 65):
        assert code_of(lambda bad=bad: client.publish_feed(bad, 1)) == "invalid_request"
    assert code_of(lambda: client.publish_feed(feed, "x" * (1 << 20))) == "invalid_request"
    assert code_of(lambda: client.poll_feed(feed, -1)) == "invalid_request"
    for limit in (0, 10_001):
        assert code_of(lambda limit=limit: client.poll_feed(feed, limit=limit)) == "invalid_request"
    stranger = bench.backend.keyed(effect_classes=["read"])
    assert code_of(lambda: stranger.publish_feed(feed, 1)) == "forbidden"
    assert code_of(lambda: stranger.poll_feed(feed)) == "forbidden"
    assert client.publish_feed(feed, "x" * ((1 << 20) - 2)).cursor == 1
