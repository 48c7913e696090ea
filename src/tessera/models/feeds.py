"""Feeds: streams of documents, each item under the next cursor of its feed. (Specification §6.)"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from tessera import limits
from tessera.models.base import After, Answer, Document, Model, Name, Wait


class PublishFeed(Model, frozen=True):
    """A document to append to a feed; the first one makes the feed."""

    feed: Name
    payload: Document


class Published(Answer, frozen=True):
    """The cursor that an item got."""

    feed: str
    cursor: int
    published_at: str


class PollFeed(Model, frozen=True):
    """What to read of a feed: the items after a cursor. `wait` is for how many seconds to wait for the first
    of them.
    """

    feed: Name
    after: After = 0
    limit: Annotated[int, Meta(ge=1, le=limits.FEED_PAGE_MAX)] = limits.PAGE_DEFAULT
    wait: Wait = 0


class FeedItem(Answer, frozen=True):
    """One item of a feed."""

    cursor: int
    payload: Document
    published_at: str


class FeedPage(Answer, frozen=True):
    """Items of a feed in order; `next` is the cursor to go on after, also when there was nothing."""

    feed: str
    items: list[FeedItem]
    next: int


class FeedHead(Answer, frozen=True):
    """A feed, and the cursor of its last item."""

    feed: str
    head: int
    updated_at: str


class Feeds(Answer, frozen=True):
    """A page of the feeds, by name; `next` is the cursor of the page that follows, null at the end."""

    feeds: list[FeedHead]
    next: str | None
