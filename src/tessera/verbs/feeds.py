"""Feeds: streams of documents that readers follow by a cursor. (Specification §6.)

A feed's cursors rise by one with every item, in the order of their commits, so whoever goes on after the last
cursor that it saw misses nothing. A restore lets them jump above all that were handed out.
"""

from __future__ import annotations

from tessera.canonical import canonical, json_text
from tessera.limits import PAGE_BYTES_MAX, PAYLOAD_BYTES_MAX
from tessera.models import (
    FeedHead,
    FeedItem,
    FeedPage,
    Feeds,
    ListNames,
    PollFeed,
    Published,
    PublishFeed,
    Raw,
)
from tessera.rows import FeedItemRow, FeedRow
from tessera.rules import grants, sizes
from tessera.rules.grants import Caller
from tessera.rules.paging import page_of
from tessera.runtime import Runtime, rfc3339
from tessera.storage.port import Transaction


def publish_feed(tx: Transaction, runtime: Runtime, caller: Caller, ask: PublishFeed) -> Published:
    """Append a document to a feed; the first one makes the feed."""
    grants.holds_store(caller)
    payload = canonical(ask.payload, "payload", PAYLOAD_BYTES_MAX)
    feed: FeedRow | None = tx.one("feed_named", name=ask.feed)
    cursor = 1 + (tx.one("epoch").value if feed is None else feed.head)
    runtime.reach("publish_feed.read")

    if feed is None:
        tx.write("add_feed", name=ask.feed, head=cursor, now=tx.now)
    else:
        tx.write("move_feed", feed=feed.feed, head=feed.head, now=tx.now)
    tx.write("add_feed_item", name=ask.feed, cursor=cursor, payload=payload, now=tx.now)
    data = json_text({"feed": ask.feed, "cursor": cursor})
    tx.event("feed_published", key_id=caller.key_id, data=data)
    runtime.reach("publish_feed.written")
    return Published(feed=ask.feed, cursor=cursor, published_at=rfc3339(tx.now))


def poll_feed(tx: Transaction, runtime: Runtime, caller: Caller, ask: PollFeed) -> FeedPage:
    """The items of a feed after a cursor, in order. A feed that nobody has published to yet is empty, so that
    its readers may come first. A page ends early when its items grow large; `next` is where to go on.
    """
    grants.holds_store(caller)
    feed: FeedRow | None = tx.one("feed_named", name=ask.feed)
    rows: list[FeedItemRow] = []
    if feed is not None and feed.head > ask.after:
        of = dict(feed=feed.feed, after=ask.after)
        found = [row.value for row in tx.all("feed_items_sizes", limit=ask.limit, **of)]
        rows = tx.all("feed_items", limit=sizes.fitting(found, PAGE_BYTES_MAX), **of)
    return FeedPage(
        feed=ask.feed, items=[_shown(row) for row in rows], next=rows[-1].cursor if rows else ask.after
    )


def feeds(tx: Transaction, runtime: Runtime, caller: Caller, ask: ListNames) -> Feeds:
    """A page of the feeds, by name, each with the cursor of its last item."""
    grants.holds_store(caller)
    rows: list[FeedRow] = tx.all("feeds_page", after=ask.after or "", limit=ask.limit + 1)
    page, after = page_of(rows, ask.limit, "name")
    heads = [FeedHead(row.name, row.head, rfc3339(row.updated_at)) for row in page]
    return Feeds(feeds=heads, next=after)


def _shown(row: FeedItemRow) -> FeedItem:
    return FeedItem(
        cursor=row.cursor, payload=Raw(row.payload.encode()), published_at=rfc3339(row.published_at)
    )
