"""Views of records and feeds."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import RenderableType
from rich.text import Text

from tessera import models
from tessera.canonical import strict_json
from tessera.cli import layout


def record(answer: models.RecordVersion) -> RenderableType:
    """The bare value, ready for a pipe."""
    return Text(strict_json(answer.value).decode())


def written(answer: models.Written) -> RenderableType:
    """A line for each version."""
    return _versions(answer.records)


def records(answer: models.Records) -> RenderableType:
    """A line for each record."""
    return _versions(answer.records)


def history(answer: models.History) -> RenderableType:
    """A line for each version."""
    return _versions(answer.versions)


def stores(answer: models.Stores) -> RenderableType:
    """A name a line."""
    return Text(
        "\n".join(answer.stores) or "Nothing here. Write a record: tessera records put STORE KEY VALUE"
    )


def published(answer: models.Published) -> RenderableType:
    """The bare cursor, ready for a shell variable."""
    return Text(str(answer.cursor))


def feeds(answer: models.Feeds) -> RenderableType:
    """A line for each feed."""
    rows = ((one.feed, one.head, layout.moment(one.updated_at)) for one in answer.feeds)
    return layout.table("feed, head, published", rows, none="Nothing here.")


def item(answer: models.FeedItem) -> RenderableType:
    """A line of a feed that is followed."""
    return Text(f"{answer.cursor}  {layout.moment(answer.published_at)}  {layout.short(answer.payload)}")


def page(answer: models.FeedPage) -> RenderableType:
    """A line for each item, and where to go on."""
    rows = ((one.cursor, layout.moment(one.published_at), layout.short(one.payload)) for one in answer.items)
    none = f"Nothing after {answer.next}."
    return layout.table("cursor, published, payload", rows, none=none)


def _versions(versions: Iterable[models.RecordVersion]) -> RenderableType:
    rows = (
        (one.store, one.key, one.version, layout.moment(one.created_at), layout.short(one.value))
        for one in versions
    )
    return layout.table("store, key, version, written, value", rows, none="No such records.")
